package gormplugin_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// family is a kind of keys, with the models of it: those of the plugin's side, and the same with plain columns, where no key is the database's to
// make, of the side that has GORM alone.
type family struct {
	name        string
	with, alone kit
	option      gormplugin.Option
	prepared    bool
	setting     string // of gormplugin.Table
	composite   bool   // no foreign key can refer to the key alone
}

var families = []family{
	{name: "sqltype.ID", with: models[idKey, sqltype.ID, idTopic, idEmployee]{}, alone: models[idKey, sqltype.ID, idTopic, idEmployee]{}},
	{name: "int64, auto-increment", with: models[int64Key, int64, int64Topic, int64Employee]{}, alone: models[plainInt64Key, int64, plainInt64Topic, plainInt64Employee]{}, option: gormplugin.AllKeys()},
	{name: "int64, prepared", with: models[int64Key, int64, int64Topic, int64Employee]{}, alone: models[plainInt64Key, int64, plainInt64Topic, plainInt64Employee]{}, option: gormplugin.AllKeys(), prepared: true},
	{name: "uint64", with: models[uint64Key, uint64, uint64Topic, uint64Employee]{}, alone: models[plainUint64Key, uint64, plainUint64Topic, plainUint64Employee]{}, option: gormplugin.AllKeys(), prepared: true},
	{name: "*int64", with: models[nullableKey, int64, nullableTopic, nullableEmployee]{}, alone: models[plainNullableKey, int64, plainNullableTopic, plainNullableEmployee]{}, option: gormplugin.AllKeys()},
	{name: "text", with: models[encodedKey, string, encodedTopic, encodedEmployee]{}, alone: models[encodedKey, string, encodedTopic, encodedEmployee]{}, setting: ",base32"},
	{name: "gorm.Model", with: models[gorm.Model, uint, modelTopic, modelEmployee]{}, alone: models[plainModel, uint, plainModelTopic, plainModelEmployee]{}, option: gormplugin.AllKeys()},
	{name: "embedded by pointer", with: models[*idKey, sqltype.ID, embeddedTopic, embeddedEmployee]{}, alone: models[*idKey, sqltype.ID, embeddedTopic, embeddedEmployee]{}},
	{name: "of two columns", with: models[tenantKey, sqltype.ID, tenantTopic, tenantEmployee]{}, alone: models[tenantKey, sqltype.ID, tenantTopic, tenantEmployee]{}, composite: true},
}

type (
	idKey         struct{ ID sqltype.ID }
	int64Key      struct{ ID int64 }
	uint64Key     struct{ ID uint64 }
	nullableKey   struct{ ID *int64 }
	plainInt64Key struct {
		ID int64 `gorm:"autoIncrement:false"`
	}
	plainUint64Key struct {
		ID uint64 `gorm:"autoIncrement:false"`
	}
	plainNullableKey struct {
		ID *int64 `gorm:"autoIncrement:false"`
	}
	encodedKey struct {
		ID string `gorm:"size:40;snowkey:,base32"`
	}
	tenantKey struct {
		Tenant int64      `gorm:"primaryKey;autoIncrement:false"`
		ID     sqltype.ID `gorm:"primaryKey"`
	}
	plainModel struct { // as gorm.Model
		ID                   uint `gorm:"primaryKey;autoIncrement:false"`
		CreatedAt, UpdatedAt time.Time
		DeletedAt            gorm.DeletedAt `gorm:"index"`
	}
)

// A model that is on either side of a many2many relation has to have a name without brackets, so these are none of a generic type.
type (
	idTopic    struct{ Topic[idKey, sqltype.ID] }
	idEmployee struct {
		Employee[idKey, sqltype.ID, idTopic, idEmployee]
	}
	int64Topic    struct{ Topic[int64Key, int64] }
	int64Employee struct {
		Employee[int64Key, int64, int64Topic, int64Employee]
	}
	plainInt64Topic    struct{ Topic[plainInt64Key, int64] }
	plainInt64Employee struct {
		Employee[plainInt64Key, int64, plainInt64Topic, plainInt64Employee]
	}
	uint64Topic    struct{ Topic[uint64Key, uint64] }
	uint64Employee struct {
		Employee[uint64Key, uint64, uint64Topic, uint64Employee]
	}
	plainUint64Topic    struct{ Topic[plainUint64Key, uint64] }
	plainUint64Employee struct {
		Employee[plainUint64Key, uint64, plainUint64Topic, plainUint64Employee]
	}
	nullableTopic    struct{ Topic[nullableKey, int64] }
	nullableEmployee struct {
		Employee[nullableKey, int64, nullableTopic, nullableEmployee]
	}
	plainNullableTopic    struct{ Topic[plainNullableKey, int64] }
	plainNullableEmployee struct {
		Employee[plainNullableKey, int64, plainNullableTopic, plainNullableEmployee]
	}
	encodedTopic    struct{ Topic[encodedKey, string] }
	encodedEmployee struct {
		Employee[encodedKey, string, encodedTopic, encodedEmployee]
	}
	modelTopic    struct{ Topic[gorm.Model, uint] }
	modelEmployee struct {
		Employee[gorm.Model, uint, modelTopic, modelEmployee]
	}
	plainModelTopic    struct{ Topic[plainModel, uint] }
	plainModelEmployee struct {
		Employee[plainModel, uint, plainModelTopic, plainModelEmployee]
	}
	embeddedTopic    struct{ Topic[*idKey, sqltype.ID] }
	embeddedEmployee struct {
		Employee[*idKey, sqltype.ID, embeddedTopic, embeddedEmployee]
	}
	tenantTopic    struct{ Topic[tenantKey, sqltype.ID] }
	tenantEmployee struct {
		Employee[tenantKey, sqltype.ID, tenantTopic, tenantEmployee]
	}
)

// Employee has each kind of association. B is embedded with the primary key, of which K is the type.
type Employee[B, K, L, E any] struct {
	Base B `gorm:"embedded"`
	Content
	Site     string `gorm:"size:40;uniqueIndex:,composite:place"`
	Seat     *int   `gorm:"uniqueIndex:,composite:place"`
	BossID   *K
	Boss     *E                `gorm:"foreignKey:BossID;references:ID"`
	Card     *card[B, K]       `gorm:"foreignKey:EmployeeID;references:ID"`
	Letters  []letter[B, K, E] `gorm:"foreignKey:EmployeeID;references:ID"`
	Pictures []*picture[B, K]  `gorm:"polymorphic:Owner;polymorphicValue:employee;foreignKey:ID"`
	Topics   []*L              `gorm:"many2many:employee_topics;foreignKey:ID;joinForeignKey:EmployeeID;references:ID;joinReferences:TopicID"`
	Clubs    []*L              `gorm:"many2many:memberships;foreignKey:ID;joinForeignKey:EmployeeID;references:ID;joinReferences:TopicID"`
}

// Topic has a column that the database fills in.
type Topic[B, K any] struct {
	Base B `gorm:"embedded"`
	Content
	Level int `gorm:"default:(3+4)"`
}

type card[B, K any] struct {
	Base B `gorm:"embedded"`
	Content
	EmployeeID *K
}

type letter[B, K, E any] struct {
	Base B `gorm:"embedded"`
	Content
	EmployeeID *K
	Sender     *E `gorm:"foreignKey:SenderID;references:ID"`
	SenderID   *K
}

type picture[B, K any] struct {
	Base B `gorm:"embedded"`
	Content
	OwnerID   *K
	OwnerType string `gorm:"size:40"`
}

// membership is a join model with a key of its own.
type membership[B, K any] struct {
	Base       B `gorm:"embedded"`
	EmployeeID K `gorm:"uniqueIndex:,composite:pair"`
	TopicID    K `gorm:"uniqueIndex:,composite:pair"`
}

// Content is what all models but the join model have. The note is another one in each struct and map that is made.
type Content struct {
	Code   *string `gorm:"size:40;uniqueIndex"`
	Note   note    `gorm:"size:40"`
	Grade  int     `gorm:"check:grade < 100"`
	Do     deed    `gorm:"-"`
	SeenID any     `gorm:"-"` // the key in a hook
}

func (p *Employee[B, K, L, E]) self() *Employee[B, K, L, E] { return p }
func (t *Topic[B, K]) self() *Topic[B, K]                   { return t }

func (Employee[B, K, L, E]) TableName(n schema.Namer) string { return n.TableName("employee") }
func (Topic[B, K]) TableName(n schema.Namer) string          { return n.TableName("topic") }
func (card[B, K]) TableName(n schema.Namer) string           { return n.TableName("card") }
func (letter[B, K, E]) TableName(n schema.Namer) string      { return n.TableName("letter") }
func (picture[B, K]) TableName(n schema.Namer) string        { return n.TableName("picture") }
func (membership[B, K]) TableName(n schema.Namer) string     { return n.TableName("membership") }

// tables are all of a family, such that no row refers to one of a table before it, but for that of employees.
var tables = []string{"employee_topics", "memberships", "pictures", "letters", "cards", "employees", "topics"}

// note is a text that the driver may fail to write.
type note string

const (
	unwritable note = "unwritable"
	panicking  note = "panicking"
)

func (n note) Value() (driver.Value, error) {
	switch n {
	case unwritable:
		return nil, errDeed
	case panicking:
		panic(errDeed)
	}
	return string(n), nil
}

var errDeed = errors.New("the hook's error")

// deed is what the hooks of a struct do, once.
type deed int

const (
	nothing deed = iota
	readsKey
	setsKey
	resets
	createsBefore
	createsAfter
	seesAfter
	failsBefore
	failsAfter
	cancels
	panicsBefore
	panicsAfter
	deeds
)

func (p *Employee[B, K, L, E]) BeforeCreate(tx *gorm.DB) error {
	return before[B, K](tx, &p.Content, &p.Base, func() { *p = Employee[B, K, L, E]{Content: p.Content, Boss: p.Boss} })
}
func (p *Employee[B, K, L, E]) AfterCreate(tx *gorm.DB) error {
	return after[B, K](tx, &p.Content, &p.Base)
}

func (l *letter[B, K, E]) BeforeCreate(tx *gorm.DB) error {
	return before[B, K](tx, &l.Content, &l.Base, func() { *l = letter[B, K, E]{Content: l.Content} })
}
func (l *letter[B, K, E]) AfterCreate(tx *gorm.DB) error { return after[B, K](tx, &l.Content, &l.Base) }

func before[B, K any](tx *gorm.DB, c *Content, base *B, reset func()) error {
	done := c.Do
	s := sideOf(tx.Statement.Context)
	switch done {
	case readsKey:
		if keyOf(base).IsZero() {
			c.Note += " new"
		}
	case setsKey:
		presetKey(keyOf(base), s.preset())
	case resets:
		defer reset()
	case createsBefore:
		c.Do = nothing
		return tx.Create(&Topic[B, K]{Content: Content{Note: c.Note + " before"}}).Error
	case failsBefore:
		c.Do = nothing
		return errDeed
	case cancels:
		s.cancel()
	case panicsBefore:
		if s.mayPanic {
			c.Do = nothing
			panic(errDeed)
		}
	default:
		return nil
	}
	c.Do = nothing
	return nil
}

func after[B, K any](tx *gorm.DB, c *Content, base *B) error {
	done := c.Do
	if done == createsAfter || done == seesAfter || done == failsAfter || done == panicsAfter {
		c.Do = nothing
	}
	switch s := sideOf(tx.Statement.Context); done {
	case createsAfter:
		return tx.Create(&Topic[B, K]{Content: Content{Note: c.Note + " after"}}).Error
	case seesAfter:
		c.SeenID = keyOf(base).Interface()
	case failsAfter:
		return errDeed
	case panicsAfter:
		if s.mayPanic {
			panic(errDeed)
		}
	}
	return nil
}

// keyOf returns the key in a struct or in what it is embedded in.
func keyOf(base any) reflect.Value {
	v := reflect.ValueOf(base).Elem()
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	return v.FieldByName("ID")
}

// kit makes what is of the types of a family.
type kit interface {
	models() []any
	setup(db *gorm.DB) error
	employee(m *maker, depth int) any
	topic(m *maker) any
	card(m *maker) any
	picture(m *maker) any
	earlier(m *maker) any
	letter(m *maker, depth int) any
	generic(ctx context.Context, db *gorm.DB, dest any, clauses []clause.Expression) error
}

type models[B, K, L, E any] struct{}

func (models[B, K, L, E]) models() []any {
	return []any{new(L), new(E), &card[B, K]{}, &letter[B, K, E]{}, &picture[B, K]{}, &membership[B, K]{}}
}

func (models[B, K, L, E]) setup(db *gorm.DB) error {
	return db.SetupJoinTable(new(E), "Clubs", &membership[B, K]{})
}

// earlier returns a employee that was made before, or nil.
func (models[B, K, L, E]) earlier(m *maker) any {
	if p := share[E](m, 1); p != nil {
		return p
	}
	return nil
}

// generic creates with GORM's generic interface.
func (models[B, K, L, E]) generic(ctx context.Context, db *gorm.DB, dest any, clauses []clause.Expression) error {
	switch dest := dest.(type) {
	case *E:
		return gorm.G[E](db, clauses...).Create(ctx, dest)
	case *[]E:
		return gorm.G[E](db, clauses...).CreateInBatches(ctx, dest, 2)
	case *L:
		return gorm.G[L](db, clauses...).Create(ctx, dest)
	}
	return db.WithContext(ctx).Clauses(clauses...).Create(dest).Error
}
