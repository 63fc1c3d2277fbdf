package gormplugin_test

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	sqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Claim has a unique column to clash in, relations of all kinds, and hooks that fail or panic.
type Claim struct {
	ID      sqltype.ID
	Email   string `gorm:"size:64;uniqueIndex"`
	Odd     odd
	AgentID *sqltype.ID
	Agent   *Agent
	Detail  *Detail
	Papers  []Paper
	Tags    []*Mark `gorm:"many2many:claim_marks"`
	before  func(*gorm.DB) error
	after   func(*gorm.DB) error
}

type Agent struct {
	ID   sqltype.ID
	Name string `gorm:"size:64;uniqueIndex"`
}

type Detail struct {
	ID      sqltype.ID
	ClaimID sqltype.ID
	Odd     odd
}

type Paper struct {
	ID      sqltype.ID
	ClaimID sqltype.ID
	Title   string `gorm:"size:64;uniqueIndex"`
}

type Mark struct {
	ID   sqltype.ID
	Name string `gorm:"size:64;uniqueIndex"`
}

// odd panics when it is written as "panic", and is an error as "error".
type odd string

func (o odd) Value() (driver.Value, error) {
	switch o {
	case "panic":
		panic("odd")
	case "error":
		return nil, errors.New("odd")
	}
	return string(o), nil
}

func (c *Claim) BeforeCreate(tx *gorm.DB) error { return hook(c.before, tx) }
func (c *Claim) AfterCreate(tx *gorm.DB) error  { return hook(c.after, tx) }

func hook(f func(*gorm.DB) error, tx *gorm.DB) error {
	if f == nil {
		return nil
	}
	return f(tx)
}

var errHook = errors.New("the hook fails")

func fails(*gorm.DB) error  { return errHook }
func panics(*gorm.DB) error { panic(errHook) }

// tried creates a value, and returns a panic as an error.
func tried(db *gorm.DB, value any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(errHook, fmt.Errorf("%v", r))
		}
	}()
	return db.Create(value).Error
}

func useClaims(t *testing.T, db *gorm.DB, options ...any) {
	t.Helper()
	use(t, db, append(options, &Agent{}, &Mark{}, &Claim{}, &Detail{}, &Paper{})...)
	create(t, db, &Claim{Email: "taken", Papers: []Paper{{Title: "taken"}}})
}

// TestFailedInsertTakesTheKeyBack clashes in a unique column with values of all shapes, and finds them as they were.
func TestFailedInsertTakesTheKeyBack(t *testing.T) {
	type Pointed struct {
		ID    *int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Email string `gorm:"size:64;uniqueIndex"`
	}
	zero, struck := int64(0), &Claim{Email: "taken"}
	batch := []Claim{{Email: "a"}, {ID: 5, Email: "taken"}, {Email: "b"}}
	pointers := []*Claim{{Email: "a"}, {Email: "taken"}}
	array := &[2]Claim{{Email: "a"}, {Email: "taken"}}
	none, null := &Pointed{Email: "taken"}, &Pointed{ID: &zero, Email: "taken"}
	one, named := map[string]any{"email": "taken"}, map[string]any{"ID": 0, "email": "taken"}
	list := []map[string]any{{"email": "a"}, {"email": "taken", "id": int64(5)}}
	preset := &Claim{ID: 7, Email: "taken"}
	shapes := []struct {
		name  string
		model any
		value any
		right func() bool
	}{
		{"struct", nil, struck, func() bool { return struck.ID == 0 }},
		{"pointer to pointer", nil, &struck, func() bool { return struck.ID == 0 }},
		{"batch", nil, batch, func() bool { return batch[0].ID == 0 && batch[1].ID == 5 && batch[2].ID == 0 }},
		{"pointer to batch", nil, &batch, func() bool { return batch[0].ID == 0 && batch[1].ID == 5 && batch[2].ID == 0 }},
		{"pointers", nil, pointers, func() bool { return pointers[0].ID == 0 && pointers[1].ID == 0 }},
		{"array", nil, array, func() bool { return array[0].ID == 0 && array[1].ID == 0 }},
		{"nil pointer", nil, none, func() bool { return none.ID == nil }},
		{"pointer to zero", nil, null, func() bool { return null.ID == &zero && zero == 0 }},
		{"map", &Claim{}, one, func() bool { return len(one) == 1 }},
		{"map with a zero", &Claim{}, named, func() bool { return len(named) == 2 && named["ID"] == 0 }},
		{"maps", &Claim{}, list, func() bool { return len(list[0]) == 1 && list[1]["id"] == int64(5) }},
		{"set by the caller", nil, preset, func() bool { return preset.ID == 7 }},
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db, &Pointed{})
		create(t, db, &Pointed{Email: "taken"})
		for name, session := range map[string]*gorm.DB{
			"transaction": db, "none": db.Session(&gorm.Session{SkipDefaultTransaction: true}), "upsert": db.Clauses(clause.OnConflict{UpdateAll: true, Columns: []clause.Column{{Name: "id"}}}).Session(&gorm.Session{}),
		} {
			if name == "upsert" && db.Name() == "mysql" {
				continue // it heeds all indexes
			}
			for _, tt := range shapes {
				create := func(tx *gorm.DB) error {
					if tt.model != nil {
						tx = tx.Model(tt.model)
					}
					return tx.Create(tt.value).Error
				}
				if err := create(session); err == nil || !tt.right() {
					t.Errorf("%s, %s: got %v, and %+v", name, tt.name, err, tt.value)
				}
				if err := session.Transaction(create); err == nil || !tt.right() {
					t.Errorf("%s within a transaction, %s: got %v, and %+v", name, tt.name, err, tt.value)
				}
			}
		}
	})
}

// TestCreateElseFetch does after a failed Create what GORM's users do.
func TestCreateElseFetch(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db)
		var there Claim
		do(t, db.First(&there, "email = ?", "taken").Error)
		failed := func() *Claim {
			c := &Claim{Email: "taken"}
			if err := db.Create(c).Error; err == nil {
				t.Error("want a clash")
			}
			return c
		}
		if c := failed(); db.Where("email = ?", c.Email).First(c).Error != nil || c.ID != there.ID {
			t.Errorf("First: got %+v, want %d", c, there.ID)
		}
		if c := failed(); db.Model(c).Where("email = ?", c.Email).Update("odd", "x").RowsAffected != 1 {
			t.Error("Update: want one row")
		}
		if c := failed(); db.Where(Claim{Email: "taken"}).FirstOrCreate(c).Error != nil || c.ID != there.ID {
			t.Errorf("FirstOrCreate: got %+v, want %d", c, there.ID)
		}
		c := failed()
		c.Email = "free"
		created := false
		c.before = func(*gorm.DB) error { created = true; return nil }
		if err := db.Save(c).Error; err != nil || !created || c.ID == 0 || c.ID == there.ID {
			t.Errorf("Save: got %+v, %v, want a new row", c, err)
		}
	})
}

// TestFailedStatementTakesKeysBack has a statement fail at each place after keys were made. What it had written its transaction undoes.
func TestFailedStatementTakesKeysBack(t *testing.T) {
	whole := func(c Claim) *Claim {
		c.Email, c.Agent, c.Detail = "new", &Agent{Name: "new"}, cmp.Or(c.Detail, &Detail{})
		c.Papers, c.Tags = append([]Paper{{Title: "new"}}, c.Papers...), []*Mark{{Name: "new"}}
		return &c
	}
	claims := map[string]func() *Claim{
		"the INSERT":     func() *Claim { c := whole(Claim{}); c.Email = "taken"; return c },
		"a hook before":  func() *Claim { return whole(Claim{before: fails}) },
		"a hook after":   func() *Claim { return whole(Claim{after: fails}) },
		"an association": func() *Claim { return whole(Claim{Detail: &Detail{Odd: "error"}}) },
		"a value":        func() *Claim { return whole(Claim{Odd: "error"}) },
		"a context that ended": func() *Claim {
			return whole(Claim{after: func(tx *gorm.DB) error { tx.Statement.Context.Value(endKey{}).(func())(); return nil }})
		},
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db)
		before := another(t, db)
		do(t, before.Use(gormplugin.New(gormplugin.From(mustGenerator(t)), gormplugin.BeforeHooks())))
		for name, claim := range claims {
			for _, db := range []*gorm.DB{db, before} {
				requireTakenBack(t, name, db, claim())
			}
		}
	})
	for name, claim := range map[string]*Claim{"before": {before: panics}, "after": {after: panics}, "in a value": {Odd: "panic"}} {
		t.Run("a panic "+name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) { // of its own, since GORM leaves the transaction open
				useClaims(t, db, gormplugin.BeforeHooks())
				requireTakenBack(t, name, db, whole(*claim))
			})
		})
	}
}

func requireTakenBack(t *testing.T, name string, db *gorm.DB, c *Claim) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	if err := tried(db.WithContext(context.WithValue(ctx, endKey{}, func() { end() })), c); err == nil {
		t.Errorf("%s: want an error", name)
	}
	if c.ID != 0 || c.Agent.ID != 0 || c.Detail.ID != 0 || c.Papers[0].ID != 0 || c.Tags[0].ID != 0 {
		t.Errorf("%s: got the keys %d, %d, %d, %d and %d, want none", name, c.ID, c.Agent.ID, c.Detail.ID, c.Papers[0].ID, c.Tags[0].ID)
	}
}

// endKey is the key of what ends a context.
type endKey struct{}

// TestKeyOfARowThatIsThere fails after the INSERT where no transaction of the statement's own undoes that: the row keeps its key.
func TestKeyOfARowThatIsThere(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db)
		a, b := &Claim{Email: "a", Agent: &Agent{Name: "a"}, after: fails}, &Claim{Email: "b", after: fails}
		if err := db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(a).Error; !errors.Is(err, errHook) {
			t.Errorf("got %v", err)
		}
		do(t, db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(b).Error; !errors.Is(err, errHook) {
				t.Errorf("got %v", err)
			}
			return nil
		}))
		for _, c := range []*Claim{a, b} {
			if n := count(t, db.Where("id = ? AND email = ?", c.ID, c.Email), &Claim{}); n != 1 {
				t.Errorf("got %d rows of the key %d", n, c.ID)
			}
		}
		c := &Claim{Email: "taken", Agent: &Agent{Name: "c"}}
		if err := db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(c).Error; err == nil || c.ID != 0 {
			t.Errorf("got %v and the key %d", err, c.ID)
		}
		for _, agent := range []*Agent{a.Agent, c.Agent} {
			if n := count(t, db.Where("id = ? AND name = ?", agent.ID, agent.Name), &Agent{}); n != 1 {
				t.Errorf("got %d rows of the key %d", n, agent.ID)
			}
		}
		d := &Claim{Email: "d"}
		if err := db.Transaction(func(tx *gorm.DB) error { return errors.Join(tx.Create(d).Error, errHook) }); !errors.Is(err, errHook) || d.ID == 0 {
			t.Errorf("a later rollback: got %v and the key %d, want it left as GORM leaves it", err, d.ID)
		}
	})
}

// TestUpdateTakesKeysBack has an UPDATE fail after it has saved new associations.
func TestUpdateTakesKeysBack(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db)
		c := &Claim{Email: "mine"}
		create(t, db, c)
		id := c.ID
		c.Email, c.Agent = "taken", &Agent{Name: "new"}
		if err := db.Save(c).Error; err == nil || c.Agent.ID != 0 || c.ID != id {
			t.Errorf("got %v, the agent %d and the claim %d, want none and %d", err, c.Agent.ID, c.ID, id)
		}
	})
}

// TestFailedCommitTakesTheKeyBack has a constraint fail at COMMIT.
func TestFailedCommitTakesTheKeyBack(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "mysql" {
			t.Skip("it has no deferred constraints")
		}
		use(t, db)
		do(t, db.Exec("CREATE TABLE lines (id bigint PRIMARY KEY, order_id bigint REFERENCES lines (id) DEFERRABLE INITIALLY DEFERRED, text text)").Error)
		do(t, map[bool]error{true: db.Exec("PRAGMA foreign_keys = ON").Error}[db.Name() == "sqlite"])
		line := &Line{OrderID: 1}
		if err := db.Create(line).Error; err == nil || line.ID != 0 {
			t.Errorf("got %v and the key %d, want an error and none", err, line.ID)
		}
	})
}

// TestLostAnswerLeavesTheKey breaks connections. Where the row may be there the key stays: to create it once more is no second row.
func TestLostAnswerLeavesTheKey(t *testing.T) {
	broken := sqldriver.ErrInvalidConn
	for _, tt := range []struct {
		name   string
		expect func(sqlmock.Sqlmock)
		skip   bool // the transaction
		stays  bool
	}{
		{"INSERT in a transaction", func(m sqlmock.Sqlmock) {
			m.ExpectBegin()
			m.ExpectExec("INSERT").WillReturnError(broken)
			m.ExpectRollback()
		}, false, false},
		{"INSERT alone", func(m sqlmock.Sqlmock) { m.ExpectExec("INSERT").WillReturnError(broken) }, true, true},
		{"COMMIT", func(m sqlmock.Sqlmock) {
			m.ExpectBegin()
			m.ExpectExec("INSERT").WillReturnResult(sqlmock.NewResult(0, 1))
			m.ExpectCommit().WillReturnError(broken)
		}, false, true},
		{"COMMIT that is refused", func(m sqlmock.Sqlmock) {
			m.ExpectBegin()
			m.ExpectExec("INSERT").WillReturnResult(sqlmock.NewResult(0, 1))
			m.ExpectCommit().WillReturnError(&sqldriver.MySQLError{Number: 1180})
		}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, mock, err := sqlmock.New()
			do(t, err)
			tt.expect(mock)
			db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true, DisableWithReturning: true}), &gorm.Config{Logger: silent{}, DisableAutomaticPing: true})
			do(t, err)
			do(t, db.Use(gormplugin.New(gormplugin.From(mustGenerator(t)))))
			row := &Agent{Name: "a"}
			if err := db.Session(&gorm.Session{SkipDefaultTransaction: tt.skip}).Create(row).Error; err == nil || (row.ID != 0) != tt.stays {
				t.Errorf("got %v and the key %d", err, row.ID)
			}
			do(t, mock.ExpectationsWereMet())
		})
	}
}

// TestOnePointerInSeveralRows creates one row of it, with one key.
func TestOnePointerInSeveralRows(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db)
		for i, session := range []*gorm.DB{
			db, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}), db.Clauses(clause.OnConflict{DoNothing: true}),
			db.Session(&gorm.Session{FullSaveAssociations: true}), db.Session(&gorm.Session{SkipDefaultTransaction: true}),
		} {
			p, q, agent, mark := &Claim{Email: fmt.Sprint("p", i)}, &Claim{Email: fmt.Sprint("q", i)}, &Agent{Name: fmt.Sprint(i)}, &Mark{Name: fmt.Sprint(i)}
			p.Agent, q.Agent, p.Tags, q.Tags = agent, agent, []*Mark{mark, mark}, []*Mark{mark}
			before := count(t, db, &Claim{})
			create(t, session.Session(&gorm.Session{}), []*Claim{p, q, p})
			if n := count(t, db, &Claim{}) - before; n != 2 || p.ID == 0 || p.ID == q.ID {
				t.Errorf("%d: got %d rows, of the keys %d and %d, want 2", i, n, p.ID, q.ID)
			}
			for _, c := range []*Claim{p, q} {
				if n := count(t, db.Where("id = ? AND email = ? AND agent_id = ?", c.ID, c.Email, agent.ID), &Claim{}); n != 1 {
					t.Errorf("%d: got %d rows of the key %d and the agent %d, want 1", i, n, c.ID, agent.ID)
				}
			}
			var marks int64
			do(t, db.Table("claim_marks").Where("mark_id = ?", mark.ID).Count(&marks).Error)
			if n := count(t, db.Where("name = ?", fmt.Sprint(i)), &Agent{}); n != 1 || marks != 2 {
				t.Errorf("%d: got %d agents and %d marks, want 1 and 2", i, n, marks)
			}
		}
		failed := &Claim{Email: "taken"}
		if err := db.Create([]*Claim{failed, {Email: "r"}, failed}).Error; err == nil || failed.ID != 0 {
			t.Errorf("got %v and the key %d, want an error and none", err, failed.ID)
		}
	})
}

// TestDroppedRows has a trigger drop rows, without an error.
func TestDroppedRows(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db)
		switch db.Name() {
		case "sqlite":
			do(t, db.Exec("CREATE TRIGGER dropped BEFORE INSERT ON agents WHEN NEW.name LIKE 'no%' BEGIN SELECT RAISE(IGNORE); END").Error)
		case "postgres":
			do(t, db.Exec("CREATE FUNCTION dropped() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.name LIKE ''no%'' THEN RETURN NULL; END IF; RETURN NEW; END'").Error)
			do(t, db.Exec("CREATE TRIGGER dropped BEFORE INSERT ON agents FOR EACH ROW EXECUTE FUNCTION dropped()").Error)
		default:
			t.Skip("its triggers drop no rows")
		}
		one, batch, m := Agent{Name: "no"}, []Agent{{Name: "a"}, {Name: "no 2"}, {Name: "b"}}, map[string]any{"name": "no 3"}
		for i, result := range []*gorm.DB{db.Create(&one), db.Create(&batch), db.Model(&Agent{}).Create(m)} {
			if want := []int64{0, 2, 0}[i]; result.Error != nil || result.RowsAffected != want {
				t.Errorf("%d: got %d rows affected, %v, want %d", i, result.RowsAffected, result.Error, want)
			}
		}
		if one.ID != 0 || batch[1].ID != 0 || m["id"] != nil && m["id"] != sqltype.ID(0) {
			t.Errorf("got the keys %d, %d and %v of rows that were dropped", one.ID, batch[1].ID, m)
		}
		for _, a := range []Agent{batch[0], batch[2]} {
			if n := count(t, db.Where("id = ? AND name = ?", a.ID, a.Name), &Agent{}); n != 1 {
				t.Errorf("got %d rows of %+v", n, a)
			}
		}
	})
}

// TestForgivenError has a callback take the error of an INSERT away, which GORM then commits.
func TestForgivenError(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "postgres" {
			t.Skip("it commits no transaction with an error")
		}
		useClaims(t, db)
		do(t, db.Callback().Create().Before("gorm:commit_or_rollback_transaction").Register("forgive", func(db *gorm.DB) { db.Error = nil }))
		c := &Claim{Email: "taken", Agent: &Agent{Name: "a"}}
		do(t, db.Create(c).Error)
		if n := count(t, db.Where("id = ?", c.Agent.ID), &Agent{}); c.ID != 0 || n != 1 {
			t.Errorf("got the key %d, and %d rows of the agent %d, want none and one", c.ID, n, c.Agent.ID)
		}
	})
}

// TestFailedInsertLeavesWhatIsNotTheKey has a nil base, and keys that a hook sets.
func TestFailedInsertLeavesWhatIsNotTheKey(t *testing.T) {
	type Base struct{ ID sqltype.ID }
	type Based struct {
		*Base
		Email string `gorm:"size:64;uniqueIndex"`
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		useClaims(t, db, gormplugin.BeforeHooks(), &Based{})
		create(t, db, &Based{Email: "taken"})
		b := &Based{Email: "taken"}
		if err := db.Create(b).Error; err == nil || b.Base != nil {
			t.Errorf("got %v and %+v, want no base", err, b)
		}
		own := func(tx *gorm.DB) error { tx.Statement.SetColumn("ID", 41); return nil }
		batch := []*Claim{{Email: "b"}, {Email: "taken", before: own}}
		if err := db.Create(batch).Error; err == nil || batch[0].ID != 0 || batch[1].ID != 41 {
			t.Errorf("got %v, and the keys %d and %d, want 0 and the hook's 41", err, batch[0].ID, batch[1].ID)
		}
	})
}
