package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/migrate/check"
	"github.com/snowkey-go/snowkey/sqltype"
)

type (
	// Status has a few rows whose keys are constants of the program.
	Status struct {
		ID   uint8
		Name string
	}
	// StatusLater is one that is known, and not created yet.
	StatusLater struct {
		ID   uint8
		Name string
	}
	// StatusByHand is one that says so.
	StatusByHand struct {
		ID   uint8 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	StatusLeft struct {
		ID   uint8 `gorm:"snowkey:-"`
		Name string
	}
	// Ranked has a key that the program sets, zero included.
	Ranked struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	// RankedID is filled since its type asks for that.
	RankedID struct {
		ID   sqltype.ID `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	RankedTagged struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Name string
	}
)

// warnings is a logger that keeps warnings.
type warnings struct {
	recorder
	mu  sync.Mutex
	all []string
}

func (w *warnings) Warn(_ context.Context, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, fmt.Sprintf(format, args...))
}

// AllKeys leaves narrow keys to the database, with one warning a model, and those that are tagged autoIncrement:false to the program.
func TestAllKeysLeaves(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, gormplugin.AllKeys(), &Status{}, &StatusByHand{}, &StatusLeft{}, &Ranked{}, &RankedID{}, &RankedTagged{})
		migrate(t, db, &StatusLater{})
		if _, err := check.Models(t.Context(), db, db.Plugins["snowkey"].(*gormplugin.Plugin), &StatusLater{}); err != nil {
			t.Fatal(err)
		}
		log := new(warnings)
		session := &gorm.Session{Logger: log}
		var wg sync.WaitGroup
		for i := range 4 { // a warning comes once, also when many statements are the first
			wg.Go(func() {
				if err := db.Session(session).Create(&Status{ID: uint8(10 + i), Name: "by hand"}).Error; err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		db = db.Session(session)
		made, byHand, left, ranked := Status{}, StatusByHand{}, StatusLeft{}, Ranked{}
		for _, value := range []any{&made, &[]Status{{ID: 100}, {ID: 101}}, &byHand, &StatusByHand{ID: 1}, &left, &StatusLeft{ID: 200}, &ranked, &[]Ranked{{ID: 7}, {ID: -7}}} {
			create(t, db, value)
		}
		create(t, db.Model(&Ranked{}), map[string]any{"id": 8})
		if made.ID == 0 || left.ID == 0 {
			t.Errorf("got the keys %d and %d, want those of the database", made.ID, left.ID)
		}
		requireKeys(t, db, &Ranked{}, int64(-7), 0, 7, 8)
		if byHand.ID != 0 || ranked.ID != 0 {
			t.Errorf("got the keys %d and %d, want the zeros that were set", byHand.ID, ranked.ID)
		}
		id, tagged := RankedID{}, RankedTagged{}
		create(t, db, &id)
		create(t, db, &tagged)
		requireMade(t, int64(id.ID), tagged.ID)
		if len(log.all) != 1 {
			t.Fatalf("got the warnings %q, want one", log.all)
		}
		for _, want := range []string{"the key ID of Status", "uint8", "int64", "`gorm:\"snowkey:-\"`"} {
			if !strings.Contains(log.all[0], want) {
				t.Errorf("got the warning %q, want it to say %s", log.all[0], want)
			}
		}
		create(t, db, &Status{})
		create(t, db, &StatusLater{})
		create(t, db, &StatusLater{})
		if len(log.all) != 2 || !strings.Contains(log.all[1], "StatusLater") {
			t.Errorf("got the warnings %q, want one of each model", log.all)
		}
	})
}

// Prepare says which keys it cannot make plain, and takes the tag for an answer.
func TestPrepareOfKeysThatAreLeft(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		for _, all := range []bool{false, true} {
			options := []gormplugin.Option{gormplugin.From(mustGenerator(t)), gormplugin.Prepare(&StatusByHand{}, &StatusLeft{}, &Ranked{}, &RankedID{})}
			if all {
				options = append(options, gormplugin.AllKeys())
			}
			if err := another(t, db).Use(gormplugin.New(options...)); err != nil {
				t.Errorf("AllKeys %t: got %v", all, err)
			}
			err := another(t, db).Use(gormplugin.New(append(slices.Clone(options), gormplugin.Prepare(&Status{}))...))
			if !errors.Is(err, gormplugin.ErrKey) || all && !strings.Contains(err.Error(), "`gorm:\"snowkey:-\"`") {
				t.Errorf("AllKeys %t: got %v, want ErrKey with the tag", all, err)
			}
		}
	})
}

// Without AllKeys nobody has to hear of it.
func TestNarrowKeyWithoutAllKeys(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Status{})
		log := new(warnings)
		create(t, db.Session(&gorm.Session{Logger: log}), &Status{})
		if len(log.all) > 0 {
			t.Errorf("got the warnings %q, want none", log.all)
		}
	})
}
