package inspect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// The models of a company, whose columns have names that nobody could guess.
type (
	Company struct {
		ID      int64
		Code    string   `gorm:"size:20;uniqueIndex"`
		Born    int64    `gorm:"autoCreateTime:milli"`
		Workers []Worker `gorm:"foreignKey:Boss"`
		Seal    Seal     `gorm:"foreignKey:Of"`
		Papers  []Paper  `gorm:"polymorphic:Holder;polymorphicValue:firm"`
	}
	Seal struct {
		ID int64
		Of int64
	}
	Worker struct {
		ID       int64
		Boss     int64
		Firm     string  `gorm:"size:20"`
		At       Company `gorm:"foreignKey:Firm;references:Code"`
		MentorID *int64
		Mentor   *Worker
		Friends  []Worker `gorm:"many2many:friendships"`
		Skills   []Skill  `gorm:"many2many:worker_skills;joinForeignKey:Who;joinReferences:What"`
		Papers   []Paper  `gorm:"polymorphic:Holder"`
		Base
	}
	Base struct {
		MadeAt time.Time `gorm:"autoCreateTime"`
		ByID   int64
		By     *Company
	}
	Skill struct{ ID int64 }
	Paper struct {
		ID         int64
		HolderID   int64
		HolderType string `gorm:"size:20"`
	}
	Nowhere struct{ ID int64 }
)

func TestModels(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		db.DisableForeignKeyConstraintWhenMigrating = true
		if err := db.AutoMigrate(&Company{}, &Seal{}, &Worker{}, &Skill{}, &Paper{}); err != nil {
			t.Fatal(err)
		}
		run(t, db, `INSERT INTO companies (id, code, born) VALUES (1, 'a', 1700000000000)`, `INSERT INTO papers (id, holder_id, holder_type) VALUES (1, 1, 'firm'), (2, 5, 'firm'), (3, 6, 'workers')`,
			`INSERT INTO worker_skills (who, what) VALUES (1, 2)`, `INSERT INTO seals (id, of) VALUES (1, 1), (2, 0)`)
		r := mustInspect(t, db, inspect.Options{Models: []any{&Company{}, &Nowhere{}}})
		requireLines(t, references(r),
			"workers.boss > companies.id model certain 0",
			"seals.of > companies.id model certain 0",
			"papers.holder_id[holder_type=firm] > companies.id model certain 1",
			"papers.holder_id[holder_type=workers] > workers.id model certain 1",
			"workers.mentor_id > workers.id model certain 0",
			"workers.by_id > companies.id model certain 0",
			"friendships.worker_id > workers.id model certain 0",
			"friendships.friend_id > workers.id model certain 0",
			"worker_skills.who > workers.id model certain 1",
			"worker_skills.what > skills.id model certain 1",
		)
		requireLines(t, obstacles(r, "model", "polymorphic"), "model:nowheres.Nowhere")
		if c := tableOf(t, r, "companies").Created; c == nil || c.Column != "born" || !strings.HasSuffix(c.Type, ", unix milliseconds") {
			t.Errorf("got %+v, want born", c)
		}
		if c := tableOf(t, r, "workers").Created; c == nil || c.Column != "made_at" || db.Name() != "sqlite" && c.Zoned != (db.Name() == "postgres") {
			t.Errorf("got %+v, want made_at", c)
		}
	})
}

func TestWrongModels(t *testing.T) {
	db := openOn(t, "sqlite")
	for _, model := range []any{5, nil} {
		if _, err := inspect.Read(t.Context(), db, inspect.Options{Models: []any{model}}); !errors.Is(err, inspect.ErrOption) {
			t.Errorf("%T: got %v, want an error of the option", model, err)
		}
	}
}
