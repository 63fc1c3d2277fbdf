package gormplugin_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/migrate/check"
	"github.com/snowkey-go/snowkey/sqltype"
)

var columnScenarios = []scenario{
	{name: "17 Select without the key", id: selectWithoutKey[sqltype.ID], i64: selectWithoutKey[int64], uint: selectWithoutKey[uint], uuid: selectWithoutKey[sqltype.UUID], ulid: selectWithoutKey[sqltype.ULID], text: selectWithoutKey[nano]},
	{name: "18 Select without the key, autoIncrement:false", id: selectNoAuto[sqltype.ID], i64: selectNoAuto[int64], uint: selectNoAuto[uint], uuid: selectNoAuto[sqltype.UUID], ulid: selectNoAuto[sqltype.ULID], text: selectNoAuto[nano]},
	{name: "19 Omit of the key", id: omitKey[sqltype.ID], i64: omitKey[int64], uint: omitKey[uint], uuid: omitKey[sqltype.UUID], ulid: omitKey[sqltype.ULID], text: omitKey[nano]},
}

var valueScenarios = []scenario{
	{name: "20 nil element", id: nilElement[sqltype.ID], i64: nilElement[int64], uint: nilElement[uint], uuid: nilElement[sqltype.UUID], ulid: nilElement[sqltype.ULID], text: nilElement[nano]},
	{name: "21 struct by value", id: byValue[sqltype.ID], i64: byValue[int64], uint: byValue[uint], uuid: byValue[sqltype.UUID], ulid: byValue[sqltype.ULID], text: byValue[nano]},
	{name: "22 narrow key", test: narrowKey},
	{name: "23 empty natural key", test: naturalKey},
	{name: "24 key that is a foreign key", id: foreignKey[sqltype.ID], i64: foreignKey[int64], uint: foreignKey[uint], uuid: foreignKey[sqltype.UUID], ulid: foreignKey[sqltype.ULID], text: foreignKey[nano]},
	{name: "25 pointer key", id: pointerKey[sqltype.ID], i64: pointerKey[int64], uint: pointerKey[uint], uuid: pointerKey[sqltype.UUID], ulid: pointerKey[sqltype.ULID], text: pointerKey[nano]},
	{name: "30 old key column", test: oldKeyColumn},
}

func selectWithoutKey[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	a, c := Member[K]{Email: "a", Name: "x", Score: 3}, Member[K]{ID: numbered[K](5), Email: "c", Name: "x", Score: 3}
	create(t, db.Select("Email", "Name"), &a)
	batch := []Member[K]{{Email: "b", Name: "x", Score: 3}, {Email: "d", Name: "x", Score: 3}}
	create(t, db.Select([]string{"email"}), &batch)
	create(t, db.Select("Email"), &c) // a key that is set is not selected either, but kept
	m := map[string]any{"email": "e", "name": "x"}
	create(t, db.Model(&Member[K]{}).Select("email"), m)
	requireMade(t, a.ID, batch[0].ID, batch[1].ID)
	requireMembers(t, db, Member[K]{ID: a.ID, Email: "a", Name: "x"}, Member[K]{ID: batch[0].ID, Email: "b"}, Member[K]{ID: batch[1].ID, Email: "d"},
		Member[K]{ID: numbered[K](5), Email: "c"}, Member[K]{ID: mapKey[K](t, m, "id"), Email: "e"})
}

// Plain says itself that its key is no auto-increment one, and is filled in by its tag all the same.
type Plain[K key] struct {
	ID   K `gorm:"primaryKey;autoIncrement:false;snowkey"`
	Text string
	Note string
}

func (Plain[K]) TableName(namer schema.Namer) string { return namer.TableName("Plain") }

func selectNoAuto[K key](t *testing.T, s scene) {
	db := s.use(t, &Plain[K]{})
	p, batch := Plain[K]{Text: "a", Note: "x"}, []*Plain[K]{{Text: "b"}, {Text: "c"}}
	create(t, db.Select("Text"), &p)
	create(t, db.Select("Text"), batch)
	requireMade(t, p.ID, batch[0].ID, batch[1].ID)
	requireKeys(t, db, &Plain[K]{}, p.ID, batch[0].ID, batch[1].ID)
	if n := count(t, db.Where("note = ?", "x"), &Plain[K]{}); n != 0 {
		t.Errorf("got %d rows with a column that was not selected, want none", n)
	}
}

// Where nothing makes a key the database refuses the row.
func omitKey[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	makes := s.auto() || s.base.Name() == "sqlite" && !s.other
	a, pointers := Member[K]{Email: "a"}, []*Member[K]{{Email: "b"}, {Email: "c"}}
	one, several := db.Omit("ID").Create(&a).Error, db.Omit("id").Create(pointers).Error
	if !makes {
		if one == nil || several == nil || a.ID != numbered[K](0) || pointers[0].ID != numbered[K](0) || pointers[1].ID != numbered[K](0) {
			t.Errorf("got the keys %d, %d and %d, %v, %v, want none and errors", a.ID, pointers[0].ID, pointers[1].ID, one, several)
		}
		requireMembers[K](t, db)
		return
	}
	if one != nil || several != nil {
		t.Fatalf("got %v and %v", one, several)
	}
	if a.ID == numbered[K](0) || sortable(a.ID) > sortable(numbered[K](100)) {
		t.Errorf("got the key %d, want the column's counter", a.ID)
	}
	requireMembers(t, db, a, *pointers[0], *pointers[1])

	made := Member[K]{Email: "d"}
	create(t, db.Omit("Name"), &made)
	requireMade(t, made.ID)
	requireMembers(t, db, a, *pointers[0], *pointers[1], made)
}

func nilElement[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	for name, value := range map[string]any{
		"middle": []*Member[K]{{Email: "a"}, nil, {Email: "b"}}, "first": &[]*Member[K]{nil, {Email: "a"}}, "only": []*Member[K]{nil},
	} {
		if err := db.Create(value).Error; !errors.Is(err, gorm.ErrInvalidData) {
			t.Errorf("%s: got %v, want ErrInvalidData", name, err)
		}
	}
	requireMembers[K](t, db)
}

func byValue[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	for name, value := range map[string]any{"struct": Member[K]{Email: "a"}, "array": [2]Member[K]{{Email: "a"}, {Email: "b"}}} {
		if err := db.Create(value).Error; !errors.Is(err, gorm.ErrInvalidValue) {
			t.Errorf("%s: got %v, want ErrInvalidValue", name, err)
		}
	}
	var nothing *Member[K]
	if err := db.Create(nothing).Error; err == nil {
		t.Error("a nil pointer: got no error")
	}
	requireMembers[K](t, db)
	own := Member[K]{ID: numbered[K](5), Email: "a"}
	create(t, db, own) // nothing is to be set
	requireMembers(t, db, own)
}

// A key with the tag is an error where it has fewer bits than the source's, and never truncated. Without the tag it is the database's, also with
// AllKeys, unless Prepare has taken that away.
func narrowKey(t *testing.T, s scene) {
	type Narrow struct {
		ID   int32
		Text string
	}
	type NarrowUnsigned struct {
		ID   uint16
		Text string
	}
	type Tagged struct {
		ID     sqltype.ID
		Number int32 `gorm:"snowkey"`
	}
	type TaggedKey struct {
		ID   uint32 `gorm:"snowkey"`
		Text string
	}
	db := s.use(t, &Narrow{}, &NarrowUnsigned{}, &Tagged{}, &TaggedKey{})
	for _, value := range []any{&Tagged{}, &TaggedKey{Text: "a"}, []TaggedKey{{}, {}}, &TaggedKey{ID: 5}} {
		if err := db.Create(value).Error; !errors.Is(err, gormplugin.ErrKey) {
			t.Errorf("%T: got %v, want ErrKey", value, err)
		}
	}
	for _, model := range []any{&Tagged{}, &TaggedKey{}} {
		if n := count(t, db, model); n != 0 {
			t.Errorf("%T: got %d rows, want none", model, n)
		}
	}
	for _, model := range []any{&Narrow{}, &NarrowUnsigned{}, &Tagged{}, &TaggedKey{}} {
		err := s.open(t).Use(gormplugin.New(gormplugin.From(newCounting(t)), gormplugin.AllKeys(), gormplugin.Prepare(model)))
		if !errors.Is(err, gormplugin.ErrKey) {
			t.Errorf("Prepare of %T: got %v, want ErrKey", model, err)
		}
	}
	without := s.open(t)
	if err := without.Use(gormplugin.New(gormplugin.From(newCounting(t)))); err != nil {
		t.Fatal(err)
	}
	var keys []int32
	for _, db := range []*gorm.DB{db, without} {
		one, batch, unsigned := Narrow{Text: "a"}, []Narrow{{}, {}}, NarrowUnsigned{}
		create(t, db, &one)
		create(t, db, &batch)
		create(t, db, &unsigned)
		if unsigned.ID == 0 {
			t.Error("got no key of the database")
		}
		keys = append(keys, one.ID, batch[0].ID, batch[1].ID)
	}
	requireKeys(t, without, &Narrow{}, keys...)
}

func naturalKey(t *testing.T, s scene) {
	type Country struct {
		Code string `gorm:"primaryKey;size:2"`
		Name string
	}
	type Setting struct {
		ID    string `gorm:"size:64"`
		Value string
	}
	db := s.use(t, &Country{}, &Setting{})
	country, setting := Country{Name: "nowhere"}, Setting{Value: "v"}
	create(t, db, &country)
	create(t, db, &setting)
	create(t, db, &[]Country{{Code: "fr"}, {Code: "de"}})
	if country.Code != "" || setting.ID != "" {
		t.Errorf("got the keys %q and %q, want them untouched", country.Code, setting.ID)
	}
	var codes []string
	if err := db.Model(&Country{}).Order("code").Pluck("code", &codes).Error; err != nil || !slices.Equal(codes, []string{"", "de", "fr"}) {
		t.Errorf("got the keys %q, %v, want the empty one, de and fr", codes, err)
	}
	if n := count(t, db.Where("id = ?", ""), &Setting{}); n != 1 {
		t.Errorf("got %d settings of the empty key, want 1", n)
	}
}

// Passport's key is that of the member who holds it.
type Passport[K key] struct {
	MemberID K          `gorm:"primaryKey;autoIncrement:false"`
	Member   *Member[K] `gorm:"constraint:-"`
	Number   string
}

func (Passport[K]) TableName(namer schema.Namer) string { return namer.TableName("Passport") }

func foreignKey[K key](t *testing.T, s scene) {
	db := s.use(t, &Member[K]{}, &Letter[K]{}, &Passport[K]{})
	p := Passport[K]{Member: &Member[K]{Email: "a"}, Number: "1"}
	create(t, db, &p)
	requireMade(t, p.MemberID)
	if p.MemberID != p.Member.ID {
		t.Errorf("got the passport of member %d, want %d", p.MemberID, p.Member.ID)
	}
	lone := Passport[K]{Number: "2"}
	create(t, db, &lone)
	requireKeys(t, db, &Passport[K]{}, numbered[K](0), p.MemberID)
	if lone.MemberID != numbered[K](0) {
		t.Errorf("got the invented key %d", lone.MemberID)
	}
	requireMembers(t, db, *p.Member)
}

type Parcel[K key] struct {
	ID   *K `gorm:"primaryKey"`
	Text string
}

func (Parcel[K]) TableName(namer schema.Namer) string { return namer.TableName("Parcel") }

func pointerKey[K key](t *testing.T, s scene) {
	db := s.use(t, &Parcel[K]{})
	zero, five := new(K), numbered[K](5)
	parcels := []Parcel[K]{{}, {ID: zero}, {ID: &five}}
	create(t, db, &parcels)
	single := Parcel[K]{ID: new(K)}
	create(t, db, &single)
	if parcels[0].ID == nil || parcels[1].ID == nil || *parcels[2].ID != numbered[K](5) || five != numbered[K](5) {
		t.Fatalf("got %v, want keys, the last one 5", parcels)
	}
	requireMade(t, *parcels[0].ID, *parcels[1].ID, *single.ID)
	requireKeys(t, db, &Parcel[K]{}, *parcels[0].ID, *parcels[1].ID, numbered[K](5), *single.ID)
	m := map[string]any{"text": "a"}
	create(t, db.Model(&Parcel[K]{}), m)
	if n := count(t, db.Where("id = ?", m["id"]), &Parcel[K]{}); n != 1 {
		t.Errorf("got %d rows of the map %v, want 1", n, m)
	}
}

// A column of 32 bits refuses the key, and nothing is written; SQLite's has room. The check at the start finds all of them.
func oldKeyColumn(t *testing.T, s scene) {
	type Ledger struct {
		ID   int64
		Text string
	}
	db := s.open(t)
	table := s.prefix + "ledgers"
	if err := db.Exec("CREATE TABLE " + table + map[string]string{
		"mysql":    " (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, text VARCHAR(64))",
		"postgres": " (id SERIAL PRIMARY KEY, text VARCHAR(64))",
		"sqlite":   " (id INTEGER PRIMARY KEY AUTOINCREMENT, text VARCHAR(64))",
	}[db.Name()]).Error; err != nil {
		t.Fatal(err)
	}
	create(t, db, &Ledger{Text: "before"})
	db = s.useOptions(t, db, nil)
	findings, err := check.Models(t.Context(), db, db.Plugins["snowkey"].(*gormplugin.Plugin), &Ledger{})
	if err != nil {
		t.Fatal(err)
	}
	want := []check.Kind{check.NarrowKey, check.AutoIncrement}
	if db.Name() == "sqlite" {
		want = want[1:]
	}
	for _, kind := range want {
		if !slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Kind == kind && f.Column == "id" }) {
			t.Errorf("got the findings %v, want %s of id", findings, kind)
		}
	}
	for _, value := range []any{&Ledger{Text: "a"}, &[]Ledger{{Text: "b"}, {Text: "c"}}} {
		err := db.Create(value).Error
		if (err == nil) != (db.Name() == "sqlite") {
			t.Errorf("got %v", err)
		}
		if err != nil && !strings.Contains(err.Error(), "range") && !strings.Contains(err.Error(), "greater than maximum") {
			t.Errorf("got %v, want the database to say what does not fit", err)
		}
	}
	rows := map[string]int64{"mysql": 1, "postgres": 1, "sqlite": 4}[db.Name()]
	if n := count(t, db, &Ledger{}); n != rows {
		t.Errorf("got %d rows, want %d", n, rows)
	}
	if n := count(t, db.Where("id BETWEEN 2 AND 2147483647"), &Ledger{}); n != 0 {
		t.Errorf("got %d truncated keys", n)
	}
}
