package gormplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
	"gorm.io/plugin/dbresolver"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// otherPlugin is something that is used together with the plugin: a setting of GORM, a plugin, another way to write statements.
type otherPlugin struct {
	name   string
	config gorm.Config // the logger is set by the test
	naming schema.NamingStrategy
	use    func(t *testing.T, s scene, db *gorm.DB) // after the plugin
	with   func(db *gorm.DB, do func(db *gorm.DB) error) error
}

// plainly does what is to be done on the database itself.
func plainly(db *gorm.DB, do func(db *gorm.DB) error) error { return do(db) }

// inSession does it in a session.
func inSession(session gorm.Session) func(*gorm.DB, func(*gorm.DB) error) error {
	return func(db *gorm.DB, do func(*gorm.DB) error) error { return do(db.Session(&session)) }
}

var otherPlugins = []otherPlugin{
	{name: "PrepareStmt", config: gorm.Config{PrepareStmt: true}, with: plainly},
	{name: "SkipDefaultTransaction", config: gorm.Config{SkipDefaultTransaction: true}, with: plainly},
	{name: "both", config: gorm.Config{PrepareStmt: true, SkipDefaultTransaction: true}, with: plainly},
	{name: "CreateBatchSize", config: gorm.Config{CreateBatchSize: 2}, with: plainly},
	{name: "QueryFields and TranslateError", config: gorm.Config{QueryFields: true, TranslateError: true}, with: plainly},
	{name: "SingularTable", naming: schema.NamingStrategy{SingularTable: true}, with: plainly},
	{name: "NoLowerCase", naming: schema.NamingStrategy{NoLowerCase: true}, with: plainly},
	{name: "NameReplacer", naming: schema.NamingStrategy{NameReplacer: strings.NewReplacer("Email", "MailAddress", "ID", "Key")}, with: plainly},
	{name: "transaction", with: func(db *gorm.DB, do func(*gorm.DB) error) error { return db.Transaction(do) }},
	{name: "nested transaction", with: func(db *gorm.DB, do func(*gorm.DB) error) error {
		return db.Transaction(func(tx *gorm.DB) error { return tx.Transaction(do) })
	}},
	{name: "savepoint", with: func(db *gorm.DB, do func(*gorm.DB) error) error {
		return db.Transaction(func(tx *gorm.DB) error { return errors.Join(tx.SavePoint("here").Error, do(tx)) })
	}},
	{name: "Begin and Commit", with: func(db *gorm.DB, do func(*gorm.DB) error) error {
		tx := db.Begin()
		err := do(tx)
		return errors.Join(err, tx.Commit().Error)
	}},
	{name: "Connection", with: func(db *gorm.DB, do func(*gorm.DB) error) error {
		return db.Connection(func(tx *gorm.DB) error { return do(tx.Session(&gorm.Session{NewDB: true})) })
	}},
	{name: "NewDB", with: inSession(gorm.Session{NewDB: true})},
	{name: "SkipHooks", with: inSession(gorm.Session{SkipHooks: true})},
	{name: "PropagateUnscoped", with: func(db *gorm.DB, do func(*gorm.DB) error) error {
		return do(db.Unscoped().Session(&gorm.Session{PropagateUnscoped: true}))
	}},
	{name: "Debug", with: func(db *gorm.DB, do func(*gorm.DB) error) error { return do(db.Debug()) }},
	{name: "dbresolver", with: plainly, use: func(t *testing.T, s scene, db *gorm.DB) {
		replica := s
		replica.base = &gorm.DB{Config: &gorm.Config{Dialector: anew(t, db)}}
		if err := replica.open(t).AutoMigrate(&Reader{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Use(dbresolver.Register(dbresolver.Config{
			Sources: []gorm.Dialector{s.base.Dialector}, Replicas: []gorm.Dialector{replica.base.Dialector}, TraceResolverMode: true,
		})); err != nil {
			t.Fatal(err)
		}
	}},
}

// Reader is a model whose columns are named by the naming strategy.
type Reader struct {
	ID    int64
	Email string `gorm:"size:64;uniqueIndex"`
	Name  string `gorm:"size:64"`
}

// TestOtherPlugins does the same with each otherPlugin: rows alone and in batches, maps, upserts, and reading all of it.
func TestOtherPlugins(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		for i, c := range otherPlugins {
			for j, prepared := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/prepared=%t", c.name, prepared), func(t *testing.T) {
					testWithPlugin(t, c, scene{base: db, prefix: fmt.Sprintf("c%d%d_", i, j), all: true, prepared: prepared})
				})
			}
		}
	})
}

func testWithPlugin(t *testing.T, c otherPlugin, s scene) {
	config, naming := c.config, c.naming
	naming.TablePrefix = s.prefix
	config.Logger, config.NamingStrategy = new(recorder), naming
	db, err := gorm.Open(s.base.Dialector, &config)
	if err != nil {
		t.Fatal(err)
	}
	db = s.useOptions(t, db, nil, &Reader{})
	if c.use != nil {
		c.use(t, s, db)
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(&Reader{}); err != nil {
		t.Fatal(err)
	}
	column := func(field string) string { return stmt.Schema.LookUpField(field).DBName }
	conflict := []clause.Column{{Name: column("Email")}}
	update := clause.OnConflict{Columns: conflict, DoUpdates: clause.AssignmentColumns([]string{column("Name")})}

	a, batch, m := Reader{Email: "a"}, []Reader{{Email: "b"}, {Email: "c"}, {Email: "d"}}, map[string]any{"Email": "e"}
	gen, generic := &Reader{Email: "f"}, &Reader{Email: "g"}
	inBatches, own := []*Reader{{Email: "h"}, {Email: "i"}, {Email: "j"}}, Reader{ID: 5, Email: "k"}
	again, several := Reader{Email: "a", Name: "second"}, []Reader{{Email: "l", Name: "second"}, {Email: "b", Name: "second"}}
	all, ignored, skipped := Reader{Email: "c", Name: "second"}, Reader{Email: "d", Name: "no"}, []Reader{{Email: "d", Name: "no"}, {Email: "m"}}
	first := Reader{}
	var affected int64
	err = c.with(db, func(db *gorm.DB) error {
		ignore := db.Clauses(clause.OnConflict{DoNothing: true}).Session(&gorm.Session{})
		ignoreAll := ignore.Create(&skipped)
		affected = ignoreAll.RowsAffected // d is not there yet
		skipped = []Reader{{Email: "d", Name: "no"}, {Email: "n"}}
		if err := errors.Join(ignoreAll.Error, db.Where("1 = 1").Delete(&Reader{}).Error); err != nil {
			return err
		}
		return errors.Join(
			db.Create(&a).Error, db.Create(&batch).Error, db.Model(&Reader{}).Create(m).Error, db.Model(&Reader{}).Create([]*Reader{gen}).Error,
			gorm.G[Reader](db).Create(t.Context(), generic), db.CreateInBatches(inBatches, 2).Error, db.Create(&own).Error,
			db.Clauses(update).Create(&again).Error, db.Clauses(update).Create(&several).Error,
			db.Clauses(clause.OnConflict{Columns: conflict, UpdateAll: true}).Create(&all).Error,
			ignore.Create(&ignored).Error, ignore.Create(&skipped).Error,
			db.Clauses(dbresolver.Write).Where(Reader{Email: "o"}).FirstOrCreate(&first).Error,
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	if affected != 2 {
		t.Errorf("got %d rows affected of two that are not there, want 2", affected)
	}
	if again.ID != a.ID || several[1].ID != batch[0].ID || all.ID != batch[1].ID {
		t.Errorf("got the keys %d, %d and %d of upserts, want %d, %d and %d", again.ID, several[1].ID, all.ID, a.ID, batch[0].ID, batch[1].ID)
	}
	if ignored.ID != 0 || skipped[0].ID != 0 {
		t.Errorf("got the keys %d and %d of rows that were not written", ignored.ID, skipped[0].ID)
	}
	key, _ := m[column("ID")].(int64)
	want := []Reader{again, batch[2], {ID: key, Email: "e"}, *gen, *generic, *inBatches[0], *inBatches[1], *inBatches[2], several[0], several[1], all, skipped[1], first}
	for _, r := range want {
		requireMade(t, r.ID)
	}
	var got []Reader
	if err := db.Clauses(dbresolver.Write).Find(&got).Error; err != nil {
		t.Fatal(err)
	}
	if got, want := readers(got), readers(append(want, own)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the rows %v, want %v", got, want)
	}
	one, err := gorm.G[Reader](db, dbresolver.Write).Where(clause.Eq{Column: clause.Column{Name: column("ID")}, Value: a.ID}).First(t.Context())
	if err != nil || one != again {
		t.Errorf("got %v, %v, want %v", one, err, again)
	}
}

func readers(all []Reader) map[string]string {
	m := map[string]string{}
	for _, r := range all {
		m[r.Email] = fmt.Sprint(r.ID, " ", r.Name)
	}
	return m
}

// A transaction that fails leaves nothing, with batches of its own too.
func TestRollback(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Reader{})
		cause := errors.New("changed my mind")
		err := db.Transaction(func(tx *gorm.DB) error {
			readers := []Reader{{Email: "a"}, {Email: "b"}, {Email: "c"}, {Email: "d"}, {Email: "e"}}
			if err := tx.CreateInBatches(&readers, 2).Error; err != nil {
				return err
			}
			for _, r := range readers {
				requireMade(t, r.ID)
			}
			return cause
		})
		if n := count(t, db, &Reader{}); !errors.Is(err, cause) || n != 0 {
			t.Errorf("got %v and %d rows, want none", err, n)
		}
		readers := []Reader{{Email: "a"}, {Email: "b"}, {Email: "a"}} // the second batch fails
		if err := db.CreateInBatches(&readers, 2).Error; err == nil {
			t.Error("got no error of a row that is there")
		}
		if n := count(t, db, &Reader{}); n != 0 {
			t.Errorf("got %d rows of a batch that failed, want none", n)
		}
	})
}

// DryRun makes keys for the SQL, and does nothing else.
func TestDryRun(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Reader{}, &Order{}, &Line{})
		dry := db.Session(&gorm.Session{DryRun: true})
		update := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		reader, batch, m := Reader{Email: "a"}, []Reader{{Email: "b"}, {Email: "c"}}, map[string]any{"email": "d"}
		order := Order{Lines: []Line{{}, {}}}
		for name, tx := range map[string]*gorm.DB{
			"struct": dry.Create(&reader), "batch": dry.Create(&batch), "map": dry.Model(&Reader{}).Create(m), "children": dry.Create(&order),
			"upsert": dry.Clauses(update).Create(&Reader{Email: "a"}), "batch upsert": dry.Clauses(update).Create(&[]Reader{{Email: "a"}, {Email: "b"}}),
			"ignore": dry.Clauses(clause.OnConflict{DoNothing: true}).Create(&[]Reader{{Email: "a"}, {Email: "b"}}),
		} {
			if tx.Error != nil || !strings.HasPrefix(tx.Statement.SQL.String(), "INSERT") {
				t.Errorf("%s: got %q, %v, want an INSERT", name, tx.Statement.SQL.String(), tx.Error)
			}
		}
		if reader.ID != 0 || batch[0].ID != 0 || batch[1].ID != 0 || len(m) != 1 || order.ID != 0 || order.Lines[0].ID != 0 || order.Lines[1].ID != 0 {
			t.Errorf("got the keys %d, %d, %d, %v and %+v, want none", reader.ID, batch[0].ID, batch[1].ID, m, order)
		}
		for _, model := range []any{&Reader{}, &Order{}, &Line{}} {
			if n := count(t, db, model); n != 0 {
				t.Errorf("%T: got %d rows, want none", model, n)
			}
		}
		for _, v := range dry.Create(&reader).Statement.Vars {
			if key, ok := v.(int64); ok && key > 1<<40 {
				return
			}
		}
		t.Error("the SQL has no key")
	})
}

// Invoice is in a schema of its own, which in MySQL is a database and in SQLite one that is attached.
type Invoice struct {
	ID     int64
	Number string `gorm:"size:64;uniqueIndex:ix_number"`
	Text   string `gorm:"size:64"`
}

func (Invoice) TableName() string { return "app.invoices" }

func TestQualifiedTable(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		switch db.Name() {
		case "sqlite":
			if err := db.Exec("ATTACH DATABASE ':memory:' AS app").Error; err != nil {
				t.Fatal(err)
			}
		default:
			creator := db
			if db.Name() == "mysql" { // where it is a database beside that of the test
				creator = openDatabase(t, dbtest.MySQL(t).Admin().DSN)
			}
			if err := creator.Exec("CREATE SCHEMA app").Error; err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := creator.Exec("DROP SCHEMA app" + map[string]string{"postgres": " CASCADE"}[db.Name()]).Error; err != nil {
					t.Error(err)
				}
			})
			if db.Name() == "mysql" {
				var account string
				if err := db.Raw("SELECT CURRENT_USER()").Scan(&account).Error; err != nil {
					t.Fatal(err)
				}
				if err := creator.Exec("GRANT ALL ON app.* TO '" + strings.ReplaceAll(account, "@", "'@'") + "'").Error; err != nil {
					t.Fatal(err)
				}
			}
		}
		use(t, db, gormplugin.AllKeys(), gormplugin.Table("app.invoices", "id"))
		if err := db.Exec("CREATE TABLE app.invoices (id BIGINT PRIMARY KEY, number VARCHAR(64) UNIQUE, text VARCHAR(64))").Error; err != nil {
			t.Fatal(err)
		}
		update := clause.OnConflict{Columns: []clause.Column{{Name: "number"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}
		a, batch, m := Invoice{Number: "a"}, []Invoice{{Number: "b"}, {Number: "c"}}, map[string]any{"number": "d"}
		create(t, db, &a)
		create(t, db, &batch)
		create(t, db.Model(&Invoice{}), m)
		table := map[string]any{"number": "e"}
		create(t, db.Table("app.invoices"), table)
		again, several := Invoice{Number: "a", Text: "second"}, []Invoice{{Number: "f"}, {Number: "c", Text: "second"}}
		create(t, db.Clauses(update), &again)
		create(t, db.Clauses(update), &several)
		skipped := []Invoice{{Number: "g"}, {Number: "a"}}
		create(t, db.Clauses(clause.OnConflict{DoNothing: true}), &skipped)
		if again.ID != a.ID || several[1].ID != batch[1].ID || skipped[1].ID != 0 {
			t.Errorf("got the keys %d, %d and %d, want %d, %d and none", again.ID, several[1].ID, skipped[1].ID, a.ID, batch[1].ID)
		}
		requireMade(t, a.ID, batch[0].ID, batch[1].ID, several[0].ID, skipped[0].ID)
		requireKeys(t, db, &Invoice{}, a.ID, batch[0].ID, batch[1].ID, mapKey[int64](t, m, "id"), mapKey[sqltype.ID](t, table, "id").Int64(), several[0].ID, skipped[0].ID)
	})
}

// Two databases with a plugin each, in one process and with the same models; one has all keys, the other those of its types.
func TestTwoDatabases(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		other, err := gorm.Open(anew(t, db), &gorm.Config{Logger: new(recorder)})
		if err != nil {
			t.Fatal(err)
		}
		use(t, db, gormplugin.AllKeys(), gormplugin.Prepare(&Reader{}), &Reader{}, &Order{}, &Line{})
		use(t, other, &Reader{}, &Order{}, &Line{})
		var wg sync.WaitGroup
		for _, db := range []*gorm.DB{db, other} {
			wg.Go(func() {
				for i := range 5 {
					if err := errors.Join(db.Create(&Reader{Email: fmt.Sprint(i)}).Error, db.Create(&Order{Lines: []Line{{}}}).Error); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		for _, tt := range []struct {
			db   *gorm.DB
			made int64
		}{{db, 5}, {other, 0}} {
			if n := count(t, tt.db.Where("id > 1000"), &Reader{}); n != tt.made || count(t, tt.db, &Reader{}) != 5 {
				t.Errorf("got %d made keys of %d readers, want %d of 5", n, count(t, tt.db, &Reader{}), tt.made)
			}
			if n := count(t, tt.db.Where("id > 1000"), &Order{}); n != 5 {
				t.Errorf("got %d made keys of orders, want 5", n)
			}
		}
	})
}

// One plugin may serve several databases, with the same models.
func TestOnePluginForTwoDatabases(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		other, err := gorm.Open(anew(t, db), &gorm.Config{Logger: new(recorder)})
		if err != nil {
			t.Fatal(err)
		}
		plugin := gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.AllKeys(), gormplugin.Prepare(&Reader{}))
		seen := map[int64]bool{}
		for _, db := range []*gorm.DB{db, other} {
			if err := db.Use(plugin); err != nil {
				t.Fatal(err)
			}
			if err := db.AutoMigrate(&Reader{}); err != nil {
				t.Fatal(err)
			}
			readers := []Reader{{Email: "a"}, {Email: "b"}}
			create(t, db, &readers)
			requireKeys(t, db, &Reader{}, readers[0].ID, readers[1].ID)
			for _, r := range readers {
				requireMade(t, r.ID)
				if seen[r.ID] {
					t.Errorf("got the key %d twice", r.ID)
				}
				seen[r.ID] = true
			}
		}
	})
}

// Eight goroutines meet models of plain keys at once that nothing has parsed yet: -race watches.
func TestColdSchemas(t *testing.T) {
	type Parent struct {
		ID       int64
		Name     string
		Children []Reader `gorm:"many2many:parent_children"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := another(t, db).AutoMigrate(&Reader{}, &Parent{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Use(gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.AllKeys())); err != nil {
			t.Fatal(err)
		}
		update := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 8 {
			wg.Go(func() {
				<-start
				m, p := map[string]any{"email": fmt.Sprint("map ", i)}, Parent{Children: []Reader{{Email: fmt.Sprint("child ", i)}}}
				r, batch := Reader{Email: fmt.Sprint("one ", i)}, []Reader{{Email: fmt.Sprint("two ", i)}, {Email: fmt.Sprint("three ", i)}}
				again := Reader{Email: r.Email, Name: "again"}
				if err := errors.Join(
					db.Create(&r).Error, db.Create(&batch).Error, db.Model(&Reader{}).Create(m).Error, db.Create(&p).Error, db.Clauses(update).Create(&again).Error,
				); err != nil {
					t.Error(err)
					return
				}
				if again.ID != r.ID {
					t.Errorf("got the key %d of an upsert, want %d", again.ID, r.ID)
				}
				for _, id := range []int64{r.ID, batch[0].ID, batch[1].ID, p.ID, p.Children[0].ID} {
					if id < 1<<40 {
						t.Errorf("got the key %d of the database", id)
					}
				}
			})
		}
		close(start)
		wg.Wait()
		if readers, parents := count(t, db, &Reader{}), count(t, db, &Parent{}); readers != 40 || parents != 8 {
			t.Errorf("got %d readers and %d parents, want 40 and 8", readers, parents)
		}
	})
}
