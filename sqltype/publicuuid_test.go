package sqltype_test

import (
	"bytes"
	"database/sql"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/sqltype"
	"github.com/snowkey-go/snowkey/uid"
)

// The texts of aUUID as the id of an order, by firstSecret and as a TypeID.
const orderUUIDText, orderTypeID = "ord_RSDBP2W4D3VKAFS9X81KVQTCS1", "ord_01fwhe4ydgfk1shh6w1g60eecf"

// A public id of a UUID goes out by each way and comes back by each, with a secret and as a TypeID.
func TestPublicUUIDTexts(t *testing.T) {
	id := sqltype.PublicUUID[order](aUUID)
	for want, codec := range map[string]sqltype.PublicCodec{orderUUIDText: codecOf(t, firstSecret, publicid.Versions(7)), orderTypeID: publicid.TypeIDs{}} {
		sqltype.UsePublicIDs(codec)
		t.Cleanup(func() { sqltype.UsePublicIDs(nil) })
		marshaled, err := json.Marshal(map[sqltype.PublicUUID[order]]any{id: []any{id, &id, sql.Null[sqltype.PublicUUID[order]]{V: id, Valid: true}}})
		check(t, err)
		appended, err := id.AppendText([]byte("/orders/"))
		check(t, err)
		var gql strings.Builder
		check(t, id.MarshalGQLContext(t.Context(), &gql))
		for got, want := range map[string]string{
			string(appended): "/orders/" + want, gql.String(): `"` + want + `"`,
			string(marshaled):                    fmt.Sprintf(`{"%s":["%[1]s","%[1]s",{"V":"%[1]s","Valid":true}]}`, want),
			fmt.Sprintf("%v %s %+v", id, id, id): want + " " + want + " " + want,
		} {
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		for name, read := range publicIDReaders(sqltype.ParsePublicUUID[order]) {
			var k sqltype.PublicUUID[order]
			if err := read(&k, want); err != nil || k != id {
				t.Errorf("%s: got %s, %v", name, sqltype.UUID(k), err)
			}
			before := sqltype.PublicUUID[order]{7}
			for wrong, want := range map[string]error{
				"usr" + want[3:]: publicid.ErrPrefix, aUUID.String(): publicid.ErrPrefix, "": publicid.ErrPrefix, want + "0": publicid.ErrSyntax, orderText: publicid.ErrSyntax,
			} {
				k := before
				if err := read(&k, wrong); !errors.Is(err, sqltype.ErrSyntax) || !errors.Is(err, want) || k != before {
					t.Errorf("%s of %q: got %s, %v, want %v", name, wrong, sqltype.UUID(k), err, want)
				}
			}
		}
		var back map[sqltype.PublicUUID[order]]any
		if err := json.Unmarshal(marshaled, &back); err != nil || back[id] == nil {
			t.Errorf("keys of a JSON object: got %v, %v", back, err)
		}
		if got := logged(id, &id); strings.Contains(got, "017f22e2") || strings.Count(got, want) != 4 {
			t.Errorf("slog: got %s", got)
		}
	}
}

// What is no id has no text, and an id that has none is an error, never its UUID.
func TestPublicUUIDWithoutText(t *testing.T) {
	id := sqltype.PublicUUID[order](aUUID)
	testNoText(t, id, sqltype.ErrNoSecret)
	if _, err := sqltype.ParsePublicUUID[order](orderUUIDText); !errors.Is(err, sqltype.ErrNoSecret) {
		t.Errorf("no secret: got %v", err)
	}
	var stream bytes.Buffer
	var back sqltype.PublicUUID[order]
	check(t, gob.NewEncoder(&stream).Encode(id)) // which needs none
	if check(t, gob.NewDecoder(&stream).Decode(&back)); back != id {
		t.Errorf("gob: got %s", sqltype.UUID(back))
	}
	sqltype.UsePublicIDs(publicid.TypeIDs{})
	t.Cleanup(func() { sqltype.UsePublicIDs(nil) })
	testNoText(t, sqltype.PublicUUID[noPrefix](aUUID), publicid.ErrPrefix)
	testNoText(t, sqltype.PublicID[order](orderNumber), publicid.ErrKeys) // a number has no TypeID
	if _, err := sqltype.ParsePublicUUID[order]("ord_" + strings.Repeat("0", 26)); !errors.Is(err, sqltype.ErrSyntax) {
		t.Errorf("the text of zero: got %v", err)
	}
	marshaled, err := json.Marshal(struct {
		ID      sqltype.PublicUUID[order]
		Pointer *sqltype.PublicUUID[order]
		Omitted sqltype.PublicUUID[order] `json:",omitzero"`
	}{})
	if text := (sqltype.PublicUUID[order]{}).String(); err != nil || text != "" || string(marshaled) != `{"ID":null,"Pointer":null}` {
		t.Errorf("zero: got %q, %s, %v", text, marshaled, err)
	}
	for in, want := range map[any]error{nil: sqltype.ErrNull, 12: sqltype.ErrSyntax} {
		if err := back.UnmarshalGQLContext(t.Context(), in); !errors.Is(err, want) || back != id {
			t.Errorf("GraphQL %v: got %v, want %v", in, err, want)
		}
		if err := back.Scan(in); !errors.Is(err, want) || back != id {
			t.Errorf("Scan(%v): got %v, want %v", in, err, want)
		}
	}
	if err := json.Unmarshal([]byte("null"), &back); err != nil || back != id {
		t.Errorf("null: got %v, want nothing changed, as of any Go value", err)
	}
	if err := json.Unmarshal([]byte("12"), &back); !errors.Is(err, sqltype.ErrSyntax) || back != id {
		t.Errorf("a number: got %v", err)
	}
	if err := back.Scan(orderTypeID); !errors.Is(err, sqltype.ErrSyntax) || back != id {
		t.Errorf("a public id from the database: got %v", err)
	}
}

type (
	// booking has a public id and belongs to a guest, whose key is a UUID of a type of its own.
	booking struct {
		ID      sqltype.PublicUUID[booking]  `json:"id"`
		GuestID sqltype.UUIDKey[guest]       `json:"guest"`
		AfterID *sqltype.PublicUUID[booking] `json:"after"`
		After   *booking                     `json:"-"`
		Code    string                       `json:"-" gorm:"size:20;uniqueIndex"`
	}
	guest struct {
		ID       sqltype.UUIDKey[guest]
		Bookings []booking
	}
)

func (booking) Prefix() string { return "bkg" }

// The plugin makes the keys on every way to create a row, and a row is found by what the world sends back.
func TestPublicUUIDModels(t *testing.T) {
	use(t, firstSecret)
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.Use(gormplugin.New(gormplugin.From(uid.V7()))))
		check(t, db.AutoMigrate(new(guest), new(booking)))
		made := guest{Bookings: []booking{{Code: "a"}, {Code: "b"}}}
		check(t, db.Create(&made).Error)
		after := booking{GuestID: made.ID, After: &booking{Code: "c", GuestID: made.ID}, Code: "d"}
		check(t, db.Save(&after).Error)
		columns := map[string]any{"code": "e", "guest_id": made.ID}
		check(t, db.Model(new(booking)).Create(columns).Error)
		batch := []booking{{Code: "f", GuestID: made.ID}, {Code: "a", GuestID: made.ID}} // the second one is there
		update := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"after_id"})}
		check(t, db.Clauses(update).Create(&batch).Error)

		ids := []sqltype.PublicUUID[booking]{made.Bookings[0].ID, made.Bookings[1].ID, after.After.ID, after.ID, columns["id"].(sqltype.PublicUUID[booking]), batch[0].ID}
		for i, id := range ids {
			if sqltype.UUID(id).Time().IsZero() || i > 0 && bytes.Compare(ids[i-1][:], id[:]) >= 0 && i != 3 && i != 2 {
				t.Errorf("key %d is %s", i, sqltype.UUID(id))
			}
		}
		if batch[1].ID != ids[0] || *after.AfterID != ids[2] || made.Bookings[1].GuestID != made.ID {
			t.Errorf("got %+v, %+v and %+v", batch, after, made)
		}
		out, err := json.Marshal(after)
		check(t, err)
		var sent booking
		check(t, json.Unmarshal(out, &sent))
		if text := string(out); sent.ID != after.ID || strings.Count(text, `"bkg_`) != 2 || strings.Contains(text, sqltype.UUID(after.ID).String()) {
			t.Errorf("got %s", out)
		}
		id, err := sqltype.ParsePublicUUID[booking](after.ID.String()) // of a URL
		check(t, err)
		var one, joined booking
		var rest []booking
		check(t, db.Preload("After").First(&one, id).Error)
		check(t, db.Joins("After").First(&joined, "bookings.after_id = ?", ids[2]).Error)
		check(t, db.Scopes(gormplugin.After(made.Bookings[1].ID), gormplugin.CreatedAfter(time.Now().Add(-time.Hour))).Find(&rest).Error)
		if one.Code != "d" || one.After.Code != "c" || joined.After == nil || joined.After.ID != ids[2] || len(rest) != 4 {
			t.Errorf("got %+v, %+v and %+v", one, joined, rest)
		}
		if _, err := sqltype.ParsePublicUUID[order](id.String()); !errors.Is(err, publicid.ErrPrefix) {
			t.Errorf("the id of another model: got %v", err)
		}
	})
}
