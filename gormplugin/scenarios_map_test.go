package gormplugin_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

var mapScenarios = []scenario{
	{name: "08 model and maps by value", id: mapsByValue[sqltype.ID], i64: mapsByValue[int64], uint: mapsByValue[uint], uuid: mapsByValue[sqltype.UUID], ulid: mapsByValue[sqltype.ULID], text: mapsByValue[nano]},
	{name: "09 model and pointer to maps", id: mapsByPointer[sqltype.ID], i64: mapsByPointer[int64], uint: mapsByPointer[uint], uuid: mapsByPointer[sqltype.UUID], ulid: mapsByPointer[sqltype.ULID], text: mapsByPointer[nano]},
	{name: "10 maps, one key preset, one missing", id: mapsMixed[sqltype.ID], i64: mapsMixed[int64], uint: mapsMixed[uint], uuid: mapsMixed[sqltype.UUID], ulid: mapsMixed[sqltype.ULID], text: mapsMixed[nano]},
	{name: "11 model and map", id: oneMap[sqltype.ID], i64: oneMap[int64], uint: oneMap[uint], uuid: oneMap[sqltype.UUID], ulid: oneMap[sqltype.ULID], text: oneMap[nano]},
	{name: "12 map with a zero key", id: mapZeroKey[sqltype.ID], i64: mapZeroKey[int64], uint: mapZeroKey[uint], uuid: mapZeroKey[sqltype.UUID], ulid: mapZeroKey[sqltype.ULID], text: mapZeroKey[nano]},
	{name: "13 generics Set and Create", id: genericSet[sqltype.ID], i64: genericSet[int64], uint: genericSet[uint], uuid: genericSet[sqltype.UUID], ulid: genericSet[sqltype.ULID], text: genericSet[nano]},
	{name: "14 Append of a map to many2many", id: appendMap[idClub, sqltype.ID], i64: appendMap[int64Club, int64], uint: appendMap[uintClub, uint], uuid: appendMap[uuidClub, sqltype.UUID], ulid: appendMap[ulidClub, sqltype.ULID], text: appendMap[nanoClub, nano]},
	{name: "15 source error on the map path", id: mapSourceError[sqltype.ID], i64: mapSourceError[int64], uint: mapSourceError[uint], uuid: mapSourceError[sqltype.UUID], ulid: mapSourceError[sqltype.ULID], text: mapSourceError[nano]},
	{name: "16 table and map without a model", id: tableMap[sqltype.ID], i64: tableMap[int64], uint: tableMap[uint]},
}

// mapKey returns the key in a map, and fails unless it was made, has the field's type, and is there under one name.
func mapKey[K key](t *testing.T, m map[string]any, name string) K {
	t.Helper()
	id, ok := m[name].(K)
	if !ok {
		t.Fatalf("got the map %v with %s a %T, want a %T", m, name, m[name], id)
	}
	for other := range m {
		if other != name && (strings.EqualFold(other, "id") || other == "@id") {
			t.Errorf("got %s as well as %s in the map %v", other, name, m)
		}
	}
	requireMade(t, id)
	return id
}

func mapsByValue[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	batch := []map[string]any{{"email": "a", "name": "x"}, {"Email": "b", "Name": "y"}}
	result := db.Model(&Member[K]{}).Create(batch)
	if result.Error != nil || result.RowsAffected != 2 {
		t.Fatalf("got %d rows, %v, want 2", result.RowsAffected, result.Error)
	}
	requireMembers(t, db, Member[K]{ID: mapKey[K](t, batch[0], "id"), Email: "a", Name: "x"}, Member[K]{ID: mapKey[K](t, batch[1], "id"), Email: "b", Name: "y"})
}

func mapsByPointer[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	batch := []map[string]any{{"email": "a"}, {"email": "b"}, {"email": "c"}}
	create(t, db.Model(&Member[K]{}), &batch)
	if len(batch) != 3 {
		t.Fatalf("got %d maps back: %v, want 3", len(batch), batch)
	}
	requireMembers(t, db, Member[K]{ID: mapKey[K](t, batch[0], "id"), Email: "a"},
		Member[K]{ID: mapKey[K](t, batch[1], "id"), Email: "b"}, Member[K]{ID: mapKey[K](t, batch[2], "id"), Email: "c"})
}

func mapsMixed[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	for i, make := range []func([]map[string]any) any{
		func(m []map[string]any) any { return m },
		func(m []map[string]any) any { return &m },
	} {
		batch := []map[string]any{{"id": numbered[K](50 + i), "email": "a"}, {"email": "b"}, {"id": numbered[K](60 + i), "email": "c"}}
		create(t, db.Model(&Member[K]{}), make(batch))
		if batch[0]["id"] != numbered[K](50+i) || batch[2]["id"] != numbered[K](60+i) {
			t.Errorf("got the keys %v and %v, want those of before", batch[0]["id"], batch[2]["id"])
		}
		requireMembers(t, db, Member[K]{ID: numbered[K](50 + i), Email: "a"}, Member[K]{ID: mapKey[K](t, batch[1], "id"), Email: "b"}, Member[K]{ID: numbered[K](60 + i), Email: "c"})
		if err := db.Where("1 = 1").Delete(&Member[K]{}).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func oneMap[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	value, pointer, own := map[string]any{"Email": "a"}, map[string]any{"email": "b", "name": "y"}, map[string]any{"id": numbered[K](5), "email": "c"}
	create(t, db.Model(&Member[K]{}), value)
	create(t, db.Model(&Member[K]{}), &pointer)
	create(t, db.Model(&Member[K]{}), own)
	if own["id"] != numbered[K](5) || len(own) != 2 {
		t.Errorf("got the map %v, want it as before", own)
	}
	requireMembers(t, db, Member[K]{ID: mapKey[K](t, value, "id"), Email: "a"},
		Member[K]{ID: mapKey[K](t, pointer, "id"), Email: "b", Name: "y"}, Member[K]{ID: numbered[K](5), Email: "c"})
}

func mapZeroKey[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	field, column, typed, null := map[string]any{"ID": 0, "Email": "a"}, map[string]any{"id": 0, "email": "b"},
		map[string]any{"ID": numbered[K](0), "email": "c"}, map[string]any{"id": nil, "email": "d"}
	batch := []map[string]any{{"ID": 0, "email": "e"}, {"id": numbered[K](0), "email": "f"}}
	model := db.Model(&Member[K]{}).Session(&gorm.Session{})
	for _, sql := range recorded(db, func() {
		create(t, model, field)
		create(t, model, column)
		create(t, model, &typed)
		create(t, model, null)
		create(t, model, batch)
	}) {
		columns, _, _ := strings.Cut(strings.ToLower(sql), ")")
		if n := strings.Count(strings.NewReplacer("`", `"`).Replace(columns), `"id"`); strings.HasPrefix(columns, "insert") && n != 1 {
			t.Errorf("got the key %d times in %s", n, sql)
		}
	}
	requireMembers(t, db,
		Member[K]{ID: mapKey[K](t, field, "ID"), Email: "a"}, Member[K]{ID: mapKey[K](t, column, "id"), Email: "b"},
		Member[K]{ID: mapKey[K](t, typed, "ID"), Email: "c"}, Member[K]{ID: mapKey[K](t, null, "id"), Email: "d"},
		Member[K]{ID: mapKey[K](t, batch[0], "ID"), Email: "e"}, Member[K]{ID: mapKey[K](t, batch[1], "id"), Email: "f"})
}

func genericSet[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	set := gorm.G[Member[K]](db).Set(clause.Assignment{Column: clause.Column{Name: "email"}, Value: "a"}, clause.Assignment{Column: clause.Column{Name: "name"}, Value: "x"})
	if err := set.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	var a Member[K]
	if err := db.Take(&a).Error; err != nil {
		t.Fatal(err)
	}
	requireMade(t, a.ID)
	requireMembers(t, db, Member[K]{ID: a.ID, Email: "a", Name: "x"})
}

// Club has members by a join table that GORM makes. Such a model cannot be generic itself: GORM makes the name of a field of its name.
type Club[K key] struct {
	ID      K
	Members []Member[K] `gorm:"many2many:club_members;joinForeignKey:ClubID;joinReferences:MemberID"`
}

func (c *Club[K]) self() *Club[K] { return c }

type (
	idClub    struct{ Club[sqltype.ID] }
	uuidClub  struct{ Club[sqltype.UUID] }
	ulidClub  struct{ Club[sqltype.ULID] }
	nanoClub  struct{ Club[nano] }
	int64Club struct{ Club[int64] }
	uintClub  struct{ Club[uint] }
)

// club is one of the three.
type club[C any, K key] interface {
	*C
	self() *Club[K]
}

func appendMap[C any, K key, P club[C, K]](t *testing.T, s scene) {
	db := s.use(t, &Member[K]{}, &Letter[K]{}, P(new(C)))
	c := P(new(C))
	create(t, db, c)
	one := map[string]any{"email": "a"}
	if err := db.Model(c).Association("Members").Append(one); err != nil {
		t.Fatal(err)
	}
	id := mapKey[K](t, one, "id")
	var joined []K
	if err := db.Table(db.NamingStrategy.JoinTableName("club_members")).Where("club_id = ?", c.self().ID).Pluck("member_id", &joined).Error; err != nil {
		t.Fatal(err)
	}
	if len(joined) != 1 || joined[0] != id {
		t.Errorf("got join rows of the members %d, want %d", joined, id)
	}
	requireMade(t, c.self().ID)
	requireMembers(t, db, Member[K]{ID: id, Email: "a"})
}

func mapSourceError[K key](t *testing.T, s scene) {
	cause := errors.New("no keys today")
	db := s.useOptions(t, s.open(t), []gormplugin.Option{s.failing(cause)}, &Member[K]{}, &Letter[K]{})
	one(t, db)
	model := db.Model(&Member[K]{}).Session(&gorm.Session{})
	for name, value := range map[string]any{
		"map": map[string]any{"email": "a"}, "pointer": &map[string]any{"email": "a"},
		"maps": []map[string]any{{"email": "a"}, {"email": "b"}}, "mixed": &[]map[string]any{{"id": numbered[K](5), "email": "a"}, {"email": "b"}},
	} {
		if err := model.Create(value).Error; !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want %v", name, err, cause)
		}
	}
	requireConnection(t, db)
	requireMembers[K](t, db)
	create(t, model, map[string]any{"id": numbered[K](5), "email": "a"}) // needs no source
}

func tableMap[K number](t *testing.T, s scene) {
	table := s.prefix + "members"
	db := s.useOptions(t, s.open(t), []gormplugin.Option{gormplugin.Table(table, "id")}, &Member[K]{}, &Letter[K]{})
	value, pointer := map[string]any{"email": "a"}, &map[string]any{"email": "b", "id": 0}
	batch, several := []map[string]any{{"email": "c"}, {"email": "d", "id": 50}}, &[]map[string]any{{"email": "e"}, {"email": "f"}}
	for _, v := range []any{value, pointer, batch, several} {
		create(t, db.Table(table), v)
	}
	if len(batch) != 2 || len(*several) != 2 {
		t.Errorf("got %d and %d maps back, want 2 and 2", len(batch), len(*several))
	}
	if len(batch[1]) != 2 || batch[1]["id"] != 50 {
		t.Errorf("got the map %v, want it as before", batch[1])
	}
	want := []Member[K]{{ID: numbered[K](50), Email: "d"}}
	for _, m := range []map[string]any{value, *pointer, batch[0], (*several)[0], (*several)[1]} {
		want = append(want, Member[K]{ID: K(mapKey[sqltype.ID](t, m, "id")), Email: m["email"].(string)})
	}
	requireMembers(t, db, want...)

	// A table that was not registered is not filled, whatever the database makes of that.
	other := map[string]any{"text": "x", "member_id": 3}
	_ = db.Table(s.prefix + "letters").Create(other).Error
	if _, filled := other["id"]; filled {
		t.Errorf("got the map %v of a table that was not registered, want no key", other)
	}
}
