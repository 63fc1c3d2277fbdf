package run_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// through opens the world's database once more, with a hook, for the time of the test.
func (w *world) through(t *testing.T, h dbtest.Hook) *sql.DB {
	t.Helper()
	db, err := dbtest.Hooked(w.base.DriverName, w.base.DriverDSN, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// firstConnector runs a statement on each new connection.
type firstConnector struct {
	driver.Connector
	first string
}

func (c firstConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.first, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// hookedFirst opens a database whose connections begin with a statement.
func hookedFirst(name, dsn, first string) (*sql.DB, error) {
	plain, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	c, err := plain.Driver().(driver.DriverContext).OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(firstConnector{c, first}), nil
}
