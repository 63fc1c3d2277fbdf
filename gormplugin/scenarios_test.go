package gormplugin_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/uid"
)

// key is a type of keys: one that is filled by its type, and the plain integers, uint being that of gorm.Model.
type key interface {
	number | sqltype.UUID | sqltype.ULID | nano
}

// number is a type of keys that are integers.
type number interface{ sqltype.ID | int64 | uint }

// nano is a type of keys that are NanoIDs.
type nano string

const nanoSize = 21

func (nano) GormDataType() string { return "varchar(21)" }

func (nano) GormDBDataType(db *gorm.DB, field *schema.Field) string {
	switch {
	case db.Name() == "mysql":
		return "varchar(21) COLLATE ascii_bin"
	case db.Name() == "sqlite" && field.PrimaryKey:
		return "varchar(21) NOT NULL"
	}
	return "varchar(21)"
}

// Format writes the text for all verbs, %d too.
func (n nano) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, string(n)) }

func mustNanoIDs(t *testing.T) idgen.Source[string] {
	t.Helper()
	source, err := uid.NanoID(uid.NanoIDAlphabet, nanoSize)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// numbered returns the key of a number below 100, and for 0 the key that is none.
func numbered[K key](number int) K {
	var made K
	switch k := any(&made).(type) {
	case *sqltype.ID:
		*k = sqltype.ID(number)
	case *int64:
		*k = int64(number)
	case *uint:
		*k = uint(number)
	case *sqltype.UUID:
		k[15] = byte(number)
	case *sqltype.ULID:
		k[15] = byte(number)
	case *nano:
		if number != 0 {
			*k = nano(fmt.Sprintf("number-%d", number))
		}
	}
	return made
}

// sortable is a text of a key that is in the order of the keys.
func sortable[K key | int32](k K) string {
	if text, ok := any(k).(nano); ok {
		return string(text)
	}
	if text, ok := any(k).(fmt.Stringer); ok && reflect.TypeFor[K]().Kind() == reflect.Array {
		return text.String()
	}
	return fmt.Sprintf("%020d", k)
}

// scenario is something that users do with GORM and that a plugin which only sets a field gets wrong. It runs with each kind of
// keys, or, where the kind does not matter, only as any.
type scenario struct {
	name string
	test func(t *testing.T, s scene) // any
	id   func(*testing.T, scene)     // sqltype.ID
	i64  func(*testing.T, scene)     // int64
	uint func(*testing.T, scene)     // uint
	uuid func(*testing.T, scene)     // sqltype.UUID
	ulid func(*testing.T, scene)     // sqltype.ULID
	text func(*testing.T, scene)     // nano
}

// scenarios are numbered for good: a number is never given to another one.
var scenarios = slices.Concat(upsertScenarios, mapScenarios, columnScenarios, valueScenarios, hookScenarios, batchScenarios, relationScenarios)

// TestScenarios runs all on one database of each kind, where each has tables of its own. Plain integers run on tables that are
// auto-increment still and on ones that were made without.
func TestScenarios(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" { // no test looks at what is left after a crash
			if err := db.Exec("PRAGMA synchronous = OFF").Error; err != nil {
				t.Fatal(err)
			}
		}
		for i, sc := range scenarios {
			t.Run(sc.name, func(t *testing.T) {
				if sc.test != nil {
					sc.test(t, scene{base: db, prefix: fmt.Sprintf("s%d_", i), all: true})
					return
				}
				for _, kind := range []struct {
					name string
					test func(*testing.T, scene)
					scene
				}{
					{"sqltype.ID", sc.id, scene{prefix: "a"}},
					{"int64 on auto-increment", sc.i64, scene{prefix: "b", all: true}},
					{"int64", sc.i64, scene{prefix: "c", all: true, prepared: true}},
					{"uint on auto-increment", sc.uint, scene{prefix: "d", all: true}},
					{"sqltype.UUID", sc.uuid, scene{prefix: "e", other: true}},
					{"sqltype.ULID", sc.ulid, scene{prefix: "f", other: true}},
					{"NanoID", sc.text, scene{prefix: "g", other: true, text: true}},
				} {
					if kind.test == nil { // a table without a model has no UUID
						continue
					}
					t.Run(kind.name, func(t *testing.T) {
						if db.Name() != "sqlite" && (kind.name == "sqltype.ULID" || kind.name == "NanoID") { // texts, like some UUIDs
							dbtest.Long(t)
						}
						kind.base, kind.prefix = db, fmt.Sprintf("s%d%s_", i, kind.prefix)
						kind.test(t, kind.scene)
					})
				}
			})
		}
	})
}

// scene is where a scenario runs: a database that it shares with others, and its kind of keys.
type scene struct {
	base     *gorm.DB
	prefix   string // of its tables
	all      bool   // with AllKeys
	prepared bool   // with Prepare: no table is auto-increment
	other    bool   // keys are no integers
	text     bool   // keys are NanoIDs
}

// auto reports whether keys that are left out are made by the column. SQLite makes them of an integer key in any case.
func (s scene) auto() bool { return s.all && !s.prepared }

// returning reports whether the statements have a RETURNING clause.
func (s scene) returning() bool {
	d, ok := s.base.Dialector.(*mysql.Dialector)
	return !ok || !d.DisableWithReturning
}

// failing is the option of a source of the scenario's keys that returns an error, or panics when that is nil.
func (s scene) failing(cause error) gormplugin.Option {
	switch {
	case s.text:
		return gormplugin.From(failingOther[string]{failing{cause}})
	case s.other:
		return gormplugin.From(failingOther[[16]byte]{failing{cause}})
	}
	return gormplugin.From(failing{cause})
}

// failingOther is failing for keys that are no integers.
type failingOther[K any] struct{ failing }

func (f failingOther[K]) Next(ctx context.Context) (key K, err error) {
	_, err = f.failing.Next(ctx)
	return key, err
}

func (f failingOther[K]) Fill(ctx context.Context, _ []K) error { return f.failing.Fill(ctx, nil) }

// from has the keys made by a source, unless it makes none of their kind.
func (s scene) from(source idgen.Source[int64]) []gormplugin.Option {
	if s.text {
		return nil
	}
	return []gormplugin.Option{gormplugin.From(source)}
}

// tag gives the keys of models the tag snowkey, which texts need, and which other kinds of keys must not have to be filled.
func tag(t *testing.T, db *gorm.DB, models []any) {
	t.Helper()
	for _, model := range models {
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(model); err != nil {
			t.Fatal(err)
		}
		if field := stmt.Schema.LookUpField("ID"); field != nil {
			field.TagSettings["SNOWKEY"] = "SNOWKEY"
		}
	}
}

// open returns a gorm.DB on the scenario's tables, without the plugin.
func (s scene) open(t *testing.T) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(s.base.Dialector, &gorm.Config{
		Logger: new(recorder), NamingStrategy: schema.NamingStrategy{TablePrefix: s.prefix},
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// use opens the database with the plugin and a generator of node 7, and makes the models' tables.
func (s scene) use(t *testing.T, models ...any) *gorm.DB {
	t.Helper()
	return s.useOptions(t, s.open(t), nil, models...)
}

// useOptions is use with more options; a From among them is the source.
func (s scene) useOptions(t *testing.T, db *gorm.DB, options []gormplugin.Option, models ...any) *gorm.DB {
	t.Helper()
	source := gormplugin.From(mustGenerator(t))
	if s.text {
		source = gormplugin.From(mustNanoIDs(t))
		tag(t, db, models)
	}
	options = append([]gormplugin.Option{source}, options...)
	if s.all {
		options = append(options, gormplugin.AllKeys())
	}
	if s.prepared {
		options = append(options, gormplugin.Prepare(models...))
	}
	if err := db.Use(gormplugin.New(options...)); err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
	return db
}

// Member has an address that no two rows share, and children. Names of tables do not depend on the kind of keys.
type Member[K key] struct {
	ID      K
	Email   string `gorm:"size:64;uniqueIndex"`
	Name    string `gorm:"size:64"`
	Score   int
	Letters []Letter[K] `gorm:"foreignKey:MemberID;constraint:-"`
}

func (Member[K]) TableName(namer schema.Namer) string { return namer.TableName("Member") }

// Letter belongs to a member, and may name one that is not there.
type Letter[K key] struct {
	ID       K
	MemberID K
	Member   *Member[K] `gorm:"constraint:-"`
	Text     string     `gorm:"size:64"`
}

func (Letter[K]) TableName(namer schema.Namer) string { return namer.TableName("Letter") }

// useMembers makes the tables of members and letters.
func useMembers[K key](t *testing.T, s scene) *gorm.DB {
	t.Helper()
	return s.use(t, &Member[K]{}, &Letter[K]{})
}

// requireMade fails unless a key was made by the generator of node 7 during this test.
func requireMade[K key](t *testing.T, keys ...K) {
	t.Helper()
	for _, k := range keys {
		switch k := any(k).(type) {
		case sqltype.UUID:
			requireTime(t, k.Time(), k)
		case sqltype.ULID:
			requireTime(t, k.Time(), k)
		case nano:
			if len(k) != nanoSize {
				t.Errorf("got the key %q, want a NanoID", string(k))
			}
		case sqltype.ID:
			requireKey(t, k)
		default:
			requireKey(t, sqltype.ID(reflect.ValueOf(k).Convert(reflect.TypeFor[int64]()).Int()))
		}
	}
}

// requireTime fails unless a key was made within the last minutes.
func requireTime(t *testing.T, made time.Time, key any) {
	t.Helper()
	if age := time.Since(made); age < -time.Second || age > 10*time.Minute {
		t.Errorf("got the key %s, made at %s, want one of now", key, made)
	}
}

// requireMembers fails unless the table holds these members and no others.
func requireMembers[K key](t *testing.T, db *gorm.DB, want ...Member[K]) {
	t.Helper()
	var rows []Member[K]
	if err := db.Session(&gorm.Session{NewDB: true}).Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	text := func(members []Member[K]) []string {
		lines := make([]string, 0, len(members))
		for _, m := range members {
			lines = append(lines, fmt.Sprintf("%s: %s %d with the key %s", m.Email, m.Name, m.Score, sortable(m.ID)))
		}
		slices.Sort(lines)
		return lines
	}
	if got, want := text(rows), text(want); !slices.Equal(got, want) {
		t.Errorf("got the rows\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// requireKeys fails unless the keys in a model's table are these.
func requireKeys[K key | int32](t *testing.T, db *gorm.DB, model any, want ...K) {
	t.Helper()
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(model); err != nil {
		t.Fatal(err)
	}
	column := stmt.Schema.PrioritizedPrimaryField.DBName
	var got []K
	if err := db.Session(&gorm.Session{NewDB: true}).Unscoped().Model(model).Order(column).Pluck(column, &got).Error; err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]K{got, want} { // not all databases order texts as Go does
		slices.SortFunc(keys, func(a, b K) int { return strings.Compare(sortable(a), sortable(b)) })
	}
	if !slices.Equal(got, want) {
		t.Errorf("%T: got the keys %v in the table, want %v", model, got, want)
	}
}

// requireConnection fails when the pool has no connection to give within ten seconds.
func requireConnection(t *testing.T, db *gorm.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := db.WithContext(ctx).Exec("SELECT 1").Error; err != nil {
		t.Errorf("the connection was not given back: %v", err)
	}
}

// one limits a database's pool to a connection until the test ends, so that one that is lost would block it.
func one(t *testing.T, db *gorm.DB) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	before := pool.Stats().MaxOpenConnections
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { pool.SetMaxOpenConns(before) })
}

// counting is a source that counts the keys it gives.
type counting struct {
	idgen.Source[int64]
	given int
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	return &counting{Source: mustGenerator(t)}
}

func (c *counting) Next(ctx context.Context) (int64, error) {
	c.given++
	return c.Source.Next(ctx)
}

func (c *counting) Fill(ctx context.Context, keys []int64) error {
	c.given += len(keys)
	return c.Source.Fill(ctx, keys)
}

// Each of the forty numbers is there once, and names are not given twice.
func TestScenariosAreComplete(t *testing.T) {
	numbers := map[string]bool{}
	for _, sc := range scenarios {
		number, _, _ := strings.Cut(sc.name, " ")
		if numbers[number] {
			t.Errorf("%s: number %s is there twice", sc.name, number)
		}
		numbers[number] = true
		if (sc.test == nil) == (sc.id == nil || sc.i64 == nil || sc.uint == nil) {
			t.Errorf("%s: want a test of any kind of keys, or one of each", sc.name)
		}
	}
	for n := 1; n <= 40; n++ {
		if !numbers[fmt.Sprintf("%02d", n)] {
			t.Errorf("number %02d is missing; there are %v", n, slices.Sorted(maps.Keys(numbers)))
		}
	}
}
