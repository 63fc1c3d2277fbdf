package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

type Order struct {
	ID    sqltype.ID
	Item  string
	Lines []Line
}

type Line struct {
	ID      sqltype.ID
	OrderID sqltype.ID
	Text    string
}

// requireKey fails unless an id was made by a generator of node 7 during this test.
func requireKey(t *testing.T, id sqltype.ID) {
	t.Helper()
	parts, err := idgen.Snowkey.Decode(id.Int64())
	if err != nil {
		t.Fatal(err)
	}
	if parts.Node != 7 || time.Since(parts.Time).Abs() > time.Minute {
		t.Fatalf("got the id %d of node %d and %s, want one of node 7 and now", id, parts.Node, parts.Time)
	}
}

// requireRows fails unless the table of orders holds the ids given, each with its item.
func requireRows(t *testing.T, db *gorm.DB, want map[sqltype.ID]string) {
	t.Helper()
	var rows []Order
	if err := db.Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	got := map[sqltype.ID]string{}
	for _, row := range rows {
		got[row.ID] = row.Item
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the rows %v, want %v", got, want)
	}
}

func create(t *testing.T, db *gorm.DB, value any) {
	t.Helper()
	if err := db.Create(value).Error; err != nil {
		t.Fatal(err)
	}
}

func TestCreateFillsEveryShape(t *testing.T) {
	pointer := func(o *Order) **Order { return &o }
	for _, tt := range []struct {
		name  string
		value any
		rows  func(value any) []*Order
	}{
		{"struct", &Order{Item: "a"}, func(v any) []*Order { return []*Order{v.(*Order)} }},
		{"pointer to pointer", pointer(&Order{Item: "a"}), func(v any) []*Order { return []*Order{*v.(**Order)} }},
		{"slice", []Order{{Item: "a"}, {Item: "b"}}, func(v any) []*Order { s := v.([]Order); return []*Order{&s[0], &s[1]} }},
		{"pointer to slice", &[]Order{{Item: "a"}, {Item: "b"}}, func(v any) []*Order { s := *v.(*[]Order); return []*Order{&s[0], &s[1]} }},
		{"slice of pointers", []*Order{{Item: "a"}, {Item: "b"}}, func(v any) []*Order { return v.([]*Order) }},
		{"slice of pointers to pointers", []**Order{pointer(&Order{Item: "a"}), pointer(&Order{Item: "b"})}, func(v any) []*Order { s := v.([]**Order); return []*Order{*s[0], *s[1]} }},
		{"array", &[2]Order{{Item: "a"}, {Item: "b"}}, func(v any) []*Order { a := v.(*[2]Order); return []*Order{&a[0], &a[1]} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				use(t, db, &Order{}, &Line{})
				for _, o := range tt.rows(tt.value) {
					o.ID = 0 // of the database before
				}
				create(t, db, tt.value)
				want := map[sqltype.ID]string{}
				for _, o := range tt.rows(tt.value) {
					requireKey(t, o.ID)
					want[o.ID] = o.Item
				}
				requireRows(t, db, want)
			})
		})
	}
}

func TestCreateInBatches(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		orders := make([]Order, 250)
		for i := range orders {
			orders[i].Item = fmt.Sprint(i)
		}
		if err := db.CreateInBatches(&orders, 100).Error; err != nil {
			t.Fatal(err)
		}
		want := map[sqltype.ID]string{}
		for i, o := range orders {
			requireKey(t, o.ID)
			if i > 0 && o.ID <= orders[i-1].ID {
				t.Fatalf("row %d has the id %d after %d, want increasing ids", i, o.ID, orders[i-1].ID)
			}
			want[o.ID] = o.Item
		}
		requireRows(t, db, want)
	})
}

func TestKeysThatAreSetAreKept(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		orders := []Order{{Item: "a"}, {ID: 50, Item: "b"}, {Item: "c"}}
		create(t, db, &orders)
		requireKey(t, orders[0].ID)
		requireKey(t, orders[2].ID)
		requireRows(t, db, map[sqltype.ID]string{orders[0].ID: "a", 50: "b", orders[2].ID: "c"})
	})
}

func TestAssociations(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		order := Order{Item: "a", Lines: []Line{{Text: "x"}, {Text: "y"}}}
		create(t, db, &order)
		var lines []Line
		if err := db.Order("text").Find(&lines).Error; err != nil {
			t.Fatal(err)
		}
		requireKey(t, order.ID)
		if !slices.Equal(lines, order.Lines) || lines[0].OrderID != order.ID {
			t.Errorf("got lines %+v of order %d, want %+v", lines, order.ID, order.Lines)
		}
		for _, line := range lines {
			requireKey(t, line.ID)
		}
	})
}

func TestPointerKey(t *testing.T) {
	type Parcel struct {
		ID   *sqltype.ID `gorm:"primaryKey"`
		Text string
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Parcel{})
		parcels := []Parcel{{}, {ID: new(sqltype.ID)}}
		create(t, db, &parcels)
		requireKey(t, *parcels[0].ID)
		requireKey(t, *parcels[1].ID)
		if n := count(t, db, &Parcel{}); n != 2 {
			t.Errorf("got %d rows, want 2", n)
		}
	})
}

func count(t *testing.T, db *gorm.DB, model any) int64 {
	t.Helper()
	var n int64
	if err := db.Model(model).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMaps(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		orders := db.Model(&Order{}).Session(&gorm.Session{})
		one := map[string]any{"Item": "a"}
		zero := map[string]any{"ID": 0, "Item": "b"}
		several := []map[string]any{{"item": "c"}, {"id": sqltype.ID(50), "item": "d"}}
		more := &[]map[string]any{{"item": "e"}, {"item": "f"}}
		names := map[string]any{"ID": 0, "id": nil, "Item": "g"} // the field's and the column's
		create(t, orders, names)
		for _, value := range []any{one, &zero, several, more} {
			create(t, orders, value)
		}
		want := map[sqltype.ID]string{50: "d"}
		for name, m := range map[string]map[string]any{"a": one, "c": several[0], "e": (*more)[0], "f": (*more)[1]} {
			want[m["id"].(sqltype.ID)] = name
		}
		want[zero["ID"].(sqltype.ID)] = "b"
		want[names["id"].(sqltype.ID)] = "g"
		for id := range want {
			if id != 50 {
				requireKey(t, id)
			}
		}
		requireRows(t, db, want)
		if len(several) != 2 || len(*more) != 2 {
			t.Errorf("got %d and %d maps back, want 2 and 2", len(several), len(*more))
		}
		if err := orders.Create([]map[string]any{nil}).Error; !errors.Is(err, gorm.ErrInvalidData) {
			t.Errorf("a nil map: got %v, want ErrInvalidData", err)
		}
	})
}

func TestColumnHasNoAutoIncrement(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		columns, err := db.Migrator().ColumnTypes(&Order{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(columns, func(c gorm.ColumnType) bool { return c.Name() == "id" })
		id := columns[i]
		if auto, ok := id.AutoIncrement(); ok && auto {
			t.Error("the column is auto-increment")
		}
		if value, ok := id.DefaultValue(); ok {
			t.Errorf("the column has the default %q", value)
		}
		if got, want := strings.ToLower(id.DatabaseTypeName()), map[string]string{"sqlite": "integer", "mysql": "bigint", "postgres": "int8"}[db.Name()]; got != want {
			t.Errorf("got the type %s, want %s", got, want)
		}
		if primary, ok := id.PrimaryKey(); !ok || !primary {
			t.Error("the column is no primary key")
		}
	})
}

func TestSecondAutoMigrateDoesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		order := Order{Item: "a"}
		create(t, db, &order)
		for _, sql := range recorded(db, func() {
			if err := db.AutoMigrate(&Order{}, &Line{}); err != nil {
				t.Error(err)
			}
		}) {
			for _, word := range []string{"ALTER", "CREATE", "DROP", "INSERT", "COMMENT"} {
				if strings.HasPrefix(strings.ToUpper(strings.TrimSpace(sql)), word) {
					t.Errorf("the second AutoMigrate ran %s", sql)
				}
			}
		}
		requireRows(t, db, map[sqltype.ID]string{order.ID: "a"})
	})
}

func TestInsertReturnsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		statements := recorded(db, func() { create(t, db, &[]Order{{Item: "a"}, {Item: "b"}}) })
		for _, sql := range statements {
			if strings.Contains(sql, "RETURNING") {
				t.Errorf("got %s, want no RETURNING", sql)
			}
		}
		if len(statements) == 0 {
			t.Error("no statement was recorded")
		}
	})
}

func TestSelectAndOmit(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		selected := Order{Item: "a"}
		create(t, db.Select("Item"), &selected)
		requireKey(t, selected.ID)
		list := append(make([]string, 0, 4), "Item")
		listed := Order{Item: "a"}
		create(t, db.Select(list), &listed)
		if list = list[:2]; list[1] != "" {
			t.Errorf("the list of columns is now %q: its spare room was written to", list)
		}
		omitted := Order{Item: "b"}
		create(t, db.Omit("Lines"), &omitted)
		requireKey(t, omitted.ID)
		requireRows(t, db, map[sqltype.ID]string{selected.ID: "a", listed.ID: "a", omitted.ID: "b"})
		own := Order{Item: "c"}
		err := db.Omit("ID").Create(&own).Error
		// Only SQLite makes a key by itself: one after the greatest.
		if (err == nil) != (db.Name() == "sqlite") {
			t.Errorf("Omit: got the error %v", err)
		}
		if n := count(t, db.Where("id = ? AND item = ?", own.ID, "c"), &Order{}); (n == 1) != (err == nil) {
			t.Errorf("Omit: got %d rows of the id %d", n, own.ID)
		}
	})
}

// Careless is a model whose hook reads the key and then loses it.
type Careless struct {
	ID   sqltype.ID
	Text string
	seen sqltype.ID
}

func (c *Careless) BeforeCreate(*gorm.DB) error {
	*c = Careless{Text: "reset", seen: c.ID}
	return nil
}

func TestHooks(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.BeforeHooks(), &Careless{})
		c := Careless{Text: "a"}
		create(t, db, &c)
		requireKey(t, c.ID)
		requireKey(t, c.seen)
		if n := count(t, db.Where("id = ? AND text = ?", c.ID, "reset"), &Careless{}); n != 1 {
			t.Errorf("got %d rows of the id %d, want 1", n, c.ID)
		}
	})
}

// Profile's key is that of the user it belongs to.
type Profile struct {
	UserID sqltype.ID `gorm:"primaryKey"`
	User   *User
}

type User struct {
	ID   sqltype.ID
	Name string
}

func TestKeyOfAnotherRowIsNotInvented(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &User{}, &Profile{})
		profile := Profile{User: &User{Name: "a"}}
		create(t, db, &profile)
		requireKey(t, profile.User.ID)
		if profile.UserID != profile.User.ID {
			t.Errorf("got the profile %d of the user %d", profile.UserID, profile.User.ID)
		}
		lone := Profile{}
		if err := db.Omit("User").Create(&lone).Error; lone.UserID != 0 {
			t.Errorf("got the invented key %d, %v", lone.UserID, err)
		}
	})
}

func TestCompositeKeys(t *testing.T) {
	type Membership struct {
		UserID  sqltype.ID `gorm:"primaryKey"`
		GroupID sqltype.ID `gorm:"primaryKey"`
	}
	type Document struct {
		Tenant int64      `gorm:"primaryKey"`
		ID     sqltype.ID `gorm:"primaryKey"`
	}
	type Plain struct {
		Tenant int64 `gorm:"primaryKey"`
		ID     int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Membership{}, &Document{}, &Plain{})
		m := Membership{UserID: 3}
		create(t, db, &m)
		if m.UserID != 3 || m.GroupID != 0 {
			t.Errorf("got %+v, want the keys untouched", m)
		}
		d := Document{Tenant: 3}
		create(t, db, &d)
		requireKey(t, d.ID)
		plain := Plain{Tenant: 3}
		create(t, db, &plain)
		if plain.ID != 0 {
			t.Errorf("got the key %d, want it untouched by AllKeys", plain.ID)
		}
	})
}

func TestEmbedded(t *testing.T) {
	type Base struct{ ID sqltype.ID }
	type ByValue struct {
		Base
		Text string
	}
	type ByPointer struct {
		*Base
		Text string
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &ByValue{}, &ByPointer{})
		value, pointer, set := ByValue{}, ByPointer{}, ByPointer{Base: &Base{ID: 50}}
		create(t, db, &value)
		create(t, db, &pointer)
		create(t, db, &set)
		requireKey(t, value.ID)
		requireKey(t, pointer.ID)
		if set.ID != 50 {
			t.Errorf("got %d, want 50", set.ID)
		}
		if err := db.Create(ByPointer{}).Error; !errors.Is(err, gorm.ErrInvalidValue) {
			t.Errorf("by value: got %v, want ErrInvalidValue", err)
		}
	})
}

// failing is a source that returns an error, or panics when that is nil.
type failing struct{ err error }

func (f failing) Next(context.Context) (int64, error) {
	if f.err == nil {
		panic("out of order")
	}
	return 0, f.err
}

func (f failing) Fill(ctx context.Context, _ []int64) error {
	_, err := f.Next(ctx)
	return err
}

func TestFailingSource(t *testing.T) {
	cause := errors.New("no keys today")
	for name, tt := range map[string]struct {
		source failing
		want   error
	}{"error": {failing{cause}, cause}, "panic": {failing{}, gormplugin.ErrSourcePanic}} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				useSource(t, db, tt.source, &Order{}, &Line{})
				pool, err := db.DB()
				if err != nil {
					t.Fatal(err)
				}
				pool.SetMaxOpenConns(1) // a connection that does not come back would block the test
				for _, value := range []any{&Order{}, []Order{{}, {}}} {
					if err := db.Create(value).Error; !errors.Is(err, tt.want) {
						t.Errorf("got %v, want %v", err, tt.want)
					}
				}
				if err := db.Model(&Order{}).Create(map[string]any{"item": "a"}).Error; !errors.Is(err, tt.want) {
					t.Errorf("map: got %v, want %v", err, tt.want)
				}
				if n := count(t, db, &Order{}); n != 0 {
					t.Errorf("got %d rows, want none", n)
				}
			})
		})
	}
}

func TestWrongValues(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		for name, tt := range map[string]struct {
			value any
			want  error
		}{
			"by value":    {Order{Item: "a"}, gorm.ErrInvalidValue},
			"nil element": {[]*Order{{Item: "a"}, nil}, gorm.ErrInvalidData},
			"empty slice": {&[]Order{}, gorm.ErrEmptySlice},
		} {
			if err := db.Create(tt.value).Error; !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
		}
		requireRows(t, db, map[sqltype.ID]string{})
	})
}

type contextKey struct{}

// asking is a source that tells what it was asked with.
type asking struct {
	idgen.Source[int64]
	ask func(ctx context.Context, n int)
}

func (a asking) Next(ctx context.Context) (int64, error) {
	a.ask(ctx, 1)
	return a.Source.Next(ctx)
}

func (a asking) Fill(ctx context.Context, keys []int64) error {
	a.ask(ctx, len(keys))
	return a.Source.Fill(ctx, keys)
}

func TestSourceIsAskedOnceAStatement(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		generator := mustGenerator(t)
		var asked []int
		useSource(t, db, asking{generator, func(ctx context.Context, n int) {
			asked = append(asked, n)
			if ctx.Value(contextKey{}) != "mine" {
				t.Error("the statement's context did not reach the source")
			}
		}}, &Order{}, &Line{})
		db = db.WithContext(context.WithValue(t.Context(), contextKey{}, "mine"))
		create(t, db, &Order{})
		create(t, db, &[]Order{{}, {ID: 5}, {}, {}})
		create(t, db, &Order{ID: 6})
		if want := []int{1, 3}; !slices.Equal(asked, want) {
			t.Errorf("got calls for %v keys, want %v", asked, want)
		}
	})
}

func TestConcurrentCreates(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					if err := db.Create(&[]Order{{}, {Lines: []Line{{}, {}}}}).Error; err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if got := count(t, db, &Order{}); got != 160 {
			t.Errorf("got %d orders, want 160", got)
		}
		if got := count(t, db, &Line{}); got != 160 {
			t.Errorf("got %d lines, want 160", got)
		}
	})
}

func TestUseWithoutSource(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Use(gormplugin.New(gormplugin.From[int64](nil))); !errors.Is(err, gormplugin.ErrNoSource) {
			t.Errorf("got %v, want ErrNoSource", err)
		}
	})
}

// Witness keeps the schema that its hooks see.
type Witness struct {
	ID       int64
	FullName string
	schemas  []*schema.Schema
}

func (w *Witness) BeforeCreate(tx *gorm.DB) error {
	w.schemas = append(w.schemas, tx.Statement.Schema)
	return nil
}

func (w *Witness) AfterCreate(tx *gorm.DB) error { return w.BeforeCreate(tx) }

// A schema of the plugin's is in the place of GORM's while the INSERT is built, and neither before nor after.
func TestHooksSeeTheSharedSchema(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Witness{})
		stmt := &gorm.Statement{DB: db}
		if err := stmt.Parse(&Witness{}); err != nil {
			t.Fatal(err)
		}
		w := Witness{}
		create(t, db, &w)
		for _, s := range w.schemas {
			if s != stmt.Schema {
				t.Error("a hook saw another schema than GORM's own")
			}
		}
		if len(w.schemas) != 2 {
			t.Errorf("got %d calls of hooks, want 2", len(w.schemas))
		}
	})
}

// GORM's naming strategy knows more names of columns than the schema does.
func TestMapsWithNamesOfTheStrategy(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Witness{})
		one, several := map[string]any{"fullName": "a"}, []map[string]any{{"fullName": "b"}, {"FullName": "c"}, {"full_name": "d"}}
		create(t, db.Model(&Witness{}), one)
		create(t, db.Model(&Witness{}), several)
		var names []string
		if err := db.Model(&Witness{}).Order("id").Pluck("full_name", &names).Error; err != nil || strings.Join(names, "") != "abcd" {
			t.Errorf("got the names %q, %v, want a, b, c, d", names, err)
		}
	})
}

func TestSharedSchemaIsNotChanged(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Order{}, &Line{})
		parse := func() *schema.Schema {
			stmt := &gorm.Statement{DB: db}
			if err := stmt.Parse(&Order{}); err != nil {
				t.Fatal(err)
			}
			return stmt.Schema
		}
		before := parse()
		key := *before.PrioritizedPrimaryField
		create(t, db, &Order{})
		after := parse()
		if after != before || after.PrioritizedPrimaryField.HasDefaultValue != key.HasDefaultValue || key.AutoIncrement {
			t.Errorf("got the key %+v, want %+v", after.PrioritizedPrimaryField, key)
		}
	})
}
