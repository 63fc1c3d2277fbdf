package gormplugin_test

import (
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/sqltype"
)

var relationScenarios = []scenario{
	{name: "36 every kind of association, and models without a key", id: everyAssociation[idGuild, sqltype.ID], i64: everyAssociation[int64Guild, int64], uint: everyAssociation[uintGuild, uint], uuid: everyAssociation[uuidGuild, sqltype.UUID], ulid: everyAssociation[ulidGuild, sqltype.ULID], text: everyAssociation[nanoGuild, nano]},
	{name: "37 join model with a key of its own", id: joinModel[idClub, sqltype.ID], i64: joinModel[int64Club, int64], uint: joinModel[uintClub, uint], uuid: joinModel[uuidClub, sqltype.UUID], ulid: joinModel[ulidClub, sqltype.ULID], text: joinModel[nanoClub, nano]},
	{name: "40 other plugins and settings of GORM", test: otherSettings},
}

// Guild has one row of each kind of association; Club says why it is not a model itself.
type Guild[K key] struct {
	ID        K
	Name      string
	FounderID K
	Founder   *Member[K] // belongs to
	Hall      Hall[K]    `gorm:"foreignKey:GuildID"` // has one
	Rules     []*Rule[K] `gorm:"foreignKey:GuildID"` // has many
	Banner    *Sign[K]   `gorm:"polymorphic:Owner"`
	Crafts    []Craft[K] `gorm:"many2many:guild_crafts;joinForeignKey:GuildID;joinReferences:CraftID"`
}

// Hall is had by a guild, and has signs as the guild does.
type Hall[K key] struct {
	ID      K
	GuildID K
	Signs   []Sign[K] `gorm:"polymorphic:Owner"`
}

type Rule[K key] struct {
	ID      K
	GuildID K
	Text    string
}

type Sign[K key] struct {
	ID        K
	OwnerID   K
	OwnerType string `gorm:"size:64"`
	Text      string
}

type Craft[K key] struct {
	ID   K
	Name string
}

func (Hall[K]) TableName(namer schema.Namer) string  { return namer.TableName("Hall") }
func (Rule[K]) TableName(namer schema.Namer) string  { return namer.TableName("Rule") }
func (Sign[K]) TableName(namer schema.Namer) string  { return namer.TableName("Sign") }
func (Craft[K]) TableName(namer schema.Namer) string { return namer.TableName("Craft") }

func (g *Guild[K]) self() *Guild[K] { return g }

type (
	idGuild    struct{ Guild[sqltype.ID] }
	uuidGuild  struct{ Guild[sqltype.UUID] }
	ulidGuild  struct{ Guild[sqltype.ULID] }
	nanoGuild  struct{ Guild[nano] }
	int64Guild struct{ Guild[int64] }
	uintGuild  struct{ Guild[uint] }
)

type guild[G any, K key] interface {
	*G
	self() *Guild[K]
}

// Remark has no key at all.
type Remark struct{ Text string }

func everyAssociation[G any, K key, P guild[G, K]](t *testing.T, s scene) {
	db := s.use(t, &Member[K]{}, &Letter[K]{}, P(new(G)), &Hall[K]{}, &Rule[K]{}, &Sign[K]{}, &Craft[K]{}, &Remark{})
	made := P(new(G))
	*made.self() = Guild[K]{
		Name: "smiths", Founder: &Member[K]{Email: "a"}, Hall: Hall[K]{Signs: []Sign[K]{{Text: "in"}, {Text: "out"}}},
		Rules: []*Rule[K]{{Text: "one"}, {Text: "two"}}, Banner: &Sign[K]{Text: "hammer"}, Crafts: []Craft[K]{{Name: "gold"}, {Name: "iron"}},
	}
	create(t, db, made)
	g := made.self()
	requireMade(t, g.ID, g.Founder.ID, g.Hall.ID, g.Hall.Signs[0].ID, g.Hall.Signs[1].ID, g.Rules[0].ID, g.Rules[1].ID, g.Banner.ID, g.Crafts[0].ID, g.Crafts[1].ID)

	read := P(new(G))
	if err := db.Preload("Founder").Preload("Hall.Signs", by("text")).Preload("Rules", by("text")).Preload("Banner").Preload("Crafts", by("name")).Take(read).Error; err != nil {
		t.Fatal(err)
	}
	r := read.self()
	if r.ID != g.ID || r.FounderID != g.Founder.ID || r.Founder == nil || r.Founder.ID != g.Founder.ID || r.Hall.ID != g.Hall.ID || r.Hall.GuildID != g.ID {
		t.Fatalf("got the guild %+v, want %+v", r, g)
	}
	if r.Banner == nil || *r.Banner != *g.Banner || r.Banner.OwnerID != g.ID {
		t.Errorf("got the banner %+v, want %+v", r.Banner, g.Banner)
	}
	if len(r.Hall.Signs) != 2 || r.Hall.Signs[0] != g.Hall.Signs[0] || r.Hall.Signs[1] != g.Hall.Signs[1] || r.Hall.Signs[0].OwnerID != g.Hall.ID {
		t.Errorf("got the signs %+v, want %+v", r.Hall.Signs, g.Hall.Signs)
	}
	if len(r.Rules) != 2 || *r.Rules[0] != *g.Rules[0] || *r.Rules[1] != *g.Rules[1] || r.Rules[0].GuildID != g.ID {
		t.Errorf("got %d rules, the first %+v, want %+v", len(r.Rules), r.Rules[0], g.Rules[0])
	}
	if len(r.Crafts) != 2 || r.Crafts[0] != g.Crafts[0] || r.Crafts[1] != g.Crafts[1] {
		t.Errorf("got the crafts %+v, want %+v", r.Crafts, g.Crafts)
	}
	requireMembers(t, db, *g.Founder)

	create(t, db, &Remark{Text: "a"})
	create(t, db, &[]Remark{{Text: "b"}, {Text: "c"}})
	create(t, db.Model(&Remark{}), map[string]any{"text": "d"})
	if n := count(t, db.Where("text IN ?", []string{"a", "b", "c", "d"}), &Remark{}); n != 4 {
		t.Errorf("got %d remarks, want 4", n)
	}
}

// by reads rows in the order of a column, in which they were made.
func by(column string) func(*gorm.DB) *gorm.DB {
	return func(db *gorm.DB) *gorm.DB { return db.Order(column) }
}

// Enrolment is a row of a join table with a key of its own. GORM writes those that are there once more with DoNothing, so they need a
// unique index.
type Enrolment[K key] struct {
	ID       K
	ClubID   K `gorm:"uniqueIndex:,composite:member"`
	MemberID K `gorm:"uniqueIndex:,composite:member"`
	Since    int
}

func (Enrolment[K]) TableName(namer schema.Namer) string { return namer.TableName("Enrolment") }

func joinModel[C any, K key, P club[C, K]](t *testing.T, s scene) {
	db := s.open(t)
	models := []any{&Member[K]{}, &Letter[K]{}, P(new(C)), &Enrolment[K]{}}
	if err := db.SetupJoinTable(P(new(C)), "Members", &Enrolment[K]{}); err != nil {
		t.Fatal(err)
	}
	db = s.useOptions(t, db, nil, models...)
	c := P(new(C))
	c.self().Members = []Member[K]{{Email: "a"}, {Email: "b"}}
	create(t, db, c)
	if err := db.Model(c).Association("Members").Append(&Member[K]{Email: "c"}); err != nil {
		t.Fatal(err)
	}
	var enrolments []Enrolment[K]
	if err := db.Find(&enrolments).Error; err != nil {
		t.Fatal(err)
	}
	members := c.self().Members
	slices.SortFunc(enrolments, func(a, b Enrolment[K]) int { // as the members are
		of := func(e Enrolment[K]) int {
			return slices.IndexFunc(members, func(m Member[K]) bool { return m.ID == e.MemberID })
		}
		return of(a) - of(b)
	})
	if len(enrolments) != 3 || len(members) != 3 {
		t.Fatalf("got %d members and %d rows of the join table, want 3", len(members), len(enrolments))
	}
	for i, e := range enrolments {
		requireMade(t, e.ID, members[i].ID)
		if e.ClubID != c.self().ID || e.MemberID != members[i].ID {
			t.Errorf("got the row %+v, want club %d and member %d", e, c.self().ID, members[i].ID)
		}
	}
	other := Member[K]{Email: "d"}
	create(t, db, &other)
	own := Enrolment[K]{ClubID: c.self().ID, MemberID: other.ID, Since: 1}
	create(t, db, &own)
	requireMade(t, own.ID)
	requireKeys(t, db, &Enrolment[K]{}, enrolments[0].ID, enrolments[1].ID, enrolments[2].ID, own.ID)
	requireMembers(t, db, append(members, other)...)
}
