//go:build unix

package gormsuite

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbserver"
)

const sqlite = "sqlite" // the others are kinds of package dbserver

// databases are GORM's names for them, in the order in which they run.
var databases = []string{sqlite, dbserver.MySQL, dbserver.Postgres}

// timeZone is what the DSNs of GORM's tests say of it, for the drivers.
var timeZone = map[string]string{dbserver.MySQL: "&loc=Local", dbserver.Postgres: "&timezone=Asia/Shanghai"}

// lockTimeout has a test fail that waits for a transaction which another failed test has left open: MariaDB waits for a day.
var lockTimeout = map[string]string{dbserver.MySQL: "--lock-wait-timeout=60", dbserver.Postgres: "lock_timeout=60s"}

// openDatabase makes an empty database and returns what GORM's tests find it by. Done removes it.
func openDatabase(ctx context.Context, kind string) (product string, environment []string, done func() error, err error) {
	if kind == sqlite {
		folder, err := os.MkdirTemp("", "snowkey-gorm-")
		// GORM's tests make gorm.db in the folder of temporary files.
		return "SQLite", []string{"GORM_DIALECT=" + kind, "TMPDIR=" + folder}, func() error { return os.RemoveAll(folder) }, err
	}
	server, err := dbserver.Start(ctx, kind, lockTimeout[kind])
	if err != nil {
		return "", nil, nil, err
	}
	database, err := server.Database(ctx, "gorm")
	if err != nil {
		return "", nil, nil, errors.Join(err, server.Close())
	}
	return server.Version(), []string{"GORM_DIALECT=" + kind, "GORM_DSN=" + database.DriverDSN + timeZone[kind]}, server.Close, nil
}

func TestMain(m *testing.M) {
	dbserver.Guard()
	os.Exit(m.Run())
}

// TestOpenDatabase starts what GORM's tests run on.
func TestOpenDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no servers")
	}
	for _, kind := range databases {
		product, _, done, err := openDatabase(t.Context(), kind)
		if unavailable := new(dbserver.UnavailableError); errors.As(err, &unavailable) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		t.Log(product)
		if err := done(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
