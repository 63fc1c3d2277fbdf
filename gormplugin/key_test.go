package gormplugin_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/uid"
)

// octets is a source of keys of bytes: each is the text "key" and a number.
type octets[K [12]byte | [16]byte] struct{ made *int }

func (o octets[K]) Next(ctx context.Context) (K, error) {
	keys := make([]K, 1)
	err := o.Fill(ctx, keys)
	return keys[0], err
}

func (o octets[K]) Fill(_ context.Context, keys []K) error {
	for i := range keys {
		*o.made++
		reflect.Copy(reflect.ValueOf(&keys[i]).Elem(), reflect.ValueOf(fmt.Appendf(nil, "key%09d", *o.made)))
	}
	return nil
}

type userKey int64

// exactText is a text in a column that tells large letters from small ones.
type exactText string

func (exactText) GormDBDataType(db *gorm.DB, _ *schema.Field) string {
	if db.Name() == "mysql" {
		return "varchar(40) COLLATE ascii_bin"
	}
	return "varchar(40)"
}

func TestTextsThatDifferInCase(t *testing.T) {
	type Loose struct {
		ID string `gorm:"primaryKey;size:40;snowkey:,base62"`
	}
	type Exact struct {
		ID exactText `gorm:"primaryKey;snowkey:,base62"`
	}
	type LooseNano struct {
		ID string `gorm:"primaryKey;size:40;snowkey:nano"`
	}
	nano, err := uid.NanoID(uid.NanoIDAlphabet, 21)
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Loose{}, &Exact{}, &LooseNano{}, gormplugin.Named("nano", nano))
		want := map[string]error{"mysql": gormplugin.ErrKey}[db.Name()]
		if err := db.Create(&Loose{}).Error; !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		create(t, db, &[]Exact{{}, {}})
		if err := db.Create(&LooseNano{}).Error; !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	})
}

// A text with the date is one of the source's layout, also where a grant makes the keys.
func TestTextWithDate(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		type Invoice struct {
			ID     sqltype.ID
			Number string `gorm:"size:40;uniqueIndex;snowkey:,RE-{date+01:00}"`
		}
		plugin := granted(t, db)
		if err := db.AutoMigrate(&Invoice{}); err != nil {
			t.Fatal(err)
		}
		invoices := make([]Invoice, 3)
		create(t, db, &invoices)
		form, err := idgen.ParseTextForm("RE-{date+01:00}", plugin.Layout())
		if err != nil {
			t.Fatal(err)
		}
		for _, invoice := range invoices {
			id, err := form.Parse(invoice.Number)
			if err != nil || time.Since(sqltype.ID(id).Time()).Abs() > time.Hour {
				t.Errorf("%+v: got the number %d and the error %v, want one of now", invoice, id, err)
			}
		}
	})
}

func TestKinds(t *testing.T) {
	ticket := func(v any) error { // one of the counter
		if s := fmt.Sprint(v); s < "1000" || s > "1009" {
			return fmt.Errorf("got %s, want a number from 1000", s)
		}
		return nil
	}
	text := func(encoding idgen.Encoding) func(any) error {
		return func(v any) error {
			id, err := encoding.Parse(fmt.Sprint(v))
			if err != nil {
				return err
			}
			return ticket(id)
		}
	}
	prefix := func(want string) func(any) error {
		return func(v any) error {
			if s := fmt.Sprintf("%s", v); !strings.HasPrefix(s, want) {
				return fmt.Errorf("got %q, want it to begin with %q", s, want)
			}
			return nil
		}
	}
	own, err := idgen.NewEncoding("9qwx7ert")
	if err != nil {
		t.Fatal(err)
	}
	nano, err := uid.NanoID(uid.NanoIDAlphabet, 21)
	if err != nil {
		t.Fatal(err)
	}
	hexOf := hex.EncodeToString([]byte("key0"))
	for name, tt := range map[string]struct {
		model any // a pointer to a struct whose first field is the key
		check func(any) error
	}{
		"int64": {new(struct {
			ID int64 `gorm:"primaryKey;snowkey:tickets"`
		}), ticket},
		"uint64": {new(struct {
			ID uint64 `gorm:"primaryKey;snowkey:tickets"`
		}), ticket},
		"int": {new(struct {
			ID int `gorm:"primaryKey;snowkey:tickets"`
		}), ticket},
		"uint": {new(struct {
			ID uint `gorm:"primaryKey;snowkey:tickets"`
		}), ticket},
		"named": {new(struct {
			ID userKey `gorm:"primaryKey;snowkey:tickets"`
		}), ticket},
		"id": {new(struct {
			ID sqltype.ID `gorm:"primaryKey;snowkey:tickets"`
		}), ticket},
		"text": {new(struct {
			ID string `gorm:"primaryKey;size:40;snowkey:tickets"`
		}), text(idgen.Decimal)},
		"base32": {new(struct {
			ID string `gorm:"primaryKey;size:40;snowkey:tickets,base32"`
		}), text(idgen.Base32)},
		"base58": {new(struct {
			ID exactText `gorm:"primaryKey;size:40;snowkey:tickets,base58"`
		}), text(idgen.Base58)},
		"an alphabet": {new(struct {
			ID string `gorm:"primaryKey;size:40;snowkey:tickets,alphabet=9qwx7ert"`
		}), text(own)},
		"uuid": {new(struct {
			ID uuid.UUID `gorm:"primaryKey;type:char(36);snowkey:uuid"`
		}), prefix(hexOf + "-3030")},
		"uuid as text": {new(struct {
			ID string `gorm:"primaryKey;size:40;snowkey:uuid"`
		}), prefix(hexOf + "-3030")},
		"uuid as bytes": {new(struct {
			ID []byte `gorm:"primaryKey;size:16;snowkey:uuid"`
		}), prefix("key0")},
		"object as text": {new(struct {
			ID string `gorm:"primaryKey;size:40;snowkey:object"`
		}), prefix(hexOf + "3030")},
		"object as bytes": {new(struct {
			ID []byte `gorm:"primaryKey;size:16;snowkey:object"`
		}), prefix("key0")},
		"text of the source": {new(struct {
			ID exactText `gorm:"primaryKey;size:40;snowkey:nano"`
		}), prefix("")},
		"pointer to a text of the source": {new(struct {
			ID *exactText `gorm:"primaryKey;size:40;snowkey:nano"`
		}), prefix("")},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				made := 0
				use(t, db, gormplugin.Named("tickets", &counter{last: 999}), gormplugin.Named("uuid", octets[[16]byte]{&made}), gormplugin.Named("object", octets[[12]byte]{&made}),
					gormplugin.Named("nano", nano))
				db = db.Table("things").Session(&gorm.Session{})
				migrate(t, db, tt.model)
				key := func(model reflect.Value) any { return reflect.Indirect(model).Field(0).Interface() }
				one := reflect.New(reflect.TypeOf(tt.model).Elem())
				many := reflect.MakeSlice(reflect.SliceOf(one.Type().Elem()), 3, 3)
				create(t, db, one.Interface())
				create(t, db, many.Interface())
				seen := map[string]bool{}
				for _, row := range []reflect.Value{one, many.Index(0), many.Index(1), many.Index(2)} {
					if err := tt.check(key(row)); err != nil {
						t.Error(err)
					}
					seen[fmt.Sprint(key(row))] = true
					read := reflect.New(one.Type().Elem())
					if err := db.Where("id = ?", key(row)).Take(read.Interface()).Error; err != nil || !reflect.DeepEqual(read.Elem().Interface(), reflect.Indirect(row).Interface()) {
						t.Errorf("got the row %v, %v, want %v", read.Elem(), err, reflect.Indirect(row))
					}
				}
				if len(seen) != 4 {
					t.Errorf("got the keys %v, want 4", seen)
				}
			})
		})
	}
}

// counter is a source that counts.
type counter struct{ last int64 }

func (c *counter) Next(context.Context) (int64, error) {
	c.last++
	return c.last, nil
}

func (c *counter) Fill(ctx context.Context, keys []int64) error {
	for i := range keys {
		keys[i], _ = c.Next(ctx)
	}
	return nil
}

func TestTagBesideTheKey(t *testing.T) {
	type Invoice struct {
		ID     sqltype.ID
		Number *int64 `gorm:"snowkey:numbers;uniqueIndex"`
		Left   int64  `gorm:"snowkey:-"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), gormplugin.Named("numbers", &counter{}), &Invoice{})
		zero := new(int64)
		invoices := []Invoice{{}, {Number: zero}, {Number: zero}}
		create(t, db, &invoices)
		for i, invoice := range invoices {
			requireKey(t, invoice.ID)
			if *invoice.Number != int64(i+1) || invoice.Left != 0 {
				t.Errorf("got the number %d and %d, want %d and 0", *invoice.Number, invoice.Left, i+1)
			}
		}
		if *zero != 0 {
			t.Error("what two rows point to was written to")
		}
	})
}

// tenKeys are keys to embed, with a prefix for those of each field.
type tenKeys struct {
	A, B, C, D, E, F, G, H, I, J int64 `gorm:"snowkey"`
}

// TestMostKeys fills as many keys of one row as a model may have, and takes all of them back.
func TestMostKeys(t *testing.T) {
	type Crowded struct {
		ID int64   `gorm:"primaryKey;snowkey"`
		A  tenKeys `gorm:"embedded;embeddedPrefix:a_"`
		B  tenKeys `gorm:"embedded;embeddedPrefix:b_"`
		C  tenKeys `gorm:"embedded;embeddedPrefix:c_"`
		Z  int64   `gorm:"snowkey;uniqueIndex"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Crowded{})
		rows := []Crowded{{}, {A: tenKeys{J: 5}, Z: 7}}
		create(t, db, &rows)
		for i, row := range rows {
			seen := map[int64]bool{row.ID: true, row.Z: true}
			for _, ten := range []tenKeys{row.A, row.B, row.C} {
				for field := range reflect.TypeFor[tenKeys]().NumField() {
					seen[reflect.ValueOf(ten).Field(field).Int()] = true
				}
			}
			if len(seen) != 32 || seen[0] || i == 1 && (row.A.J != 5 || row.Z != 7) {
				t.Errorf("row %d: got %+v, want 32 keys", i, row)
			}
		}
		again := []Crowded{{}, {A: tenKeys{J: 5}, Z: 7}}
		if err := db.Create(&again).Error; err == nil || again[0] != (Crowded{}) || again[1] != (Crowded{A: tenKeys{J: 5}, Z: 7}) {
			t.Errorf("got %v and %+v, want an error and the rows as they were", err, again)
		}
	})
}

func TestKeysThatCannotBeFilled(t *testing.T) {
	nano, err := uid.NanoID(uid.NanoIDAlphabet, 21)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		model any
		want  error
		text  string
	}{
		"int32": {&struct {
			ID int32 `gorm:"primaryKey;snowkey"`
		}{}, gormplugin.ErrKey, "int32"},
		"uint32": {&struct {
			ID uint32 `gorm:"snowkey"`
		}{}, gormplugin.ErrKey, "its type is uint32"},
		"float64": {&struct {
			ID float64 `gorm:"primaryKey;snowkey"`
		}{}, gormplugin.ErrKey, "float64"},
		"form": {&struct {
			ID int64 `gorm:"primaryKey;snowkey:,base32"`
		}{}, gormplugin.ErrKey, "base32"},
		"date of a source without a layout": {&struct {
			ID string `gorm:"primaryKey;snowkey:tickets,{date}"`
		}{}, gormplugin.ErrKey, "needs the layout"},
		"unknown form": {&struct {
			ID string `gorm:"primaryKey;snowkey:,base33"`
		}{}, gormplugin.ErrKey, "base33"},
		"form of bytes": {&struct {
			ID string `gorm:"primaryKey;snowkey:uuid,hex"`
		}{}, gormplugin.ErrKey, "hex"},
		"source": {&struct {
			ID int64 `gorm:"primaryKey;snowkey:nobody"`
		}{}, gormplugin.ErrNoSource, `"nobody"`},
		"width": {&struct {
			ID int64 `gorm:"primaryKey;snowkey:uuid"`
		}{}, gormplugin.ErrKey, "[16]byte"},
		"a number of texts": {&struct {
			ID int64 `gorm:"primaryKey;snowkey:nano"`
		}{}, gormplugin.ErrKey, "the source makes texts"},
		"form of texts": {&struct {
			ID string `gorm:"primaryKey;snowkey:nano,hex"`
		}{}, gormplugin.ErrKey, "hex"},
		"octets": {&struct {
			ID []byte `gorm:"primaryKey;snowkey"`
		}{}, gormplugin.ErrKey, "[]uint8"},
		"too many": {&struct {
			ID   sqltype.ID
			A    tenKeys `gorm:"embedded;embeddedPrefix:a_"`
			B    tenKeys `gorm:"embedded;embeddedPrefix:b_"`
			C    tenKeys `gorm:"embedded;embeddedPrefix:c_"`
			D, E int64   `gorm:"snowkey"`
		}{}, gormplugin.ErrKey, "33 fields to fill, at most 32"},
		"belongs to": {&struct {
			UserID sqltype.ID `gorm:"primaryKey;snowkey"`
			User   User
		}{}, gormplugin.ErrKey, "refers"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				made := 0
				use(t, db, gormplugin.AllKeys(), gormplugin.Named("uuid", octets[[16]byte]{&made}), gormplugin.Named("nano", nano), gormplugin.Named("tickets", &counter{}))
				for range 2 {
					if err := db.Table("things").Create(tt.model).Error; !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
						t.Errorf("got %v, want %v that names %s", err, tt.want, tt.text)
					}
				}
				err := db.Session(&gorm.Session{}).Use(gormplugin.New())
				if !errors.Is(err, gorm.ErrRegistered) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestBadOptions(t *testing.T) {
	made := 0
	named := gormplugin.Named("orders", &counter{})
	for name, tt := range map[string]struct {
		options []gormplugin.Option
		want    error
	}{
		"nil":            {[]gormplugin.Option{gormplugin.From[int64](nil)}, gormplugin.ErrNoSource},
		"named nil":      {[]gormplugin.Option{gormplugin.Named[[16]byte]("x", nil)}, gormplugin.ErrNoSource},
		"empty name":     {[]gormplugin.Option{gormplugin.Named("", &counter{})}, gormplugin.ErrNoSource},
		"name of a list": {[]gormplugin.Option{gormplugin.Named("a,b", &counter{})}, gormplugin.ErrNoSource},
		"reserved name":  {[]gormplugin.Option{gormplugin.Named("snowkey", &counter{})}, gormplugin.ErrNoSource},
		"twice":          {[]gormplugin.Option{named, named}, gormplugin.ErrNoSource},
		"no column":      {[]gormplugin.Option{gormplugin.Table("orders", "")}, gormplugin.ErrKey},
		"two settings":   {[]gormplugin.Option{gormplugin.Table("orders", "id", "a", "b")}, gormplugin.ErrKey},
		"table's source": {[]gormplugin.Option{gormplugin.Table("orders", "id", "nobody")}, gormplugin.ErrNoSource},
		"not filled":     {[]gormplugin.Option{gormplugin.Prepare(&PlainBox{})}, gormplugin.ErrKey},
		"narrow":         {[]gormplugin.Option{gormplugin.AllKeys(), gormplugin.Prepare(&struct{ ID int32 }{})}, gormplugin.ErrKey},
		"no model":       {[]gormplugin.Option{gormplugin.Prepare(7)}, gorm.ErrInvalidData},
		"fine":           {[]gormplugin.Option{named, gormplugin.Named("uuid", octets[[16]byte]{&made}), gormplugin.Table("orders", "id", "orders"), nil}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				options := append([]gormplugin.Option{gormplugin.From(&counter{})}, tt.options...)
				err := db.Use(gormplugin.New(options...))
				if tt.want == nil && err != nil || tt.want != nil && err == nil || tt.want != nil && !errors.Is(err, tt.want) && name != "no model" {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestTablesWithoutModel(t *testing.T) {
	nano, err := uid.NanoID(uid.NanoIDAlphabet, 21)
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		made := 0
		use(t, db, &Order{}, &Line{},
			gormplugin.Named("uuid", octets[[16]byte]{&made}), gormplugin.Named("tickets", &counter{}),
			gormplugin.Table("orders", "id"), gormplugin.Table("texts", "id", "uuid"), gormplugin.Table("forms", "key", "tickets,base32"),
			gormplugin.Named("nano", nano), gormplugin.Table("nanos", "id", "nano"))
		for _, table := range []string{"texts", "forms", "nanos"} {
			if err := db.Exec("CREATE TABLE " + table + " (id varchar(40), " + map[bool]string{true: "`key`", false: `"key"`}[db.Name() == "mysql"] + " varchar(40))").Error; err != nil {
				t.Fatal(err)
			}
		}
		one := map[string]any{"item": "a"}
		many := []map[string]any{{"item": "b"}, {"item": "c", "id": 50}}
		create(t, db.Table("orders"), one)
		create(t, db.Table("orders"), &many)
		requireKey(t, one["id"].(sqltype.ID))
		requireKey(t, many[0]["id"].(sqltype.ID))
		requireRows(t, db, map[sqltype.ID]string{one["id"].(sqltype.ID): "a", many[0]["id"].(sqltype.ID): "b", 50: "c"})
		if len(one) != 2 || len(many) != 2 || len(many[0]) != 2 || len(many[1]) != 2 {
			t.Errorf("got %v and %v back, want what was inserted", one, many)
		}
		short := map[string]any{}
		create(t, db.Table("nanos"), short)
		if id, ok := short["id"].(string); !ok || len(id) != 21 {
			t.Errorf("got %v, want a NanoID", short)
		}
		text, form := map[string]any{}, map[string]any{"id": "x"}
		create(t, db.Table("texts"), text)
		create(t, db.Table("forms"), form)
		if want := "6b657930-3030-3030-3030-303100000000"; text["id"] != want {
			t.Errorf("got %v, want the id %s", text, want)
		}
		if want, _ := idgen.Base32.Encode(1); form["key"] != want || form["id"] != "x" {
			t.Errorf("got %v, want the key %s", form, want)
		}
	})
}

// TestAllocations counts what the plugin allocates beside GORM, which reaches no database here.
func TestAllocations(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		measure := func(db *gorm.DB, id sqltype.ID, n int) float64 {
			db = db.Session(&gorm.Session{DryRun: true, Logger: silent{}})
			rows := make([]Order, n)
			return testing.AllocsPerRun(100, func() {
				for i := range rows {
					rows[i].ID = id
				}
				_ = db.Create(&rows).Error
			})
		}
		alone := map[int]float64{1: measure(db, 50, 1), 1000: measure(db, 50, 1000)}
		use(t, db)
		for n, alone := range alone {
			if with := measure(db, 0, n); with > alone+3 {
				t.Errorf("%d rows: got %.0f allocations with the plugin and %.0f without, want three more at most", n, with, alone)
			}
		}
	})
}
