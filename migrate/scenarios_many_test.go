package migrate_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate"
)

func init() {
	scenarios = append(scenarios, scenario{"04 many to many, soft-deleted rows, owners of two types", nil, testMany})
}

// Members and clubs have the same numbers for ids, and so do the owners of notes.
type (
	member struct {
		ID        uint
		Name      string
		CreatedAt time.Time
		DeletedAt gorm.DeletedAt
		Clubs     []club `gorm:"many2many:member_clubs"`
		Notes     []note `gorm:"polymorphic:Owner"`
	}
	club struct {
		ID        uint
		Name      string
		CreatedAt time.Time
		Notes     []note `gorm:"polymorphic:Owner"`
	}
	note struct {
		ID        uint
		Body      string
		OwnerID   string `gorm:"size:30"`
		OwnerType string `gorm:"size:30"`
		CreatedAt time.Time
	}
)

// testMany rekeys the members; the clubs keep their ids. What db.Find does not see, and what is text beside a type, moves too, and nothing else.
func testMany(t *testing.T, d *database) {
	if err := d.gorm.AutoMigrate(&club{}, &member{}, &note{}); err != nil {
		t.Fatal(err)
	}
	// GORM makes the owner's id an integer, as the keys are; others wrote this schema, and had owners with texts for keys in mind.
	d.exec("DROP TABLE notes", "CREATE TABLE notes (id "+map[string]string{"mysql": "INT PRIMARY KEY AUTO_INCREMENT", "postgres": "serial PRIMARY KEY", "sqlite": "integer PRIMARY KEY"}[d.kind]+
		", body VARCHAR(50), owner_id VARCHAR(30) NOT NULL, owner_type VARCHAR(30) NOT NULL, created_at "+map[string]string{"mysql": "DATETIME", "postgres": "timestamptz", "sqlite": "datetime"}[d.kind]+")")
	at := time.Date(2021, 4, 1, 12, 0, 0, 0, time.UTC)
	for i := range uint(5) {
		c := club{ID: i + 1, Name: fmt.Sprint("club ", i+1), CreatedAt: at}
		if err := d.gorm.Create(&c).Error; err != nil {
			t.Fatal(err)
		}
		m := member{ID: i + 1, Name: fmt.Sprint("member ", i+1), CreatedAt: at.Add(time.Duration(i) * time.Hour)}
		if i == 2 || i == 4 {
			m.DeletedAt = gorm.DeletedAt{Time: at.Add(time.Minute), Valid: true}
		}
		if err := d.gorm.Create(&m).Error; err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"members", "clubs"} {
			for n := range 2 {
				d.exec(fmt.Sprintf("INSERT INTO notes (body, owner_id, owner_type) VALUES ('%s %d, %d', '%[2]d', '%[1]s')", owner, i+1, n))
			}
		}
	}
	// Each is in the club of its own number, and in all that come after.
	d.exec("INSERT INTO member_clubs (member_id, club_id) SELECT m.id, c.id FROM members m JOIN clubs c ON c.id >= m.id")
	// An owner's type that is none of the models', the same number as text, and an owner that is not there.
	d.exec("INSERT INTO notes (body, owner_id, owner_type) VALUES ('alien', '3', 'aliens'), ('none', '999', 'members'), ('word', 'x', 'clubs')")
	text := map[string]string{"mysql": "m.id", "postgres": "m.id::text", "sqlite": "CAST(m.id AS TEXT)"}[d.kind]
	queries := []string{
		"SELECT CONCAT_WS(' in ', m.name, c.name, CASE WHEN m.deleted_at IS NULL THEN 'here' ELSE 'gone' END) FROM members m JOIN member_clubs x ON x.member_id = m.id JOIN clubs c ON c.id = x.club_id",
		"SELECT CONCAT_WS(' of ', n.body, m.name) FROM notes n JOIN members m ON n.owner_type = 'members' AND n.owner_id = " + text,
		"SELECT CONCAT_WS(' ', body, owner_type, owner_id) FROM notes WHERE owner_type <> 'members' OR owner_id = '999'",
		"SELECT CONCAT_WS(' ', id, name) FROM clubs",
	}
	var before [][]string
	for _, q := range queries {
		before = append(before, d.sorted(q))
	}
	if len(before[0]) != 15 || len(before[1]) != 10 || len(before[2]) != 13 {
		t.Fatalf("the test's rows are %q", before)
	}
	d.run(d.plan(
		migrate.InspectOptions{Models: []any{&member{}, &club{}, &note{}}},
		migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"members"}, Zone: "UTC", Accept: []string{"polymorphic:notes.aliens"}},
	))
	for i, q := range queries {
		if after := d.sorted(q); !slices.Equal(after, before[i]) {
			t.Errorf("%s: got %q, want %q", q, after, before[i])
		}
	}
	if n := d.number("SELECT COUNT(*) FROM members WHERE id < 4398046511104"); n != 0 {
		t.Errorf("%d members have old ids", n)
	}
	if n := d.number("SELECT COUNT(*) FROM member_clubs WHERE member_id < 4398046511104 OR club_id > 5"); n != 0 {
		t.Errorf("%d memberships have old ids of members, or new ones of clubs", n)
	}
}

// sorted returns the texts that a query gives, in their order.
func (d *database) sorted(query string) []string {
	d.t.Helper()
	texts := d.texts(query)
	slices.SortFunc(texts, cmp.Compare)
	return texts
}
