package database_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func open(t *testing.T, dsn string, options ...database.Option) *database.Database {
	t.Helper()
	d, err := database.Open(t.Context(), dsn, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// onEach runs a test on each kind of database at once: their servers are different ones, and counters are a server's.
func onEach(t *testing.T, test func(*testing.T, dbtest.Database)) {
	for name, create := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t))
		})
	}
}

// exec runs statements on the connection for inserts.
func exec(t *testing.T, d *database.Database, statements ...string) {
	t.Helper()
	db, err := d.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// sample fails unless a figure has one sample, in a range.
func sample(t *testing.T, what string, f result.Figure, least, most float64) float64 {
	t.Helper()
	if len(f.Samples) != 1 || f.Why != "" || f.Samples[0] < least || f.Samples[0] > most {
		t.Errorf("%s: got %+v, want one sample from %g to %g", what, f, least, most)
		return 0
	}
	return f.Samples[0]
}

// missing fails unless a figure has no samples, and says why with some words.
func missing(t *testing.T, what string, f result.Figure, words string) {
	t.Helper()
	if f.OK() || !strings.Contains(f.Why, words) {
		t.Errorf("%s: got %+v, want no sample, and %q", what, f, words)
	}
}

func TestOpen(t *testing.T) {
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN)
		if d.Kind() != at.Kind || d.Private() || d.Alone() != "" || d.Gone(t.Context()) {
			t.Errorf("got %s, private %t, alone %q, gone %t", d.Kind(), d.Private(), d.Alone(), d.Gone(t.Context()))
		}
		// The one connection for inserts is in a transaction while keys are drawn from others.
		db, err := d.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = db.Transaction(func(tx *gorm.DB) error {
			var n int
			if err := tx.Raw("SELECT 1").Row().Scan(&n); err != nil {
				return err
			}
			for range 2 {
				conn, err := d.Pool().Conn(t.Context())
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close() }()
				if err := conn.PingContext(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if got := d.Pool().Stats().MaxOpenConnections; got != 32 {
			t.Errorf("got a pool of %d connections, want 32", got)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if !d.Gone(t.Context()) {
			t.Error("it is closed, and not gone")
		}
	})
}

// A plugin on one session is nobody else's.
func TestSessionsAreTheirOwn(t *testing.T) {
	d := open(t, dbtest.SQLite(t).DSN)
	first, err := d.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Callback().Create().Before("gorm:create").Register("refuse", func(db *gorm.DB) { _ = db.AddError(errors.New("refused")) }); err != nil {
		t.Fatal(err)
	}
	type row struct{ ID int }
	if err := first.AutoMigrate(&row{}); err != nil {
		t.Fatal(err)
	}
	if err := first.Create(&row{ID: 1}).Error; err == nil {
		t.Error("the first session's callback does not run")
	}
	if err := second.Create(&row{ID: 2}).Error; err != nil {
		t.Errorf("the first session's callback runs in the second: %v", err)
	}
}

func TestCheck(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{
		"sqlite:" + filepath.Join(folder, "new.db"), "sqlite:" + filepath.Join(folder, "new.db") + "?_journal_mode=WAL", "sqlite::memory:",
		"sqlite:file:" + folder + "/missing/x.db", "mysql:u:p@tcp(h:1)/d", "postgres://u:p@h:1/d",
	} {
		if err := database.Check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"sqlite:" + folder, "sqlite:" + filepath.Join(folder, "missing", "x.db"), "sqlite:", "oracle:x", "x", "", "mysql:u:sesame@tcp(h:1)/", "postgres://u:sesame@h:p/d",
		"sqlite:" + filepath.Join(folder, "missing", "x.db") + "?_auth&_auth_pass=sesame",
	} {
		if err := database.Check(text); !errors.Is(err, database.ErrDatabase) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: got %v, want ErrDatabase and no password", text, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, dsn string
		ctx       context.Context
		want      string
	}{
		{"a text file", "sqlite:" + text, t.Context(), "sqlite:" + text},
		{"no server", "mysql:u:sesame@unix(" + text + ".sock)/d", t.Context(), "mysql:u@unix("},
		{"no server", "postgres://u:sesame@127.0.0.1:1/d", t.Context(), "postgres://u@127.0.0.1:1/d"},
		{"ended", dbtest.SQLite(t).DSN, ended, context.Canceled.Error()},
	} {
		_, err := database.Open(c.ctx, c.dsn)
		if !errors.Is(err, database.ErrDatabase) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: got %v, want ErrDatabase, %q and no password", c.name, err, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"sqlite":   {"SQLite 3.", "journal_mode", "synchronous", "page_size", "cache_size"},
		"mysql":    {"M", "innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "innodb_doublewrite", "innodb_flush_method", "innodb_page_size", "innodb_file_per_table", "sync_binlog"},
		"postgres": {"PostgreSQL 1", "synchronous_commit", "fsync", "shared_buffers", "full_page_writes", "wal_level", "max_wal_size", "checkpoint_timeout", "wal_compression"},
	}
	onEach(t, func(t *testing.T, at dbtest.Database) {
		d := open(t, at.DSN, database.Private())
		got, err := d.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != d.String() || got.Kind != at.Kind || !got.Private || !strings.HasPrefix(got.Version, names[at.Kind][0]) {
			t.Errorf("got %+v", got)
		}
		values := map[string]string{}
		for _, s := range got.Settings {
			values[s.Name] = s.Value
		}
		for _, name := range names[at.Kind][1:] {
			if values[name] == "" {
				t.Errorf("no %s in %v", name, got.Settings)
			}
		}
		cache := map[string]float64{"sqlite": 2000 << 10, "mysql": 64 << 20, "postgres": 16 << 20}[at.Kind] // SQLite's default, and those of dbtest
		if os.Getenv("SNOWKEY_TEST_MYSQL")+os.Getenv("SNOWKEY_TEST_POSTGRES") == "" {
			sample(t, "cache", got.Cache, cache, cache)
		}
	})
}

func TestSQLiteInMemory(t *testing.T) {
	t.Parallel()
	d := open(t, "sqlite::memory:")
	exec(t, d, "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	if d.Alone() == "" {
		t.Error("got several connections to a database in memory")
	}
	var n int
	if err := d.Pool().QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 1 {
		t.Errorf("got %d rows over the pool for keys, %v, want 1", n, err)
	}
	weight, err := d.Size(t.Context(), "t", 1)
	if err != nil {
		t.Fatal(err)
	}
	sample(t, "a table in memory", weight.Table, 4096, 4096)
	sample(t, "its index", weight.Index, 0, 0)
	sample(t, "its share of the cache", weight.CacheUsed, 0.002, 0.002)
	if d.Gone(t.Context()) {
		t.Error("gone before its time")
	}
	exec(t, d, "CREATE TABLE "+prefix+"t (id INTEGER)")
	if err := d.TryRights(t.Context(), prefix); err != nil {
		t.Error(err)
	}
	if err := d.Sweep(t.Context(), prefix); err != nil {
		t.Error(err)
	}
	if left, err := d.Leftovers(t.Context(), prefix); err != nil || len(left) != 0 {
		t.Errorf("got %q, %v after the sweep", left, err)
	}
}

func TestSQLiteFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, dsn := range []string{"sqlite:" + folder + "/a file.db", "sqlite:file:" + folder + "/by%20uri.db?_journal_mode=WAL", "sqlite:" + folder + "/c.db?"} {
		d := open(t, dsn)
		exec(t, d, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
		var timeout int
		if err := d.Pool().QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&timeout); err != nil || timeout != 30000 {
			t.Errorf("%s: got a busy timeout of %d ms, %v", dsn, timeout, err)
		}
	}
	for _, name := range []string{"_busy_timeout", "_timeout"} {
		d := open(t, fmt.Sprintf("sqlite:%s/d.db?_fk=1&%s=17", folder, name))
		var timeout int
		if err := d.Pool().QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&timeout); err != nil || timeout != 17 {
			t.Errorf("got a busy timeout of %d ms, %v, want 17 as asked for", timeout, err)
		}
	}
	// What lies in the files may be others', so they stay.
	if _, err := os.Stat(folder + "/by uri.db"); err != nil {
		t.Error(err)
	}
	d := open(t, "sqlite:"+folder+"/e.db?_auth_pass=sesame&_fk=1")
	if got := d.String(); strings.Contains(got, "sesame") || !strings.HasSuffix(got, "e.db?_fk=1") {
		t.Errorf("got %s", got)
	}
}
