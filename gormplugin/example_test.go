package gormplugin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/google/uuid"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// open opens a database in memory with a plugin.
func open(plugin *gormplugin.Plugin, models ...any) *gorm.DB {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: silent{}})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		log.Fatal(err)
	}
	pool.SetMaxOpenConns(1) // every connection has a memory of its own
	if err := db.Use(plugin); err != nil {
		log.Fatal(err)
	}
	if err := db.AutoMigrate(models...); err != nil {
		log.Fatal(err)
	}
	return db
}

// node returns a generator with a node number of its own.
func node(number int64) *idgen.Snowflake {
	generator, err := idgen.New(idgen.WithNode(number))
	if err != nil {
		log.Fatal(err)
	}
	return generator
}

// Every model that embeds gorm.Model gets a snowflake key, and columns without auto-increment.
func ExampleAllKeys() {
	type User struct {
		gorm.Model
		Name string
	}
	db := open(gormplugin.New(gormplugin.From(node(7)), gormplugin.AllKeys(), gormplugin.Prepare(&User{})), &User{})
	user := User{Name: "Ada"}
	if err := db.Create(&user).Error; err != nil {
		log.Fatal(err)
	}
	parts, err := idgen.Snowkey.Decode(int64(user.ID))
	fmt.Println(parts.Node, err)
	// Output: 7 <nil>
}

// uuids makes UUIDs of version 7.
type uuids struct{}

func (uuids) Next(context.Context) ([16]byte, error) { return uuid.NewV7() }

func (uuids) Fill(_ context.Context, keys [][16]byte) (err error) {
	for i := range keys {
		if keys[i], err = uuid.NewV7(); err != nil {
			return err
		}
	}
	return nil
}

// A field's tag names the source of its keys, and their text form.
func ExampleNamed() {
	type Invoice struct {
		ID     sqltype.ID // of the default source
		Public uuid.UUID  `gorm:"type:char(36);uniqueIndex;snowkey:uuid"`
		Number string     `gorm:"size:13;snowkey:invoices,base32"`
	}
	db := open(gormplugin.New(
		gormplugin.From(node(7)),
		gormplugin.Named("uuid", uuids{}),
		gormplugin.Named("invoices", node(8)),
	), &Invoice{})
	invoice := Invoice{}
	if err := db.Create(&invoice).Error; err != nil {
		log.Fatal(err)
	}
	number, err := idgen.Base32.Parse(invoice.Number)
	if err != nil {
		log.Fatal(err)
	}
	parts, err := idgen.Snowkey.Decode(number)
	fmt.Println(invoice.ID != 0, invoice.Public.Version(), parts.Node, err)
	// Output: true VERSION_7 8 <nil>
}

// Rows without a model, from maps.
func ExampleTable() {
	db := open(gormplugin.New(gormplugin.From(node(7)), gormplugin.Table("events", "id")))
	if err := db.Exec("CREATE TABLE events (id integer PRIMARY KEY, kind text)").Error; err != nil {
		log.Fatal(err)
	}
	event := map[string]any{"kind": "login"}
	if err := db.Table("events").Create(event).Error; err != nil {
		log.Fatal(err)
	}
	parts, err := idgen.Snowkey.Decode(event["id"].(sqltype.ID).Int64())
	fmt.Println(parts.Node, err)
	// Output: 7 <nil>
}

// The struct has the key of the row that was there.
func ExampleNew_upsert() {
	type Member struct {
		gormplugin.Model
		Email string `gorm:"uniqueIndex"`
		Name  string
	}
	db := open(gormplugin.New(gormplugin.From(node(7))), &Member{})
	first := Member{Email: "ada@example.org", Name: "Ada"}
	again := Member{Email: "ada@example.org", Name: "Ada Lovelace"}
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	for _, member := range []*Member{&first, &again} {
		if err := db.Clauses(upsert).Create(member).Error; err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(again.ID == first.ID)
	// Output: true
}
