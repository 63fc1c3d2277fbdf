package nextid

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// CheckServer refuses a server on which the function would make keys twice: a node of a Galera cluster. Its nodes do not agree on an AUTO_INCREMENT counter. The error wraps
// [ErrDatabase], or is the server's.
func CheckServer(ctx context.Context, d grant.Dialect, db *sql.DB) error {
	if d != grant.MySQL {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("nextid: connecting: %w", err)
	}
	defer conn.Close() // which gives it back to the pool
	s, err := dialect.ReadMySQLSession(ctx, conn)
	if err != nil {
		return fmt.Errorf("nextid: %w", err)
	}
	if s.Galera != nil {
		return fmt.Errorf("%w: this is a node of a Galera cluster, and each node counts its AUTO_INCREMENT alone, so that two nodes would make the same key; "+
			"let a program with the plugin insert the rows, or take keys of snowkey next", ErrDatabase)
	}
	return nil
}
