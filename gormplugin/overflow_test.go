package gormplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	gomysql "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	Depot struct {
		ID    int64 `gorm:"snowkey"`
		Score int64
		Trays []Tray
	}
	Tray struct {
		ID      sqltype.ID
		DepotID int64 // of a relation that only Depot has
		ShelfID *int64
		Shelf   *Shelf `gorm:"constraint:-"`
		OtherID sqltype.Key[Shelf]
		Weight  int64
	}
	Shelf struct {
		ID sqltype.Key[Shelf]
	}
	Box struct { // of which everything is 64 bits wide but Size
		ID   sqltype.ID
		Size int64
	}
)

// overflowCase is an INSERT with a number that is beyond its column, on tables with these columns of 32 bits.
type overflowCase struct {
	name   string
	narrow []string // table.column
	create func(*gorm.DB) error
	column string // that the error has to name, none for the database's own error
}

var overflowCases = []overflowCase{
	{"key", []string{"depots.id"}, func(db *gorm.DB) error { return db.Create(&Depot{}).Error }, "depots.id"},
	{"key of a batch", []string{"depots.id"}, func(db *gorm.DB) error { return db.Create([]*Depot{{ID: 5}, {}}).Error }, "depots.id"},
	{"key of a map", []string{"depots.id"}, func(db *gorm.DB) error { return db.Model(&Depot{}).Create(map[string]any{"Score": 1}).Error }, "depots.id"},
	{"key of a table", []string{"tapes.id"}, func(db *gorm.DB) error { return db.Table("tapes").Create(map[string]any{"score": 1}).Error }, "tapes.id"},
	{"key set by hand", []string{"depots.id"}, func(db *gorm.DB) error { return db.Create(&Depot{ID: 1 << 40}).Error }, "depots.id"},
	{"key of an upsert", []string{"depots.id"}, func(db *gorm.DB) error { return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Depot{}).Error }, "depots.id"},
	{"another column", []string{"boxes.size"}, func(db *gorm.DB) error { return db.Create(&Box{Size: 1 << 40}).Error }, ""},
	{"another column beside a narrow key", []string{"depots.id", "depots.score"}, func(db *gorm.DB) error { return db.Create(&Depot{ID: 1, Score: 1 << 40}).Error }, ""},
	{"a negative key", []string{"depots.id"}, func(db *gorm.DB) error { return db.Create(&Depot{ID: -1 << 40}).Error }, ""},
	{"foreign key of has-many", []string{"trays.depot_id"}, func(db *gorm.DB) error { return db.Create(&Depot{Trays: []Tray{{}}}).Error }, "trays.depot_id"},
	{"foreign key of belongs-to", []string{"trays.shelf_id"}, func(db *gorm.DB) error { return db.Create(&Tray{Shelf: &Shelf{}}).Error }, "trays.shelf_id"},
	{"foreign key by its type", []string{"trays.other_id"}, func(db *gorm.DB) error { return db.Create(&Tray{OtherID: 1 << 40}).Error }, "trays.other_id"},
	{"key of the row that belongs-to needs", []string{"shelves.id"}, func(db *gorm.DB) error { return db.Create(&Tray{Shelf: &Shelf{}}).Error }, "shelves.id"},
	{"key of a child", []string{"trays.id"}, func(db *gorm.DB) error { return db.Create(&Depot{Trays: []Tray{{}}}).Error }, "trays.id"},
}

// A key that its column has no room for is an error that names the column and what mends it, beside what the database or the driver says. Another
// column's number is none of the key's.
func TestKeyBeyondItsColumn(t *testing.T) {
	for _, engine := range []struct {
		name  string
		exact bool // false where the server may say nothing but that an integer is out of range
		open  func(t *testing.T, config *gorm.Config) *gorm.DB
	}{
		{"mysql", true, func(t *testing.T, config *gorm.Config) *gorm.DB { return openConfig(t, dbtest.MySQL(t).DSN, config) }},
		{"postgres", false, func(t *testing.T, config *gorm.Config) *gorm.DB { return openConfig(t, dbtest.Postgres(t).DSN, config) }},
		{"postgres without a cache of statements", true, func(t *testing.T, config *gorm.Config) *gorm.DB {
			return openConfig(t, withParameter(dbtest.Postgres(t).DSN, "default_query_exec_mode=describe_exec"), config)
		}},
		{"postgres simple protocol", true, func(t *testing.T, config *gorm.Config) *gorm.DB {
			db, err := gorm.Open(postgres.New(postgres.Config{DSN: dbtest.Postgres(t).DSN, PreferSimpleProtocol: true}), config)
			if err != nil {
				t.Fatal(err)
			}
			closed(t, db)
			return db
		}},
	} {
		for _, translate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s TranslateError=%t", engine.name, translate), func(t *testing.T) {
				db := engine.open(t, &gorm.Config{Logger: new(recorder), TranslateError: translate})
				mustRun(t, db, "CREATE TABLE tapes (id BIGINT NOT NULL PRIMARY KEY, score BIGINT)")
				use(t, db, &Depot{}, &Tray{}, &Shelf{}, &Box{}, gormplugin.Table("tapes", "id"))
				mustRun(t, db, dropForeignKeys(db)...)
				for _, tt := range overflowCases {
					for _, column := range tt.narrow {
						mustRun(t, db, retype(db, column, "INT"))
					}
					err := tt.create(db)
					switch {
					case err == nil || errors.Is(err, gormplugin.ErrColumn) != (tt.column != ""):
						t.Errorf("%s: got %v, want ErrColumn %t", tt.name, err, tt.column != "")
					case !strings.Contains(err.Error(), "range") && !strings.Contains(err.Error(), "than m"):
						t.Errorf("%s: got %v, want the database's error in it", tt.name, err)
					case tt.column != "":
						requireMended(t, db, tt, err, engine.exact)
					}
					mustRun(t, db, "DELETE FROM depots", "DELETE FROM trays", "DELETE FROM shelves", "DELETE FROM boxes", "DELETE FROM tapes")
					for _, column := range tt.narrow {
						mustRun(t, db, retype(db, column, "BIGINT"))
					}
				}
			})
		}
	}
}

// requireMended fails unless the error names the column, wraps the server's error, and has a statement after which the INSERT works.
func requireMended(t *testing.T, db *gorm.DB, tt overflowCase, first error, exact bool) {
	t.Helper()
	err := first
	var my *gomysql.MySQLError
	var pg *pgconn.PgError
	if db.Name() == "mysql" && (!errors.As(err, &my) || my.Number != 1264) || strings.Contains(err.Error(), "SQLSTATE") && (!errors.As(err, &pg) || pg.Code != "22003") {
		t.Errorf("%s: got %v, want it to wrap the driver's", tt.name, err)
	}
	if n := strings.Count(err.Error(), gormplugin.ErrColumn.Error()); n != 1 {
		t.Errorf("%s: got %v, want it to say once what is wrong", tt.name, err)
	}
	column := tt.column
	if exact {
		column = ": " + tt.column + " holds no keys of 64 bits"
	}
	for _, want := range []string{column, "migrate/check", "snowkey check"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %s", tt.name, err, want)
		}
	}
	_, statement, _ := strings.Cut(err.Error(), "such as ")
	statement, _, _ = strings.Cut(statement, ";")
	if err := db.Exec(statement).Error; err != nil {
		t.Fatalf("%s: %s: %v", tt.name, statement, err)
	}
	if err := tt.create(db); err != nil {
		t.Errorf("%s: after %s: got %v, at first %v", tt.name, statement, err, first)
	}
}

// retype is the statement that gives a column another type.
func retype(db *gorm.DB, column, to string) string {
	table, column, _ := strings.Cut(column, ".")
	if db.Name() == dsn.Postgres {
		return fmt.Sprintf("ALTER TABLE %s ALTER %s TYPE %s", table, column, to)
	}
	null := ""
	if column == "id" {
		null = " NOT NULL"
	}
	return fmt.Sprintf("ALTER TABLE %s MODIFY %s %s%s", table, column, to, null)
}

// dropForeignKeys are the statements that drop the constraints of trays: a column that has one keeps its type.
func dropForeignKeys(db *gorm.DB) []string {
	if db.Name() == dsn.Postgres {
		return []string{"ALTER TABLE trays DROP CONSTRAINT fk_depots_trays"}
	}
	return []string{"ALTER TABLE trays DROP FOREIGN KEY fk_depots_trays", "ALTER TABLE trays DROP INDEX fk_depots_trays"}
}

func openConfig(t *testing.T, text string, config *gorm.Config) *gorm.DB {
	t.Helper()
	parsed, pool := openPool(t, text)
	return openGORM(t, parsed.Dialector(pool), config)
}

// closed has the pool closed when the test ends.
func closed(t *testing.T, db *gorm.DB) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
}
