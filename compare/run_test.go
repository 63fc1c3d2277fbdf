package compare_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func open(t *testing.T, dsn string) *compare.Database {
	t.Helper()
	database, err := compare.OpenDatabase(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	return database
}

// requireNoTables fails when a table of a run is still there.
func requireNoTables(t *testing.T, database dbtest.Database, db *sql.DB) {
	t.Helper()
	query := map[string]string{
		"sqlite":   "SELECT count(*) FROM sqlite_master WHERE name LIKE 'snowkey_compare%'",
		"mysql":    "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'snowkey_compare%'",
		"postgres": "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'snowkey_compare%'",
	}[database.Kind]
	var n int
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("%d tables are left behind", n)
	}
}

func onEach(t *testing.T, test func(*testing.T, dbtest.Database)) {
	for name, make := range map[string]func(testing.TB) dbtest.Database{
		"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres,
	} {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

func TestRun(t *testing.T) {
	onEach(t, func(t *testing.T, database dbtest.Database) {
		db := database.Open(t)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE theirs (id INTEGER)"); err != nil {
			t.Fatal(err)
		}
		const rows = 5003 // no multiple of the rounds nor of the batch
		var told, all int
		result, err := compare.Run(t.Context(), compare.Config{
			Databases: []*compare.Database{open(t, database.DSN)}, Rows: rows,
			Progress: func(done, total int) { told, all = done, total },
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := rows * len(compare.Strategies()); told != want || all != want {
			t.Errorf("progress ended with %d of %d, want %d", told, all, want)
		}
		requireNoTables(t, database, db)
		if _, err := db.ExecContext(t.Context(), "INSERT INTO theirs VALUES (1)"); err != nil {
			t.Errorf("another table: %v", err)
		}
		measured := result.Database[0]
		if measured.Version == "" || len(measured.Settings) == 0 || len(measured.Strategies) != len(compare.Strategies()) {
			t.Fatalf("got %+v", measured)
		}
		for _, s := range measured.Strategies {
			if len(s.RowsPerSecond) != result.Rounds || s.RowsPerSecond.Median() <= 0 {
				t.Errorf("%s: got the samples %v, want %d", s.Name, s.RowsPerSecond, result.Rounds)
			}
			if made := s.Name != "autoincrement"; made != (len(s.GenerationNS) == result.Rounds) {
				t.Errorf("%s: got %d samples of generation", s.Name, len(s.GenerationNS))
			}
			// A row has at least 8+8+4+2+4 bytes; InnoDB reserves a megabyte at a time.
			if per := s.TableBytes / rows; s.NoSize != "" || per < 26 || per > 1000 {
				t.Errorf("%s: got %d bytes a row of the table, %s", s.Name, per, s.NoSize)
			}
			if per := s.IndexBytes / rows; per < 8 || per > 1000 {
				t.Errorf("%s: got %d bytes a row of the indexes", s.Name, per)
			}
		}
		var table strings.Builder
		if err := result.WriteTable(&table); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{measured.Version, "autoincrement", "snowflake", "uuidv4", "uuidv7", "4096000"} {
			if !strings.Contains(table.String(), want) {
				t.Errorf("the table lacks %q:\n%s", want, table.String())
			}
		}
		if document, err := json.Marshal(result); err != nil || !json.Valid(document) {
			t.Errorf("JSON: %v", err)
		}
	})
}

// ending is a strategy whose second INSERT ends the context, or fails.
type ending struct {
	compare.Strategy
	do func() error
}

type endingTable struct {
	compare.Table
	do func() error
	n  int
}

func (s ending) Open(ctx context.Context, db *gorm.DB, table string) (compare.Table, error) {
	opened, err := s.Strategy.Open(ctx, db, table)
	return &endingTable{Table: opened, do: s.do}, err
}

func (t *endingTable) Insert(ctx context.Context, orders []compare.Order) error {
	if t.n++; t.n == 2 {
		if err := t.do(); err != nil {
			return err
		}
	}
	return t.Table.Insert(ctx, orders)
}

func TestTablesAreDropped(t *testing.T) {
	onEach(t, func(t *testing.T, database dbtest.Database) {
		for name, want := range map[string]error{"cancelled": context.Canceled, "failed": errors.New("disk full")} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				do := func() error {
					if name == "cancelled" {
						cancel()
						return nil
					}
					return want
				}
				_, err := compare.Run(ctx, compare.Config{
					Databases: []*compare.Database{open(t, database.DSN)}, Rows: 5000,
					Strategies: append(compare.Strategies(), ending{compare.Strategies()[0], do}),
				})
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				requireNoTables(t, database, database.Open(t))
			})
		}
	})
}

// When the database goes away in the middle, the tables that could not be dropped are named.
func TestTablesLeftBehindAreNamed(t *testing.T) {
	database := open(t, dbtest.SQLite(t).DSN)
	_, err := compare.Run(t.Context(), compare.Config{
		Databases: []*compare.Database{database}, Rows: 5000,
		Strategies: []compare.Strategy{ending{compare.Strategies()[0], database.Close}},
	})
	if err == nil || !strings.Contains(err.Error(), "the table snowkey_compare_autoincrement_") || !strings.Contains(err.Error(), "is left behind") {
		t.Errorf("got %v, want the table that is left behind", err)
	}
}

// losing is a strategy that loses a row now and then.
type losing struct{ compare.Strategy }

type losingTable struct{ compare.Table }

func (s losing) Open(ctx context.Context, db *gorm.DB, table string) (compare.Table, error) {
	opened, err := s.Strategy.Open(ctx, db, table)
	return losingTable{opened}, err
}

func (t losingTable) Insert(ctx context.Context, orders []compare.Order) error {
	return t.Table.Insert(ctx, orders[1:])
}

func TestLostRowsAreNotReportedAsGood(t *testing.T) {
	_, err := compare.Run(t.Context(), compare.Config{
		Databases: []*compare.Database{open(t, dbtest.SQLite(t).DSN)}, Rows: 100, Strategies: []compare.Strategy{losing{compare.Strategies()[0]}},
	})
	if !errors.Is(err, compare.ErrVerify) {
		t.Errorf("got %v, want ErrVerify", err)
	}
}

func TestSelect(t *testing.T) {
	got, err := compare.Select("uuidv7", "snowflake")
	if err != nil || len(got) != 2 || got[0].Name() != "uuidv7" || got[1].Name() != "snowflake" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, names := range [][]string{{"snowflakes"}, {""}, {"uuidv4", "uuidv4"}} {
		if _, err := compare.Select(names...); !errors.Is(err, compare.ErrStrategy) {
			t.Errorf("%q: got %v, want ErrStrategy", names, err)
		}
	}
}

func TestSQLiteFiles(t *testing.T) {
	folder := t.TempDir()
	fresh := filepath.Join(folder, "fresh file.db")
	for _, dsn := range []string{"sqlite:" + fresh, "sqlite:file:" + folder + "/by%20uri.db?_journal_mode=WAL"} {
		database := open(t, dsn)
		result, err := compare.Run(t.Context(), compare.Config{Databases: []*compare.Database{database}, Rows: 10})
		if err != nil {
			t.Fatal(err)
		}
		if s := result.Database[0].Strategies[0]; s.TableBytes == 0 {
			t.Errorf("%s: no sizes, %s", dsn, s.NoSize)
		}
		if err := database.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// The file may hold what others put there meanwhile, so it stays.
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
	for _, dsn := range []string{"sqlite:" + folder, "sqlite:" + filepath.Join(folder, "missing", "x.db"), "sqlite:", "oracle:x", "x", ""} {
		if err := compare.CheckDatabase(dsn); err == nil {
			t.Errorf("%q: got no error", dsn)
		}
	}
	noDatabase := filepath.Join(folder, "text")
	if err := os.WriteFile(noDatabase, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := compare.OpenDatabase(t.Context(), "sqlite:"+noDatabase); !errors.Is(err, compare.ErrDatabase) {
		t.Errorf("a text file: got %v, want ErrDatabase", err)
	}
}

func TestDatabaseInMemoryHasNoSizes(t *testing.T) {
	result, err := compare.Run(t.Context(), compare.Config{Databases: []*compare.Database{open(t, "sqlite::memory:")}, Rows: 10})
	if err != nil {
		t.Fatal(err)
	}
	if s := result.Database[0].Strategies[0]; s.NoSize == "" || s.TableBytes != 0 {
		t.Errorf("got %+v, want no sizes and the reason", s)
	}
}

// Weighing a table must not lose the locks of the connections on its file: another program's changes would be lost with them.
func TestWeighingKeepsLocks(t *testing.T) {
	database := dbtest.SQLite(t)
	theirs := database.Open(t)
	exec := func(query string) {
		t.Helper()
		if _, err := theirs.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec("PRAGMA journal_mode = WAL")
	exec("CREATE TABLE t (id INTEGER PRIMARY KEY)")
	locks := func() int {
		t.Helper()
		// Of this process, by type and not by file: none other has the tests' files open.
		all, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip("needs /proc/locks to see which locks are held: ", err)
		}
		return strings.Count(string(all), fmt.Sprintf(" %d ", os.Getpid()))
	}
	ours := open(t, database.DSN)
	if err := compare.Weigh(t.Context(), ours, "t"); err != nil { // opens the connection's files
		t.Fatal(err)
	}
	exec("BEGIN IMMEDIATE")
	exec("INSERT INTO t VALUES (1)")
	exec("COMMIT")
	before := locks()
	if err := compare.Weigh(t.Context(), ours, "t"); err != nil {
		t.Fatal(err)
	}
	if after := locks(); before == 0 || after < before {
		t.Errorf("%d locks are left of %d", after, before)
	}
}

// A reader's snapshot keeps the write-ahead log from being written back, so the file does not have all pages.
func TestSizesUnderAReader(t *testing.T) {
	database := dbtest.SQLite(t)
	reader := database.Open(t)
	for _, query := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE theirs (id INTEGER)"} {
		if _, err := reader.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM theirs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	result, err := compare.Run(t.Context(), compare.Config{
		Databases: []*compare.Database{open(t, database.DSN+"?_busy_timeout=10")}, Rows: 100, Strategies: compare.Strategies()[:1],
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := result.Database[0].Strategies[0]; !strings.Contains(s.NoSize, "write-ahead log") || s.TableBytes != 0 {
		t.Errorf("got %+v, want no sizes and the reason", s)
	}
}

func TestRowsOutOfRange(t *testing.T) {
	for _, rows := range []int{-1, compare.MaxRows + 1} {
		if _, err := compare.Run(t.Context(), compare.Config{Rows: rows}); !errors.Is(err, compare.ErrConfig) {
			t.Errorf("%d: got %v, want ErrConfig", rows, err)
		}
	}
}
