package run

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// checkDisk returns an error that wraps [ErrDisk] when the steps that are not done have not enough at their peak. Where the free space cannot be known, as of a
// server on another machine, it is not looked at.
func (r *runner) checkDisk(ctx context.Context) error {
	need, step := r.p.Peak(func(n int) bool { return r.steps[n].State == journal.StepDone })
	if need == 0 {
		return nil
	}
	folder, err := r.dataFolder(ctx)
	if err != nil {
		return fmt.Errorf("the folder of data: %w", err)
	}
	if folder == "" {
		return nil
	}
	if free, known := free(folder); known && free < uint64(need) {
		return fmt.Errorf("%w: %s are free in %s, and the plan needs about %s more there at its peak, step %d (%s); make room, then run again",
			ErrDisk, plan.Size(int64(min(free, math.MaxInt64))), folder, plan.Size(need), step, &r.p.Steps[step-1])
	}
	return nil
}

// dataFolder returns the folder of the data when it is of this machine and the user may know it, else "".
func (r *runner) dataFolder(ctx context.Context) (string, error) {
	switch r.dialect {
	case dialect.SQLite:
		var path string // empty when the database is in memory
		err := r.db.QueryRowContext(ctx, "SELECT COALESCE(file, '') FROM pragma_database_list WHERE name = 'main'").Scan(&path)
		if err != nil || path == "" {
			return "", err
		}
		return filepath.Dir(path), nil
	case dialect.MySQL:
		var host, folder string
		if err := r.db.QueryRowContext(ctx, "SELECT @@hostname, @@datadir").Scan(&host, &folder); err != nil {
			return "", err
		}
		if here, err := os.Hostname(); err != nil || here != host {
			return "", nil // it cannot be known that it is this machine
		}
		return folder, nil
	}
	// PostgreSQL shows data_directory to some roles, and nothing to others.
	var address, folder sql.NullString
	err := r.db.QueryRowContext(ctx, "SELECT host(inet_server_addr()), (SELECT setting FROM pg_settings WHERE name = 'data_directory')").Scan(&address, &folder)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(address.String); address.Valid && (ip == nil || !ip.IsLoopback()) {
		return "", nil
	}
	return folder.String, nil
}
