package gormplugin_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// The models by which GORM's own tests know its associations, with a base M whose keys are K: gorm.Model, or that of the plugin. A
// person P is a model of its own with a name of its own, since GORM makes names of fields of it.

// Person has an account and pets, owns toys, belongs to a company and a manager, leads a team, speaks languages and has friends.
type Person[P, M any, K number] struct {
	Base      M      `gorm:"embedded"`
	Name      string `gorm:"size:64;uniqueIndex"`
	Age       int
	Account   Account[M, K]   `gorm:"foreignKey:PersonID"`
	Pets      []*Pet[M, K]    `gorm:"foreignKey:PersonID"`
	Toys      []Trinket[M, K] `gorm:"polymorphic:Owner"`
	CompanyID *K
	Company   Company[M, K]
	ManagerID *K
	Manager   *P
	Team      []P        `gorm:"foreignKey:ManagerID"`
	Languages []Language `gorm:"many2many:person_speaks;joinForeignKey:PersonID;joinReferences:LanguageCode"`
	Friends   []*P       `gorm:"many2many:person_friends;joinForeignKey:PersonID;joinReferences:FriendID"`
}

func (p *Person[P, M, K]) self() *Person[P, M, K] { return p }

type Account[M any, K number] struct {
	Base     M `gorm:"embedded"`
	PersonID *K
	Number   string
}

type Pet[M any, K number] struct {
	Base     M `gorm:"embedded"`
	PersonID *K
	Name     string
	Toy      Trinket[M, K] `gorm:"polymorphic:Owner"`
}

type Trinket[M any, K number] struct {
	Base      M `gorm:"embedded"`
	Name      string
	OwnerID   K
	OwnerType string `gorm:"size:64"`
}

type Company[M any, K number] struct {
	Base M `gorm:"embedded"`
	Name string
}

// Language has a natural key.
type Language struct {
	Code string `gorm:"primaryKey;size:8"`
	Name string
}

func (Account[M, K]) TableName(namer schema.Namer) string { return namer.TableName("Account") }
func (Pet[M, K]) TableName(namer schema.Namer) string     { return namer.TableName("Pet") }
func (Trinket[M, K]) TableName(namer schema.Namer) string { return namer.TableName("Trinket") }
func (Company[M, K]) TableName(namer schema.Namer) string { return namer.TableName("Company") }

type (
	gormPerson struct { // gorm.Model, with AllKeys
		Person[gormPerson, gorm.Model, uint]
	}
	snowPerson struct { // the plugin's
		Person[snowPerson, gormplugin.Model, sqltype.ID]
	}
)

type person[P, M any, K number] interface {
	*P
	self() *Person[P, M, K]
}

// idOf returns the key in a base.
func idOf(base any) int64 {
	switch base := base.(type) {
	case gorm.Model:
		return int64(base.ID)
	case gormplugin.Model:
		return base.ID.Int64()
	}
	return 0
}

// requireID fails unless the bases have keys that the plugin made.
func requireID[M any](t *testing.T, bases ...M) {
	t.Helper()
	for _, b := range bases {
		requireMade(t, idOf(b))
	}
}

// TestRelations runs everything on each base, gorm.Model's on tables that are auto-increment still and on ones without.
func TestRelations(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		for i, sc := range []scenario{
			{name: "nested", id: nested[snowPerson, gormplugin.Model, sqltype.ID], uint: nested[gormPerson, gorm.Model, uint]},
			{name: "batch", id: nestedBatch[snowPerson, gormplugin.Model, sqltype.ID], uint: nestedBatch[gormPerson, gorm.Model, uint]},
			{name: "association mode", id: associationMode[snowPerson, gormplugin.Model, sqltype.ID], uint: associationMode[gormPerson, gorm.Model, uint]},
			{name: "many to many", id: manyToMany[snowPerson, gormplugin.Model, sqltype.ID], uint: manyToMany[gormPerson, gorm.Model, uint]},
			{name: "full save", id: fullSave[snowPerson, gormplugin.Model, sqltype.ID], uint: fullSave[gormPerson, gorm.Model, uint]},
			{name: "single rows", id: singleRows[snowPerson, gormplugin.Model, sqltype.ID], uint: singleRows[gormPerson, gorm.Model, uint]},
		} {
			for j, kind := range []struct {
				name string
				test func(*testing.T, scene)
				scene
			}{
				{"gormplugin.Model", sc.id, scene{}},
				{"gorm.Model on auto-increment", sc.uint, scene{all: true}},
				{"gorm.Model", sc.uint, scene{all: true, prepared: true}},
			} {
				t.Run(sc.name+"/"+kind.name, func(t *testing.T) {
					kind.base, kind.prefix = db, fmt.Sprintf("r%d%d_", i, j)
					kind.test(t, kind.scene)
				})
			}
		}
	})
}

// usePeople makes the tables.
func usePeople[P, M any, K number](t *testing.T, s scene) *gorm.DB {
	t.Helper()
	return s.use(t, &Company[M, K]{}, &Language{}, new(P), &Account[M, K]{}, &Pet[M, K]{}, &Trinket[M, K]{})
}

// rich returns a person with the rows of everything that it has.
func rich[P, M any, K number, Q person[P, M, K]](name string) *P {
	p := new(P)
	*Q(p).self() = Person[P, M, K]{
		Name: name, Account: Account[M, K]{Number: name + "'s"}, Company: Company[M, K]{Name: name + " and sons"},
		Pets:      []*Pet[M, K]{{Name: "cat", Toy: Trinket[M, K]{Name: "ball"}}, {Name: "dog", Toy: Trinket[M, K]{Name: "bone"}}},
		Toys:      []Trinket[M, K]{{Name: "kite"}, {Name: "drum"}},
		Languages: []Language{{Code: "de", Name: "Deutsch"}, {Code: "fr", Name: "français"}},
	}
	return p
}

// requireStored fails unless all rows of a person are there and hang together, and returns its bases.
func requireStored[P, M any, K number, Q person[P, M, K]](t *testing.T, db *gorm.DB, want *P) {
	t.Helper()
	w := Q(want).self()
	requireID(t, w.Base)
	got := new(P)
	if err := db.Preload("Account").Preload("Company").Preload("Pets", by("id")).Preload("Pets.Toy").Preload("Toys", by("id")).
		Preload("Languages", func(db *gorm.DB) *gorm.DB { return db.Order("code") }).Preload("Manager").Preload("Team", by("id")).Preload("Friends", by("id")).
		Take(got, "id = ?", idOf(w.Base)).Error; err != nil {
		t.Fatal(err)
	}
	g := Q(got).self()
	same := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s of %s: got %v, want %v", what, w.Name, got, want)
		}
	}
	same("name", g.Name, w.Name)
	if w.Account.Number != "" {
		requireID(t, w.Account.Base)
		same("account", idOf(g.Account.Base), idOf(w.Account.Base))
		same("account's person", int64(*g.Account.PersonID), idOf(w.Base))
	}
	if w.Company.Name != "" {
		requireID(t, w.Company.Base)
		same("company", idOf(g.Company.Base), idOf(w.Company.Base))
		same("company's key", int64(*g.CompanyID), idOf(w.Company.Base))
	}
	same("pets", len(g.Pets), len(w.Pets))
	for i, pet := range w.Pets {
		requireID(t, pet.Base, pet.Toy.Base)
		same("pet", idOf(g.Pets[i].Base), idOf(pet.Base))
		same("pet's toy", idOf(g.Pets[i].Toy.Base), idOf(pet.Toy.Base))
		same("owner of the toy", int64(g.Pets[i].Toy.OwnerID), idOf(pet.Base))
	}
	same("toys", len(g.Toys), len(w.Toys))
	for i, toy := range w.Toys {
		requireID(t, toy.Base)
		same("toy", idOf(g.Toys[i].Base), idOf(toy.Base))
		same("owner", int64(g.Toys[i].OwnerID), idOf(w.Base))
	}
	same("languages", fmt.Sprint(g.Languages), fmt.Sprint(w.Languages))
	same("team", len(g.Team), len(w.Team))
	for i := range w.Team {
		member := Q(&w.Team[i]).self()
		requireID(t, member.Base)
		same("member of the team", idOf(Q(&g.Team[i]).self().Base), idOf(member.Base))
	}
	same("friends", len(g.Friends), len(w.Friends))
	for i := range w.Friends {
		friend := Q(w.Friends[i]).self()
		requireID(t, friend.Base)
		same("friend", idOf(Q(g.Friends[i]).self().Base), idOf(friend.Base))
	}
	same("manager", g.Manager == nil, w.Manager == nil)
	if w.Manager != nil {
		requireID(t, Q(w.Manager).self().Base)
		same("manager", idOf(Q(g.Manager).self().Base), idOf(Q(w.Manager).self().Base))
	}
}

// lone returns a person with nothing but a name. GORM's Append writes no more of one either.
func lone[P, M any, K number, Q person[P, M, K]](name string) *P {
	p := new(P)
	Q(p).self().Name = name
	return p
}

// requireUnique fails unless the keys of each table that has some were made by the plugin, none twice in all of them. Languages have none.
func requireUnique[P, M any, K number](t *testing.T, db *gorm.DB, people int) {
	t.Helper()
	seen := map[K]bool{}
	for _, model := range []any{new(P), &Account[M, K]{}, &Pet[M, K]{}, &Trinket[M, K]{}, &Company[M, K]{}} {
		var keys []K
		if err := db.Unscoped().Model(model).Pluck("id", &keys).Error; err != nil {
			t.Fatal(err)
		}
		if _, is := model.(*P); is && len(keys) != people {
			t.Errorf("got %d people, want %d", len(keys), people)
		}
		requireMade(t, keys...)
		for _, k := range keys {
			if seen[k] {
				t.Errorf("%T: got the key %d twice", model, k)
			}
			seen[k] = true
		}
	}
}

func nested[P, M any, K number, Q person[P, M, K]](t *testing.T, s scene) {
	db := usePeople[P, M, K](t, s)
	ada := rich[P, M, K, Q]("ada")
	a := Q(ada).self()
	a.Manager = rich[P, M, K, Q]("boss")
	a.Team = []P{*rich[P, M, K, Q]("one"), *rich[P, M, K, Q]("two")}
	a.Friends = []*P{rich[P, M, K, Q]("ben"), rich[P, M, K, Q]("cleo")}
	create(t, db, ada)
	requireStored[P, M, K, Q](t, db, ada)
	for _, other := range []*P{a.Manager, &a.Team[0], &a.Team[1], a.Friends[0], a.Friends[1]} {
		o := Q(other).self()
		if boss := Q(a.Manager).self(); o.Name == boss.Name {
			o.Team = []P{*ada} // by what ada was given
		}
		if o.Name == "one" || o.Name == "two" {
			o.Manager = ada
		}
		requireStored[P, M, K, Q](t, db, other)
	}
	requireUnique[P, M, K](t, db, 6)
}

func nestedBatch[P, M any, K number, Q person[P, M, K]](t *testing.T, s scene) {
	db := usePeople[P, M, K](t, s)
	values, pointers := make([]P, 3), make([]*P, 3)
	for i := range values {
		values[i], pointers[i] = *rich[P, M, K, Q](fmt.Sprint("value", i)), rich[P, M, K, Q](fmt.Sprint("pointer", i))
	}
	create(t, db, &values)
	create(t, db, pointers)
	several := []P{*rich[P, M, K, Q]("in batches 1"), *rich[P, M, K, Q]("in batches 2"), *rich[P, M, K, Q]("in batches 3")}
	if err := db.CreateInBatches(&several, 2).Error; err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		requireStored[P, M, K, Q](t, db, &values[i])
		requireStored[P, M, K, Q](t, db, pointers[i])
		requireStored[P, M, K, Q](t, db, &several[i])
	}
	requireUnique[P, M, K](t, db, 9)
}

// requireCount fails unless an association has so many rows.
func requireCount(t *testing.T, association *gorm.Association, want int64) {
	t.Helper()
	if n := association.Count(); association.Error != nil || n != want {
		t.Errorf("got %d rows, %v, want %d", n, association.Error, want)
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func associationMode[P, M any, K number, Q person[P, M, K]](t *testing.T, s scene) {
	db := usePeople[P, M, K](t, s)
	ada := rich[P, M, K, Q]("ada")
	create(t, db, ada)
	a := Q(ada).self()
	of := func(name string) *gorm.Association { return db.Model(ada).Association(name) }

	fish := &Pet[M, K]{Name: "fish"}
	do(t, of("Pets").Append(fish, &Pet[M, K]{Name: "bird"}))
	requireCount(t, of("Pets"), 4)
	requireID(t, fish.Base, a.Pets[3].Base)
	do(t, of("Pets").Delete(fish))
	requireCount(t, of("Pets"), 3)
	horse := &Pet[M, K]{Name: "horse"}
	do(t, of("Pets").Replace(horse, a.Pets[0]))
	requireCount(t, of("Pets"), 2)
	requireID(t, horse.Base)
	do(t, of("Toys").Append(&Trinket[M, K]{Name: "doll"}))
	requireCount(t, of("Toys"), 3)
	do(t, of("Toys").Replace([]Trinket[M, K]{{Name: "car"}}))
	requireCount(t, of("Toys"), 1)
	requireID(t, a.Toys[0].Base)
	do(t, of("Account").Replace(&Account[M, K]{Number: "new"}))
	requireCount(t, of("Account"), 1)
	requireID(t, a.Account.Base)
	do(t, of("Company").Append(&Company[M, K]{Name: "new"}))
	requireCount(t, of("Company"), 1)
	if int64(*a.CompanyID) != idOf(a.Company.Base) || a.Company.Name != "new" {
		t.Errorf("got the company %d, want %d", *a.CompanyID, idOf(a.Company.Base))
	}
	do(t, of("Manager").Append(lone[P, M, K, Q]("boss")))
	do(t, of("Team").Append(lone[P, M, K, Q]("one"), lone[P, M, K, Q]("two")))
	requireCount(t, of("Team"), 2)
	slices.SortFunc(a.Pets, func(x, y *Pet[M, K]) int { return cmp.Compare(idOf(x.Base), idOf(y.Base)) })
	for _, pet := range a.Pets {
		do(t, db.Model(pet).Association("Toy").Replace(&Trinket[M, K]{Name: "hoop"}))
	}
	requireStored[P, M, K, Q](t, db, ada)
	do(t, of("Team").Clear())
	do(t, of("Pets").Unscoped().Clear())
	requireCount(t, of("Team"), 0)
	requireCount(t, of("Pets"), 0)
	// Appending to several people at once.
	batch := []P{*rich[P, M, K, Q]("x"), *rich[P, M, K, Q]("y")}
	create(t, db, &batch)
	do(t, db.Model(&batch).Association("Pets").Append(&Pet[M, K]{Name: "of x"}, &Pet[M, K]{Name: "of y"}))
	requireCount(t, db.Model(&batch).Association("Pets"), 6)
	requireID(t, Q(&batch[0]).self().Pets[2].Base, Q(&batch[1]).self().Pets[2].Base)
	requireUnique[P, M, K](t, db, 6)
}

func manyToMany[P, M any, K number, Q person[P, M, K]](t *testing.T, s scene) {
	db := usePeople[P, M, K](t, s)
	ada := rich[P, M, K, Q]("ada")
	create(t, db, ada)
	a := Q(ada).self()
	of := func(name string) *gorm.Association { return db.Model(ada).Association(name) }
	do(t, of("Languages").Append(&Language{Code: "it", Name: "italiano"}, &Language{Code: "de", Name: "Deutsch"}))
	requireCount(t, of("Languages"), 3)
	do(t, of("Languages").Replace([]Language{{Code: "nl"}}))
	requireCount(t, of("Languages"), 1)
	if n := count(t, db, &Language{}); n != 4 {
		t.Errorf("got %d languages, want de, fr, it and nl", n)
	}
	ben, cleo := rich[P, M, K, Q]("ben"), lone[P, M, K, Q]("cleo")
	create(t, db, ben)
	do(t, of("Friends").Append(ben, cleo))
	requireCount(t, of("Friends"), 2)
	requireStored[P, M, K, Q](t, db, ada)
	requireStored[P, M, K, Q](t, db, cleo)
	dora := lone[P, M, K, Q]("dora")
	do(t, of("Friends").Replace(cleo, dora))
	requireCount(t, of("Friends"), 2)
	do(t, of("Friends").Delete(cleo))
	requireCount(t, of("Friends"), 1)
	if len(a.Friends) != 1 || a.Friends[0] != dora {
		t.Errorf("got %d friends, want dora", len(a.Friends))
	}
	requireStored[P, M, K, Q](t, db, ada)
	do(t, of("Friends").Clear())
	requireCount(t, of("Friends"), 0)
	// A friend whose name is there already is not written; the join is with the one that is there.
	do(t, of("Friends").Append(lone[P, M, K, Q]("ben")))
	requireCount(t, of("Friends"), 1)
	requireUnique[P, M, K](t, db, 4)
}

func fullSave[P, M any, K number, Q person[P, M, K]](t *testing.T, s scene) {
	db := usePeople[P, M, K](t, s)
	ada := rich[P, M, K, Q]("ada")
	create(t, db, ada)
	a := Q(ada).self()
	before := *a
	full := db.Session(&gorm.Session{FullSaveAssociations: true})
	a.Age, a.Account.Number, a.Company.Name, a.Pets[0].Name, a.Pets[0].Toy.Name, a.Toys[1].Name = 36, "1", "engines", "tiger", "rope", "harp"
	a.Pets = append(a.Pets, &Pet[M, K]{Name: "owl", Toy: Trinket[M, K]{Name: "mouse"}})
	a.Toys = append(a.Toys, Trinket[M, K]{Name: "top"})
	if err := full.Save(ada).Error; err != nil {
		t.Fatal(err)
	}
	if idOf(a.Base) != idOf(before.Base) || idOf(a.Account.Base) != idOf(before.Account.Base) || idOf(a.Pets[1].Base) != idOf(before.Pets[1].Base) {
		t.Error("Save changed the keys of rows that are there")
	}
	requireStored[P, M, K, Q](t, db, ada)
	for _, tt := range []struct {
		model any
		name  string
	}{{&Pet[M, K]{}, "tiger"}, {&Trinket[M, K]{}, "rope"}, {&Trinket[M, K]{}, "harp"}, {&Company[M, K]{}, "engines"}, {&Pet[M, K]{}, "owl"}} {
		if n := count(t, db.Where("name = ?", tt.name), tt.model); n != 1 {
			t.Errorf("got %d rows %s, want 1", n, tt.name)
		}
	}
	a.Pets = append(a.Pets, &Pet[M, K]{Name: "hen", Toy: Trinket[M, K]{Name: "corn"}})
	a.Pets[0].Name = "lion"
	if err := full.Updates(ada).Error; err != nil {
		t.Fatal(err)
	}
	requireStored[P, M, K, Q](t, db, ada)
	if n := count(t, db.Where("name = ?", "lion"), &Pet[M, K]{}); n != 1 {
		t.Errorf("got %d lions, want 1", n)
	}
	create(t, full, rich[P, M, K, Q]("ben"))
	if err := db.Omit(clause.Associations).Create(rich[P, M, K, Q]("alone")).Error; err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, &Account[M, K]{}); n != 2 {
		t.Errorf("got %d accounts, want 2", n)
	}
	requireUnique[P, M, K](t, db, 3)
}

func singleRows[P, M any, K number, Q person[P, M, K]](t *testing.T, s scene) {
	db := usePeople[P, M, K](t, s)
	first, again := new(P), new(P)
	if err := db.Where("name = ?", "ada").Attrs("age", 36).FirstOrCreate(first, map[string]any{"name": "ada"}).Error; err != nil {
		t.Fatal(err)
	}
	result := db.Where("name = ?", "ada").Assign("age", 37).FirstOrCreate(again)
	f, a := Q(first).self(), Q(again).self()
	if result.Error != nil || idOf(f.Base) != idOf(a.Base) || f.Age != 36 || a.Age != 37 {
		t.Errorf("FirstOrCreate: got the keys %d and %d, ages %d and %d, %v", idOf(f.Base), idOf(a.Base), f.Age, a.Age, result.Error)
	}
	requireID(t, f.Base)
	init := new(P)
	if err := db.FirstOrInit(init, "name = ?", "nobody").Error; err != nil || idOf(Q(init).self().Base) != 0 {
		t.Errorf("FirstOrInit: got the key %d, %v, want none", idOf(Q(init).self().Base), err)
	}
	Q(init).self().Name = "nobody"
	save(t, db, init)
	requireID(t, Q(init).self().Base)

	if err := db.Model(first).Updates(map[string]any{"age": 40}).Error; err != nil {
		t.Fatal(err)
	}
	if err := db.Model(first).Update("age", 41).Error; err != nil {
		t.Fatal(err)
	}
	Q(first).self().Age = 42
	save(t, db, first)
	if n := count(t, db.Where("id = ? AND age = 42", idOf(f.Base)), new(P)); n != 1 {
		t.Errorf("got %d rows of age 42, want 1", n)
	}
	if err := db.Delete(first).Error; err != nil {
		t.Fatal(err)
	}
	if visible, all := count(t, db, new(P)), count(t, db.Unscoped(), new(P)); visible != 1 || all != 2 {
		t.Errorf("after Delete: got %d and %d rows, want 1 and 2", visible, all)
	}
	requireUnique[P, M, K](t, db, 2)
	if err := db.Unscoped().Delete(first).Error; err != nil {
		t.Fatal(err)
	}
	requireUnique[P, M, K](t, db, 1)
}
