package sqltype_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/sqltype"
)

const (
	firstSecret  = "1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	secondSecret = "2:202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"

	orderNumber = 152249823437717504
	orderText   = "ord_JYZTXD6H1EXM9" // of orderNumber by firstSecret
)

type (
	order struct {
		ID       sqltype.PublicID[order]  `json:"id"`
		ClientID sqltype.PublicID[client] `json:"client"`
		Client   *client                  `json:"-"`
		BeforeID *sqltype.PublicID[order] `json:"before"`
		Before   *order                   `json:"-"`
	}
	client struct {
		ID     sqltype.PublicID[client] `json:"id"`
		Orders []order                  `json:"orders"`
	}
	byPointer struct {
		ID sqltype.PublicID[*byPointer]
	}
	noPrefix interface{ Prefix() string }
)

func (order) Prefix() string      { return "ord" }
func (client) Prefix() string     { return "usr" }
func (*byPointer) Prefix() string { return "ord" }

// codecOf returns a codec of the keys that refuses what the default layout cannot have made.
func codecOf(t *testing.T, secrets string, options ...publicid.Option) *publicid.Codec {
	t.Helper()
	keys, err := publicid.ParseKeys(secrets)
	check(t, err)
	codec, err := publicid.New(keys, append(options, publicid.Accept(publicid.MadeBy(idgen.Snowkey.Layout)))...)
	check(t, err)
	return codec
}

// use has the process use a secret until the end of the test.
func use(t *testing.T, secrets string) {
	t.Helper()
	sqltype.UsePublicIDs(codecOf(t, secrets))
	t.Cleanup(func() { sqltype.UsePublicIDs(nil) })
}

// In the database, and in all that goes by the kind, it is what the other types are.
func TestPublicID(t *testing.T) {
	type id = sqltype.PublicID[order]
	t.Run("Scan", testScan[id, *id])
	t.Run("Gob", testGob[id])
	t.Run("Databases", testDatabases[id, *id])
	t.Run("GORM", testGORM[id])
}

// A public id goes out by each way and comes back by each.
func TestPublicIDTexts(t *testing.T) {
	use(t, firstSecret)
	id := sqltype.PublicID[order](orderNumber)
	text, err := id.MarshalText()
	check(t, err)
	appended, err := id.AppendText([]byte("/orders/"))
	check(t, err)
	marshaled, err := json.Marshal(map[sqltype.PublicID[order]]any{id: []any{id, &id, sql.Null[sqltype.PublicID[order]]{V: id, Valid: true}}})
	check(t, err)
	var gql strings.Builder
	check(t, id.MarshalGQLContext(t.Context(), &gql))
	for got, want := range map[string]string{
		string(text): orderText, string(appended): "/orders/" + orderText, gql.String(): `"` + orderText + `"`,
		string(marshaled):                    fmt.Sprintf(`{"%s":["%[1]s","%[1]s",{"V":"%[1]s","Valid":true}]}`, orderText),
		fmt.Sprintf("%v %s %+v", id, id, id): orderText + " " + orderText + " " + orderText,
		fmt.Sprintf("%d %#v", id, id):        "152249823437717504 152249823437717504",
		fmt.Sprint(sqltype.PublicID[*byPointer](orderNumber), sqltype.PublicID[*order](orderNumber)): orderText + " " + orderText,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for name, read := range publicIDReaders(sqltype.ParsePublicID[order]) {
		k := sqltype.PublicID[order](7)
		if err := read(&k, orderText); err != nil || k != id {
			t.Errorf("%s: got %d, %v", name, k, err)
		}
	}
	k := sqltype.PublicID[order](7)
	if err := json.Unmarshal([]byte(`"\u006frd_JYZTXD6H1EXM9"`), &k); err != nil || k != id {
		t.Errorf("an escaped letter: got %d, %v", k, err)
	}
	var back map[sqltype.PublicID[order]]any
	if err := json.Unmarshal(marshaled, &back); err != nil || back[id] == nil {
		t.Errorf("keys of a JSON object: got %v, %v", back, err)
	}
	if got := logged(id, &id); strings.Contains(got, "1522") || strings.Count(got, orderText) != 4 {
		t.Errorf("slog: got %s", got)
	}
}

// publicIDReaders are the ways in of a type of public ids.
func publicIDReaders[K comparable, P interface {
	*K
	encoding.TextUnmarshaler
	flag.Value
	UnmarshalGQLContext(context.Context, any) error
}](parse func(string) (K, error)) map[string]func(P, string) error {
	return map[string]func(P, string) error{
		"parser": func(k P, text string) error {
			parsed, err := parse(text)
			if err == nil {
				*k = parsed
			} else if parsed != *new(K) {
				return fmt.Errorf("got %v beside %w", parsed, err)
			}
			return err
		},
		"text":    func(k P, text string) error { return k.UnmarshalText([]byte(text)) },
		"JSON":    func(k P, text string) error { return json.Unmarshal(fmt.Appendf(nil, "%q", text), k) },
		"GraphQL": func(k P, text string) error { return k.UnmarshalGQLContext(context.Background(), text) },
		"flag": func(k P, text string) error {
			set := flag.NewFlagSet("", flag.ContinueOnError)
			set.SetOutput(io.Discard)
			var failed error
			set.Func("id", "", func(s string) error { failed = k.Set(s); return failed })
			_ = set.Parse([]string{"-id", text})
			return failed
		},
	}
}

// logged is what the handlers of slog write of values.
func logged(values ...any) string {
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		for _, value := range values {
			record := slog.NewRecord(time.Time{}, slog.LevelInfo, "read", 0)
			record.Add("id", value)
			_ = handler.Handle(context.Background(), record)
		}
	}
	return log.String()
}

// What is no public id of the model is refused, by all ways in, and changes nothing.
func TestPublicIDRefused(t *testing.T) {
	use(t, firstSecret)
	unchecked, err := publicid.ParseKeys(firstSecret)
	check(t, err)
	maker, err := publicid.New(unchecked)
	check(t, err)
	future, err := maker.Encode("ord", 1<<62)
	check(t, err)
	zero, err := maker.Encode("ord", 0)
	check(t, err)
	user, err := maker.Encode("usr", orderNumber)
	check(t, err)
	for text, want := range map[string]error{
		user: publicid.ErrPrefix, "JYZTXD6H1EXM9": publicid.ErrPrefix, "": publicid.ErrPrefix, "152249823437717504": publicid.ErrPrefix, strings.ToLower(orderText): publicid.ErrSyntax,
		orderText + " ": publicid.ErrSyntax, future: publicid.ErrForged, zero: sqltype.ErrSyntax, "ord_0YZTXD6H1EXM9": publicid.ErrForged,
	} {
		for name, read := range publicIDReaders(sqltype.ParsePublicID[order]) {
			k := sqltype.PublicID[order](7)
			if err := read(&k, text); !errors.Is(err, sqltype.ErrSyntax) || !errors.Is(err, want) || k != 7 {
				t.Errorf("%s of %q: got %d, %v, want %v", name, text, k, err, want)
			}
		}
	}
	for _, in := range []string{`152249823437717504`, `0`, `true`, `{}`, `["` + orderText + `"]`} {
		k := sqltype.PublicID[order](7)
		if err := json.Unmarshal([]byte(in), &k); !errors.Is(err, sqltype.ErrSyntax) || k != 7 {
			t.Errorf("JSON %s: got %d, %v", in, k, err)
		}
	}
	for in, want := range map[any]error{nil: sqltype.ErrNull, int64(orderNumber): sqltype.ErrSyntax, json.Number("152249823437717504"): sqltype.ErrSyntax} {
		k := sqltype.PublicID[order](7)
		if err := k.UnmarshalGQLContext(t.Context(), in); !errors.Is(err, want) || k != 7 {
			t.Errorf("GraphQL %v: got %d, %v", in, k, err)
		}
	}
	if _, err := sqltype.ParsePublicID[noPrefix](orderText); !errors.Is(err, publicid.ErrPrefix) {
		t.Errorf("an interface: got %v", err)
	}
}

// Zero is no id, and an id that has no text is an error, never its number.
func TestPublicIDWithoutText(t *testing.T) {
	use(t, firstSecret)
	var none sqltype.PublicID[order]
	text, err := none.MarshalText()
	check(t, err)
	marshaled, err := json.Marshal(struct {
		ID      sqltype.PublicID[order]
		Pointer *sqltype.PublicID[order]
		Omitted sqltype.PublicID[order] `json:",omitempty"`
	}{})
	check(t, err)
	var gql strings.Builder
	check(t, none.MarshalGQLContext(t.Context(), &gql))
	if string(text) != "" || none.String() != "" || string(marshaled) != `{"ID":null,"Pointer":null}` || gql.String() != "null" {
		t.Errorf("zero: got %q, %q, %s, %s", text, none, marshaled, &gql)
	}
	k := sqltype.PublicID[order](7)
	if err := json.Unmarshal([]byte("null"), &k); err != nil || k != 7 {
		t.Errorf("null: got %d, %v, want nothing changed, as of any Go value", k, err)
	}
	if got := logged((*sqltype.PublicID[order])(nil)); !strings.Contains(got, `"id":null`) || !strings.Contains(got, "id=<nil>") {
		t.Errorf("a nil pointer in logs: got %s", got)
	}
	testNoText(t, sqltype.PublicID[order](-orderNumber), sqltype.ErrRange)
	testNoText(t, sqltype.PublicID[noPrefix](orderNumber), publicid.ErrPrefix)
}

// Before the secret is set, and when it has been taken away, nothing is converted.
func TestPublicIDWithoutSecret(t *testing.T) {
	testNoText(t, sqltype.PublicID[order](orderNumber), sqltype.ErrNoSecret)
	use(t, firstSecret)
	sqltype.UsePublicIDs(nil)
	testNoText(t, sqltype.PublicID[order](orderNumber), sqltype.ErrNoSecret)
	for name, read := range publicIDReaders(sqltype.ParsePublicID[order]) {
		k := sqltype.PublicID[order](7)
		if err := read(&k, orderText); !errors.Is(err, sqltype.ErrNoSecret) || errors.Is(err, sqltype.ErrSyntax) || k != 7 {
			t.Errorf("%s: got %d, %v, want ErrNoSecret", name, k, err)
		}
	}
	sqltype.UsePublicIDs((*publicid.Codec)(nil)) // who has ignored the error of publicid.New
	testNoText(t, sqltype.PublicID[order](orderNumber), publicid.ErrKeys)
	if _, err := sqltype.ParsePublicID[order](orderText); !errors.Is(err, publicid.ErrKeys) {
		t.Errorf("a nil codec: got %v", err)
	}
}

// testNoText has an id that cannot be converted fail by each way out, without a digit of its number.
func testNoText[K interface {
	comparable
	fmt.Stringer
	encoding.TextMarshaler
	MarshalGQLContext(context.Context, io.Writer) error
}](t *testing.T, id K, want error) {
	t.Helper()
	text, textErr := id.MarshalText()
	object, objectErr := json.Marshal(struct{ ID K }{id})
	keys, keysErr := json.Marshal(map[K]bool{id: true})
	var gql strings.Builder
	gqlErr := id.MarshalGQLContext(t.Context(), &gql)
	for i, err := range []error{textErr, objectErr, gqlErr} {
		if !errors.Is(err, want) {
			t.Errorf("way %d: got %v, want %v", i, err, want)
		}
	}
	if keysErr == nil || !strings.Contains(keysErr.Error(), want.Error()) { // encoding/json does not wrap it
		t.Errorf("keys of a JSON object: got %v, want %v", keysErr, want)
	}
	shown := string(text) + string(object) + string(keys) + gql.String() + fmt.Sprintf("%v %s %q %+v %v", id, id, id, struct{ ID any }{id}, &id) + logged(id, &id)
	if strings.Contains(shown, "15224982") || strings.Contains(shown, "017f22e2") || !strings.Contains(shown, "(") || strings.Contains(shown, "panic") || string(text)+string(object)+string(keys)+gql.String() != "" {
		t.Errorf("got %s", shown)
	}
}

// A secret is replaced while ids are read: old ones go on being read as long as their key is there.
func TestPublicIDRotation(t *testing.T) {
	id := sqltype.PublicID[order](orderNumber)
	use(t, firstSecret)
	old, err := id.MarshalText()
	check(t, err)
	use(t, secondSecret+"\n"+firstSecret)
	made, err := id.MarshalText()
	check(t, err)
	if string(made) == string(old) {
		t.Errorf("the new key makes %s too", old)
	}
	for _, text := range []string{string(old), string(made)} {
		if got, err := sqltype.ParsePublicID[order](text); err != nil || got != id {
			t.Errorf("%s with both keys: got %d, %v", text, got, err)
		}
	}
	use(t, secondSecret)
	if _, err := sqltype.ParsePublicID[order](string(old)); !errors.Is(err, sqltype.ErrSyntax) || !errors.Is(err, publicid.ErrForged) {
		t.Errorf("the old key is gone: got %v", err)
	}
	if got, err := sqltype.ParsePublicID[order](string(made)); err != nil || got != id {
		t.Errorf("the new key alone: got %d, %v", got, err)
	}
}

// Requests go on while the secret is replaced.
func TestPublicIDConcurrently(t *testing.T) {
	before, after := codecOf(t, firstSecret+" "+secondSecret, publicid.ReadOnly()), codecOf(t, firstSecret+" "+secondSecret)
	sqltype.UsePublicIDs(before)
	t.Cleanup(func() { sqltype.UsePublicIDs(nil) })
	var running sync.WaitGroup
	for n := range int64(4) {
		running.Go(func() {
			for i := range int64(500) {
				id := sqltype.PublicID[order](orderNumber + n*500 + i)
				if back, err := sqltype.ParsePublicID[order](id.String()); err != nil || back != id {
					t.Errorf("%s: got %d, %v, want %d", id, back, err, id)
				}
			}
		})
	}
	for range 200 {
		sqltype.UsePublicIDs(after)
		sqltype.UsePublicIDs(before)
	}
	running.Wait()
}

// The plugin makes the keys, the database has numbers, and JSON has public ids, of the row and of those that it refers to.
func TestPublicIDModels(t *testing.T) {
	use(t, firstSecret)
	onEach(t, func(t *testing.T, db *gorm.DB) {
		plugin := gormplugin.New()
		check(t, db.Use(plugin))
		t.Cleanup(func() { check(t, plugin.Close()) })
		check(t, db.AutoMigrate(new(client), new(order)))
		made := client{Orders: []order{{}, {}}}
		check(t, db.Create(&made).Error)
		after := order{ClientID: made.ID, BeforeID: &made.Orders[0].ID}
		check(t, db.Create(&after).Error)
		if made.ID == 0 || made.Orders[0].ClientID != made.ID || made.Orders[1].ID <= made.Orders[0].ID {
			t.Fatalf("got %+v", made)
		}

		var number int64
		check(t, db.Raw("SELECT id FROM orders WHERE before_id IS NOT NULL").Row().Scan(&number))
		if number != after.ID.Int64() {
			t.Errorf("the column has %d, want %d", number, after.ID.Int64())
		}
		requirePublic(t, db, made, after)

		var found client
		check(t, db.Preload("Orders").Preload("Orders.Client").Preload("Orders.Before").First(&found, made.ID).Error)
		if len(found.Orders) != 3 || found.Orders[2].Before == nil || found.Orders[2].Before.ID != made.Orders[0].ID || found.Orders[1].Client.ID != made.ID {
			t.Errorf("preloaded: got %+v", found)
		}
		var joined []order
		check(t, db.Joins("Client").Scopes(gormplugin.After(made.Orders[0].ID), gormplugin.CreatedAfter(time.Now().Add(-time.Hour))).Find(&joined).Error)
		if len(joined) != 2 || joined[0].Client.ID != made.ID {
			t.Errorf("joined: got %+v", joined)
		}
		check(t, db.Model(&found).Association("Orders").Delete(&order{ID: made.Orders[1].ID}))
		check(t, db.Delete(&after).Error)
	})
}

var publicTexts = regexp.MustCompile(`^{"id":"usr_[0-9A-Z]{13}","orders":\[{"id":"(ord_[0-9A-Z]{13})","client":"(usr_[0-9A-Z]{13})","before":null},.*,` +
	`{"id":"ord_[0-9A-Z]{13}","client":"usr_[0-9A-Z]{13}","before":"(ord_[0-9A-Z]{13})"}\]}$`)

// requirePublic sends a client's rows to the world and finds them by what the world sends back.
func requirePublic(t *testing.T, db *gorm.DB, made client, after order) {
	t.Helper()
	stored := client{ID: made.ID}
	check(t, db.Order("id").Find(&stored.Orders, "client_id = ?", made.ID).Error)
	out, err := json.Marshal(stored)
	check(t, err)
	texts := publicTexts.FindStringSubmatch(string(out))
	if texts == nil || texts[1] != texts[3] {
		t.Fatalf("got %s", out)
	}
	var sent client
	check(t, json.Unmarshal(out, &sent))
	if sent.ID != made.ID || !slices.EqualFunc(sent.Orders, stored.Orders, func(a, b order) bool { return a.ID == b.ID && a.ClientID == made.ID }) ||
		*sent.Orders[2].BeforeID != made.Orders[0].ID {
		t.Errorf("got %+v back, want %+v", sent, stored)
	}
	id, err := sqltype.ParsePublicID[order](texts[1])
	check(t, err)
	var one, other order
	check(t, db.First(&one, id).Error)
	check(t, db.First(&other, "before_id = ?", id).Error)
	if one.ID != made.Orders[0].ID || other.ID != after.ID {
		t.Errorf("found %d and %d, want %d and %d", one.ID, other.ID, made.Orders[0].ID, after.ID)
	}
	// The key of another model ends here, and no statement is sent.
	if _, err := sqltype.ParsePublicID[order](texts[2]); !errors.Is(err, publicid.ErrPrefix) {
		t.Errorf("a client's id: got %v", err)
	}
}

// Without the plugin, a row without a key is refused as of the other types.
func TestPublicIDWithoutThePlugin(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(new(byPointer)))
		if err := db.Create(new(byPointer)).Error; !errors.Is(err, sqltype.ErrNoKey) {
			t.Errorf("got %v, want ErrNoKey", err)
		}
		check(t, db.Create(&byPointer{ID: orderNumber}).Error) // the column needs no secret
	})
}
