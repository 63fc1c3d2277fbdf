package run

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/journal"
)

// checkDisk returns an error that wraps [ErrDisk] when the step that needs most has not enough. Where the free space cannot be known, as of a
// server on another machine, it is not looked at.
func (r *runner) checkDisk(ctx context.Context) error {
	var need int64
	var title string
	for i, step := range r.p.Steps {
		if r.steps[i+1].State != journal.StepDone && step.Disk > need {
			need, title = step.Disk, step.String()
		}
	}
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
		return fmt.Errorf("%w: %d bytes are free in %s, and the step %q needs about %d", ErrDisk, free, folder, title, need)
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
