package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

// A key for raw SQL.
func ExamplePlugin_Next() {
	type Event struct {
		ID   sqltype.ID
		Kind string
	}
	keys := gormplugin.New(gormplugin.From(node(7)))
	db := open(keys, &Event{})
	id, err := keys.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Exec("INSERT INTO events (id, kind) VALUES (?, ?)", id, "login").Error; err != nil {
		log.Fatal(err)
	}
	var event Event
	if err := db.First(&event, id).Error; err != nil {
		log.Fatal(err)
	}
	parts, err := keys.Layout().Decode(event.ID.Int64())
	fmt.Println(event.Kind, parts.Node, err)
	// Output: login 7 <nil>
}

// Keys for raw SQL are those of the plugin's own node number, so that they never meet its others.
func TestNext(t *testing.T) {
	db := openOn(t, dsn.SQLite)
	keys := gormplugin.New()
	if _, err := keys.Next(t.Context()); !errors.Is(err, gormplugin.ErrNoSource) {
		t.Errorf("before Use: got %v, want ErrNoSource", err)
	}
	if _, err := keys.Layout().Decode(1); !errors.Is(err, idgen.ErrLayout) {
		t.Errorf("before Use: got %v of the layout, want ErrLayout", err)
	}
	if err := db.Use(keys); err != nil {
		t.Fatal(err)
	}
	migrate(t, db, &Order{}, &Line{})
	order := Order{Item: "tea"}
	if err := db.Create(&order).Error; err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, 3)
	if err := keys.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	last, err := keys.Next(t.Context())
	if err != nil || order.ID.Int64() >= ids[0] || ids[0] >= ids[1] || ids[1] >= ids[2] || ids[2] >= last {
		t.Errorf("got %d, %d, %d, %v, want each greater than the one before", order.ID, ids, last, err)
	}
	if parts, err := keys.Layout().Decode(last); err != nil || parts.Node != order.ID.Parts().Node || keys.Layout() != idgen.Snowkey.Layout {
		t.Errorf("got %+v of %s, %v, want the number of %+v", parts, keys.Layout(), err, order.ID.Parts())
	}
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Next(t.Context()); err == nil {
		t.Error("after Close: got no error")
	}
}

func TestNextFailures(t *testing.T) {
	cause := errors.New("out of keys")
	for name, tt := range map[string]struct {
		keys *gormplugin.Plugin
		want error
	}{
		"error": {gormplugin.New(gormplugin.From(failing{cause})), cause},
		"panic": {gormplugin.New(gormplugin.From(failing{})), gormplugin.ErrSourcePanic},
		"UUIDs": {gormplugin.New(gormplugin.From(uuids{})), gormplugin.ErrNoSource},
	} {
		ids := []int64{5, 6}
		_, err := tt.keys.Next(t.Context())
		if fillErr := tt.keys.Fill(t.Context(), ids); !errors.Is(err, tt.want) || !errors.Is(fillErr, tt.want) || ids[0] != 5 {
			t.Errorf("%s: got %v, %v and %d, want %v and nothing changed", name, err, fillErr, ids, tt.want)
		}
		if layout := tt.keys.Layout(); layout != (idgen.Layout{}) {
			t.Errorf("%s: got the layout %s of a source without", name, layout)
		}
	}
}
