package gormplugin_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	inJSON       struct{ ID int64 }
	inJSONModel  struct{ gorm.Model }
	inJSONTagged struct {
		Name string
		Key  *uint64 `gorm:"primaryKey;snowkey" json:"key,omitempty"`
	}
	inJSONText struct {
		ID int64 `json:",omitempty,string"`
	}
	inJSONNone struct {
		ID int64 `json:"-"`
	}
	inJSONID     struct{ ID sqltype.ID }
	inJSONNumber struct{ ID sqltype.Number }
	inJSONOwn    struct{ ID int64 }
)

func (inJSONOwn) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

// logged returns a logger and what it has logged since the last call.
func logged() (*slog.Logger, func() string) {
	var lines bytes.Buffer
	untimed := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	return slog.New(slog.NewTextHandler(&lines, untimed)), func() string {
		defer lines.Reset()
		return lines.String()
	}
}

// layoutless is a source without a layout, such as one of tickets.
type layoutless struct{ idgen.Source[int64] }

// A key that JavaScript rounds is one warning a model, at the first key that the plugin makes. Others are none.
func TestRoundedKeysAreWarnedOf(t *testing.T) {
	small, err := idgen.New(idgen.JS53, idgen.WithNode(1))
	do(t, err)
	large := mustGenerator(t)
	key := uint64(5)
	for _, tt := range []struct {
		name   string
		source idgen.Source[int64]
		rows   []any
		want   string // the field
		with   []gormplugin.Option
	}{
		{"int64", large, []any{&inJSON{}, &[]inJSON{{}, {}}}, "model=inJSON field=ID type=int64", nil},
		{"gorm.Model", large, []any{&inJSONModel{}, &inJSONModel{}}, "model=inJSONModel field=ID type=uint", nil},
		{"pointer", large, []any{&inJSONTagged{Key: &key}, &inJSONTagged{}}, "model=inJSONTagged field=Key type=*uint64", nil},
		{"set by hand", large, []any{&inJSON{ID: 5}, &[]inJSON{{ID: 6}}}, "", nil},
		{"js53", small, []any{&inJSON{}}, "", nil},
		{"no layout", layoutless{large}, []any{&inJSON{}}, "", nil},
		{"string", large, []any{&inJSONText{}}, "", nil},
		{"left out", large, []any{&inJSONNone{}}, "", nil},
		{"ID", large, []any{&inJSONID{}}, "", nil},
		{"Number", large, []any{&inJSONNumber{}}, "", nil},
		{"a JSON of its own", large, []any{&inJSONOwn{}}, "", nil},
		{"turned off", large, []any{&inJSON{}}, "", []gormplugin.Option{gormplugin.WithoutModelWarnings()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := openDatabase(t, dbtest.SQLite(t).DSN)
			log, said := logged()
			options := append(tt.with, gormplugin.From(tt.source), gormplugin.AllKeys(), gormplugin.Logger(log))
			do(t, db.Use(gormplugin.New(options...)))
			migrate(t, db, tt.rows[0])
			for _, row := range tt.rows {
				create(t, db, row)
			}
			lines := said()
			if want := min(1, len(tt.want)); strings.Count(lines, "\n") != want || !strings.Contains(lines, tt.want) {
				t.Errorf("got the lines %q, want %d with %q", lines, want, tt.want)
			}
		})
	}
}

// Counted has a key that the database counted before the plugin came.
type Counted struct {
	ID   int64
	Name string `gorm:"unique"`
}

// A table that still counts its key is one warning, at the first create that finds out, with the command; one that does not is none, and SQLite counts
// always.
func TestCountersAreWarnedOf(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		do(t, db.Table("plain").AutoMigrate(&inJSONID{}))
		for _, name := range []string{"one", "many", "maps", "bare", "upserts", "prepared", "off"} {
			do(t, another(t, db).Table(name).AutoMigrate(&Counted{})) // without the plugin
		}
		log, said := logged()
		use := func(options ...gormplugin.Option) *gorm.DB {
			db := another(t, db)
			options = append(options, gormplugin.From(mustGenerator(t)), gormplugin.AllKeys(), gormplugin.Logger(log), gormplugin.Table("bare", "id"))
			do(t, db.Use(gormplugin.New(options...)))
			return db
		}
		off := use(gormplugin.WithoutModelWarnings())
		db = use()
		do(t, db.Session(&gorm.Session{DryRun: true}).Table("one").Create(&Counted{Name: "dry"}).Error)
		said()
		expect := func(table string) {
			t.Helper()
			lines, want := said(), 1
			if table == "" || db.Name() == "sqlite" {
				want = 0
			}
			command := `"snowkey migrate plan --db DSN --mode widen --table ` + table + ` --out widen.sql"`
			if strings.Count(lines, "\n") != want || want > 0 && !strings.Contains(lines, "table="+table+" column=id command="+command) {
				t.Errorf("%q: got the lines %q, want %d", table, lines, want)
			}
		}
		name := 0
		row := func() Counted { name++; return Counted{Name: fmt.Sprint(name)} }
		for range 2 {
			create(t, db.Table("plain"), &inJSONID{})
		}
		expect("")
		one := row()
		create(t, db.Table("one"), &one)
		expect("one")
		again := row()
		create(t, db.Table("one"), &again)
		expect("")
		create(t, db.Table("many"), &[]Counted{row(), row(), row()})
		expect("many")
		create(t, db.Table("maps").Model(&Counted{}), []map[string]any{{"name": "a"}, {"name": "b"}})
		expect("maps")
		create(t, db.Table("bare"), map[string]any{"name": "c"})
		expect("bare")
		met := row()
		create(t, db.Table("upserts").Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}), &met)
		expect("")
		plain := row()
		create(t, db.Table("upserts"), &plain)
		expect("upserts")
		prepared := row()
		do(t, db.Session(&gorm.Session{PrepareStmt: true}).Transaction(func(tx *gorm.DB) error { return tx.Table("prepared").Create(&prepared).Error }))
		expect("prepared")
		left := row()
		create(t, off.Table("off"), &left)
		expect("")
		var n int64
		if do(t, db.Table("many").Count(&n).Error); n != 3 {
			t.Errorf("got %d rows, want 3", n)
		}
	})
}

// An account that may not read PostgreSQL's catalog creates its rows all the same, in GORM's transaction, in its own and without one.
func TestCounterOfAHiddenCatalog(t *testing.T) {
	d := dbtest.Postgres(t)
	admin := openDatabase(t, d.DSN)
	do(t, admin.AutoMigrate(&Counted{}))
	account, open := limited(t, admin, d)
	mustRun(t, admin, "GRANT SELECT, INSERT ON counteds TO "+account)
	mustRun(t, admin, "REVOKE SELECT ON pg_catalog.pg_attrdef FROM PUBLIC")
	for i, session := range []gorm.Session{{}, {SkipDefaultTransaction: true}, {PrepareStmt: true}} {
		db := open()
		log, said := logged()
		do(t, db.Use(gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.AllKeys(), gormplugin.Logger(log))))
		create(t, db.Session(&session), &Counted{Name: fmt.Sprint("a", i)})
		do(t, db.Transaction(func(tx *gorm.DB) error {
			return tx.Create(&[]Counted{{Name: fmt.Sprint("b", i)}, {Name: fmt.Sprint("c", i)}}).Error
		}))
		if lines := said(); strings.Contains(lines, "counts") {
			t.Errorf("%+v: got %q, want nothing of a counter", session, lines)
		}
	}
	if n := count(t, admin, &Counted{}); n != 9 {
		t.Errorf("got %d rows, want 9", n)
	}
}

// A test that expects the statements of a create one by one, and none of a catalog, goes on to pass.
func TestCounterBesideExpectedStatements(t *testing.T) {
	pool, mock, err := sqlmock.New()
	do(t, err)
	mock.ExpectBegin()
	mock.ExpectExec("INSERT INTO \"counteds\"").WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectCommit()
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: silent{}, DisableAutomaticPing: true})
	do(t, err)
	log, said := logged()
	do(t, db.Use(gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.AllKeys(), gormplugin.Logger(log))))
	create(t, db, &Counted{Name: "a"})
	do(t, mock.ExpectationsWereMet())
	if lines := said(); strings.Contains(lines, "counts") {
		t.Errorf("got %q, want nothing of a counter", lines)
	}
}
