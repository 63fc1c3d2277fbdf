package goose_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Reader is a model of an application whose keys are snowflakes from now on.
type Reader struct {
	ID        sqltype.ID
	Name      string
	CreatedAt time.Time
	Loans     []Loan
}

// Loan is a book that a reader has.
type Loan struct {
	ID        sqltype.ID
	ReaderID  sqltype.ID
	Book      string
	CreatedAt time.Time
}

// schema is what goose has made so far, with keys by auto-increment.
var schema = fstest.MapFS{"00001_library.sql": {Data: []byte(`
-- +goose Up
CREATE TABLE readers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, created_at DATETIME NOT NULL);
CREATE TABLE loans (id INTEGER PRIMARY KEY AUTOINCREMENT, reader_id INTEGER NOT NULL REFERENCES readers (id), book TEXT NOT NULL, created_at DATETIME NOT NULL);
INSERT INTO readers (name, created_at) VALUES ('Ada', '2026-03-01 09:00:00+00:00'), ('Grace', '2026-03-02 09:00:00+00:00');
INSERT INTO loans (reader_id, book, created_at) VALUES (2, 'Sketches', '2026-03-03 09:00:00+00:00'), (1, 'Letters', '2026-03-04 09:00:00+00:00');
-- +goose Down
DROP TABLE loans;
DROP TABLE readers;
`)}}

// snowflakes are the migrations of the keys: the second is deployed with the program that fills them. Run by RunDB they are in no transaction of
// goose's, as a plan has its own.
func snowflakes() goose.ProviderOption {
	config := migrate.Config{
		Inspect: migrate.InspectOptions{Models: []any{&Reader{}, &Loan{}}},
		Plan:    migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"readers", "loans"}, Window: time.Millisecond, Keep: true}, // Keep: so that it can be undone
	}
	does := func(do func(context.Context, *gorm.DB, migrate.Config) (migrate.Outcome, error), c migrate.Config) *goose.GoFunc {
		return &goose.GoFunc{RunDB: func(ctx context.Context, pool *sql.DB) error {
			db, err := gorm.Open(sqlite.New(sqlite.Config{Conn: pool}), &gorm.Config{})
			if err != nil {
				return err
			}
			outcome, err := do(ctx, db, c)
			fmt.Printf("done: %t, held: %t\n", outcome.Done, outcome.Held != "")
			return err
		}}
	}
	on := config
	on.Run.Continue = migrate.DeployWriters
	return goose.WithGoMigrations(
		goose.NewGoMigration(2, does(migrate.Up, config), does(migrate.Down, config)),
		goose.NewGoMigration(3, does(migrate.Up, on), nil), // 2 undoes both
	)
}

// Migrations of goose take a schema from auto-increment to snowflakes: the first runs to the hold, before which the old program goes on as it
// did; the second goes on, once the program that fills its keys is deployed.
func Example() {
	folder, err := os.MkdirTemp("", "library")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	pool, err := sql.Open("sqlite3", filepath.Join(folder, "library.db")+"?_foreign_keys=on")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	tool, err := goose.NewProvider(goose.DialectSQLite3, pool, schema, snowflakes())
	if err != nil {
		log.Fatal(err)
	}
	show := func() {
		db, err := gorm.Open(sqlite.New(sqlite.Config{Conn: pool}), &gorm.Config{})
		if err != nil {
			log.Fatal(err)
		}
		var readers []Reader
		if err := db.Preload("Loans").Order("id").Find(&readers).Error; err != nil {
			log.Fatal(err)
		}
		for _, r := range readers {
			fmt.Println(r.ID, r.Name, r.Loans[0].Book)
		}
	}
	ctx := context.Background()
	for version := range int64(3) {
		if _, err := tool.UpTo(ctx, version+1); err != nil {
			log.Fatal(err)
		}
	}
	show()
	if _, err := tool.DownTo(ctx, 1); err != nil {
		log.Fatal(err)
	}
	show()
	// Output:
	// done: false, held: true
	// done: true, held: false
	// 153788350468190208 Ada Letters
	// 154150738333790208 Grace Sketches
	// done: true, held: false
	// 1 Ada Letters
	// 2 Grace Sketches
}
