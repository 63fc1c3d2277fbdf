package gormplugin_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

var hookScenarios = []scenario{
	{name: "26 hook resets the struct", id: hookResets[sqltype.ID], i64: hookResets[int64], uint: hookResets[uint], uuid: hookResets[sqltype.UUID], ulid: hookResets[sqltype.ULID], text: hookResets[nano]},
	{name: "27 source panics", id: sourcePanics[sqltype.ID], i64: sourcePanics[int64], uint: sourcePanics[uint], uuid: sourcePanics[sqltype.UUID], ulid: sourcePanics[sqltype.ULID], text: sourcePanics[nano]},
	{name: "31 hook reads or sets the key", id: hookReads[sqltype.ID], i64: hookReads[int64], uint: hookReads[uint], uuid: hookReads[sqltype.UUID], ulid: hookReads[sqltype.ULID], text: hookReads[nano]},
	{name: "39 shadowed hooks and SkipHooks", id: hooksShadowed[sqltype.ID], i64: hooksShadowed[int64], uint: hooksShadowed[uint], uuid: hooksShadowed[sqltype.UUID], ulid: hooksShadowed[sqltype.ULID], text: hooksShadowed[nano]},
}

// Forgetful has a hook that remembers the key and then loses it.
type Forgetful[K key] struct {
	ID   K
	Text string
	seen K
}

func (Forgetful[K]) TableName(namer schema.Namer) string { return namer.TableName("Forgetful") }

func (f *Forgetful[K]) BeforeCreate(*gorm.DB) error {
	*f = Forgetful[K]{Text: f.Text + " reset", seen: f.ID}
	return nil
}

func hookResets[K key](t *testing.T, s scene) {
	db := s.useOptions(t, s.open(t), []gormplugin.Option{gormplugin.BeforeHooks()}, &Forgetful[K]{})
	one, batch := Forgetful[K]{Text: "a"}, []*Forgetful[K]{{Text: "b"}, {Text: "c"}}
	create(t, db, &one)
	create(t, db, batch)
	for _, f := range []*Forgetful[K]{&one, batch[0], batch[1]} {
		requireMade(t, f.ID, f.seen)
		if n := count(t, db.Where("id = ? AND text = ?", f.ID, f.Text), &Forgetful[K]{}); n != 1 {
			t.Errorf("got %d rows %q of the key %d, want 1", n, f.Text, f.ID)
		}
	}
	requireKeys(t, db, &Forgetful[K]{}, one.ID, batch[0].ID, batch[1].ID)
}

func sourcePanics[K key](t *testing.T, s scene) {
	db := s.useOptions(t, s.open(t), []gormplugin.Option{s.failing(nil)}, &Member[K]{}, &Letter[K]{})
	one(t, db)
	for name, value := range map[string]any{
		"struct": &Member[K]{Email: "a"}, "batch": []Member[K]{{Email: "a"}, {Email: "b"}},
		"child": &Member[K]{ID: numbered[K](5), Email: "a", Letters: []Letter[K]{{}}}, "parent": &Letter[K]{ID: numbered[K](5), Member: &Member[K]{Email: "a"}},
	} {
		if err := db.Create(value).Error; !errors.Is(err, gormplugin.ErrSourcePanic) {
			t.Errorf("%s: got %v, want ErrSourcePanic", name, err)
		}
		requireConnection(t, db)
	}
	if err := db.Model(&Member[K]{}).Create(map[string]any{"email": "a"}).Error; !errors.Is(err, gormplugin.ErrSourcePanic) {
		t.Errorf("map: got %v, want ErrSourcePanic", err)
	}
	requireConnection(t, db)
	requireMembers[K](t, db)
	requireKeys[K](t, db, &Letter[K]{})
}

// Watched has a hook that reads the key, and sets it for the text "own".
type Watched[K key] struct {
	ID   K
	Text string
	seen []K
}

func (Watched[K]) TableName(namer schema.Namer) string { return namer.TableName("Watched") }

func (w *Watched[K]) BeforeSave(*gorm.DB) error {
	w.seen = append(w.seen, w.ID)
	return nil
}

func (w *Watched[K]) BeforeCreate(*gorm.DB) error {
	w.seen = append(w.seen, w.ID)
	if w.Text == "own" {
		w.ID = numbered[K](77)
	}
	return nil
}

func (w *Watched[K]) AfterCreate(*gorm.DB) error {
	w.seen = append(w.seen, w.ID)
	return nil
}

// hookReads has hooks before the INSERT that find the key zero, which is what says that a row is new, or with the option BeforeHooks made.
func hookReads[K key](t *testing.T, s scene) {
	hooksRead[K](t, s.use(t, &Watched[K]{}), false)
	db := s.open(t)
	do(t, db.Migrator().DropTable(&Watched[K]{}))
	hooksRead[K](t, s.useOptions(t, db, []gormplugin.Option{gormplugin.BeforeHooks()}, &Watched[K]{}), true)
}

func hooksRead[K key](t *testing.T, db *gorm.DB, made bool) {
	t.Helper()
	one, batch := Watched[K]{Text: "a"}, []Watched[K]{{Text: "b"}, {Text: "own"}, {ID: numbered[K](5), Text: "c"}}
	create(t, db, &one)
	create(t, db, &batch)
	for _, w := range []Watched[K]{one, batch[0]} {
		requireMade(t, w.ID)
		want := []K{numbered[K](0), numbered[K](0), w.ID}
		if made {
			want = []K{w.ID, w.ID, w.ID}
		}
		if !slices.Equal(w.seen, want) {
			t.Errorf("the hooks saw the keys %d, want %d", w.seen, want)
		}
	}
	if batch[1].ID != numbered[K](77) || batch[2].ID != numbered[K](5) {
		t.Errorf("got the keys %d and %d, want the hook's 77 and the caller's 5", batch[1].ID, batch[2].ID)
	}
	requireKeys(t, db, &Watched[K]{}, one.ID, batch[0].ID, numbered[K](77), numbered[K](5))
}

// Base has a hook that makes keys of its own, as many code bases do, and that models shadow by one of theirs.
type Base[K key] struct{ ID K }

func (b *Base[K]) BeforeCreate(*gorm.DB) error {
	if b.ID == numbered[K](0) {
		b.ID = numbered[K](99)
	}
	return nil
}

type Shadowing[K key] struct {
	Base[K]
	Text string
}

func (Shadowing[K]) TableName(namer schema.Namer) string { return namer.TableName("Shadowing") }

func (*Shadowing[K]) BeforeCreate(*gorm.DB) error { return nil }

func hooksShadowed[K key](t *testing.T, s scene) {
	db := s.use(t, &Shadowing[K]{})
	one, batch, m := Shadowing[K]{Text: "a"}, []Shadowing[K]{{Text: "b"}, {Text: "c"}}, map[string]any{"text": "d"}
	create(t, db, &one)
	skip := db.Session(&gorm.Session{SkipHooks: true})
	create(t, skip, &batch)
	create(t, skip.Model(&Shadowing[K]{}), m)
	requireMade(t, one.ID, batch[0].ID, batch[1].ID)
	requireKeys(t, db, &Shadowing[K]{}, one.ID, batch[0].ID, batch[1].ID, mapKey[K](t, m, "id"))
}

// The source is asked with the context of the statement.
func TestSourceContext(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		generator := newCounting(t)
		useSource(t, db, generator, &Order{}, &Line{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.WithContext(ctx).Create(&Order{}).Error; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
		requireConnection(t, db)
		requireRows(t, db, map[sqltype.ID]string{})
	})
}
