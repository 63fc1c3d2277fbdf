package gormplugin_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

var batchScenarios = []scenario{
	{name: "28 auto-increment off under concurrency", id: coldSchema[sqltype.ID], i64: coldSchema[int64], uint: coldSchema[uint], uuid: coldSchema[sqltype.UUID], ulid: coldSchema[sqltype.ULID]},
	{name: "32 CreateInBatches across batches", id: inBatches[sqltype.ID], i64: inBatches[int64], uint: inBatches[uint], uuid: inBatches[sqltype.UUID], ulid: inBatches[sqltype.ULID], text: inBatches[nano]},
	{name: "33 batch of preset and zero keys", id: mixedBatch[sqltype.ID], i64: mixedBatch[int64], uint: mixedBatch[uint], uuid: mixedBatch[sqltype.UUID], ulid: mixedBatch[sqltype.ULID], text: mixedBatch[nano]},
	{name: "34 Save of a slice with rows that are there", id: saveSlice[sqltype.ID], i64: saveSlice[int64], uint: saveSlice[uint], uuid: saveSlice[sqltype.UUID], ulid: saveSlice[sqltype.ULID], text: saveSlice[nano]},
	{name: "35 child that is there keeps its key", id: existingChild[sqltype.ID], i64: existingChild[int64], uint: existingChild[uint], uuid: existingChild[sqltype.UUID], ulid: existingChild[sqltype.ULID], text: existingChild[nano]},
	{name: "38 empty slice", id: emptySlice[sqltype.ID], i64: emptySlice[int64], uint: emptySlice[uint], uuid: emptySlice[sqltype.UUID], ulid: emptySlice[sqltype.ULID], text: emptySlice[nano]},
}

// Eight goroutines meet the schema at once, before anything has been done with it.
func coldSchema[K key](t *testing.T, s scene) {
	useMembers[K](t, s) // makes the tables
	db := s.open(t)
	options := []gormplugin.Option{gormplugin.From(mustGenerator(t))}
	if s.all {
		options = append(options, gormplugin.AllKeys())
	}
	if s.prepared {
		options = append(options, gormplugin.Prepare(&Member[K]{}, &Letter[K]{}))
	}
	if err := db.Use(gormplugin.New(options...)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	start := make(chan struct{})
	members := make([][]Member[K], 8)
	for i := range members {
		wg.Go(func() {
			<-start
			one := Member[K]{Email: fmt.Sprint(i, " alone"), Letters: []Letter[K]{{Text: "x"}, {Text: "y"}}}
			batch := []Member[K]{{Email: fmt.Sprint(i, " first")}, {Email: fmt.Sprint(i, " second")}}
			if err := errors.Join(db.Create(&one).Error, db.Create(&batch).Error); err != nil {
				t.Error(err)
				return
			}
			if one.Letters[0].MemberID != one.ID || one.Letters[1].MemberID != one.ID {
				t.Errorf("got letters of %d and %d, want %d", one.Letters[0].MemberID, one.Letters[1].MemberID, one.ID)
			}
			members[i] = append(batch, one)
		})
	}
	close(start)
	wg.Wait()
	var want []Member[K]
	for _, m := range members {
		for i := range m {
			requireMade(t, m[i].ID)
		}
		want = append(want, m...)
	}
	requireMembers(t, db, want...)
	if n := count(t, db, &Letter[K]{}); n != 16 {
		t.Errorf("got %d letters, want 16", n)
	}
}

func inBatches[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	members := make([]Member[K], 50)
	for i := range members {
		members[i].Email = fmt.Sprint(i)
	}
	result := db.CreateInBatches(&members, 20)
	if result.Error != nil || result.RowsAffected != 50 {
		t.Fatalf("got %d rows, %v, want 50", result.RowsAffected, result.Error)
	}
	for i, m := range members {
		requireMade(t, m.ID)
		if i > 0 && sortable(m.ID) <= sortable(members[i-1].ID) && !s.text {
			t.Fatalf("row %d has the key %d after %d, want increasing keys", i, m.ID, members[i-1].ID)
		}
	}
	requireMembers(t, db, members...)
}

func mixedBatch[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	batch := []Member[K]{{Email: "a"}, {ID: numbered[K](50), Email: "b"}, {Email: "c"}, {ID: numbered[K](7), Email: "d"}, {Email: "e"}}
	create(t, db, &batch)
	increasing := sortable(batch[0].ID) < sortable(batch[2].ID) && sortable(batch[2].ID) < sortable(batch[4].ID)
	if batch[1].ID != numbered[K](50) || batch[3].ID != numbered[K](7) || !increasing && !s.text {
		t.Errorf("got the keys %d, want 50 and 7 where they were and the others increasing", []K{batch[0].ID, batch[1].ID, batch[2].ID, batch[3].ID, batch[4].ID})
	}
	requireMade(t, batch[0].ID, batch[2].ID, batch[4].ID)
	requireMembers(t, db, batch...)
}

func saveSlice[K key](t *testing.T, s scene) {
	generator := newCounting(t)
	db := s.useOptions(t, s.open(t), s.from(generator), &Member[K]{}, &Letter[K]{})
	there := []Member[K]{{Email: "a", Name: "first"}, {Email: "b", Name: "first"}}
	create(t, db, &there)
	given := generator.given

	there[0].Name, there[1].Name = "second", "second"
	save(t, db, &there[0])
	save(t, db, &there)
	if generator.given != given {
		t.Errorf("Save of rows that are there took %d keys, want none", generator.given-given)
	}
	mixed := []Member[K]{there[1], {Email: "c", Name: "third"}, there[0], {Email: "d", Name: "third"}}
	mixed[0].Name = "third"
	save(t, db, &mixed)
	if generator.given != given+2 && !s.other {
		t.Errorf("Save took %d keys, want 2", generator.given-given)
	}
	if mixed[0].ID != there[1].ID || mixed[2].ID != there[0].ID {
		t.Errorf("got the keys %d and %d, want %d and %d as before", mixed[0].ID, mixed[2].ID, there[1].ID, there[0].ID)
	}
	requireMade(t, mixed[1].ID, mixed[3].ID)
	requireMembers(t, db, mixed...)

	missing := Member[K]{ID: numbered[K](5), Email: "e"} // an UPDATE that finds nothing, then an INSERT
	save(t, db, &missing)
	fresh := Member[K]{Email: "f"}
	save(t, db, &fresh)
	requireMade(t, fresh.ID)
	requireMembers(t, db, append(mixed, missing, fresh)...)
}

func save(t *testing.T, db *gorm.DB, value any) {
	t.Helper()
	if err := db.Save(value).Error; err != nil {
		t.Fatal(err)
	}
}

func existingChild[K key](t *testing.T, s scene) {
	db := useMembers[K](t, s)
	a := Member[K]{Email: "a", Letters: []Letter[K]{{Text: "x"}}}
	create(t, db, &a)
	child := a.Letters[0].ID
	requireMade(t, child)
	a.Letters = append(a.Letters, Letter[K]{Text: "y"})
	save(t, db, &a)
	if a.Letters[0].ID != child {
		t.Errorf("Save: got the key %d of the child, want %d", a.Letters[0].ID, child)
	}
	a.Letters = append([]Letter[K]{{Text: "z"}}, a.Letters...)
	a.Letters[1].Text = "changed"
	if err := db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&a).Error; err != nil {
		t.Fatal(err)
	}
	moved := Member[K]{Email: "b", Letters: []Letter[K]{{ID: child, Text: "changed"}, {Text: "w"}}}
	create(t, db, &moved)
	if a.Letters[1].ID != child || moved.Letters[0].ID != child {
		t.Errorf("got the keys %d and %d of the child, want %d", a.Letters[1].ID, moved.Letters[0].ID, child)
	}
	requireMade(t, a.Letters[0].ID, a.Letters[2].ID, moved.Letters[1].ID)
	requireKeys(t, db, &Letter[K]{}, child, a.Letters[0].ID, a.Letters[2].ID, moved.Letters[1].ID)
	if n := count(t, db.Where("id = ? AND member_id = ? AND text = ?", child, moved.ID, "changed"), &Letter[K]{}); n != 1 {
		t.Errorf("got %d rows of the child at its new parent, want 1", n)
	}
	requireMembers(t, db, Member[K]{ID: a.ID, Email: "a"}, Member[K]{ID: moved.ID, Email: "b"})
}

func emptySlice[K key](t *testing.T, s scene) {
	generator := newCounting(t)
	db := s.useOptions(t, s.open(t), s.from(generator), &Member[K]{}, &Letter[K]{})
	for name, value := range map[string]any{
		"values": &[]Member[K]{}, "pointers": []*Member[K]{}, "nil": []Member[K](nil), "array": &[0]Member[K]{},
	} {
		if err := db.Create(value).Error; !errors.Is(err, gorm.ErrEmptySlice) {
			t.Errorf("%s: got %v, want ErrEmptySlice", name, err)
		}
	}
	model := db.Model(&Member[K]{}).Session(&gorm.Session{})
	if err := model.Create([]map[string]any{}).Error; !errors.Is(err, gorm.ErrEmptySlice) {
		t.Errorf("maps: got %v, want ErrEmptySlice", err)
	}
	if err := model.Create(&[]map[string]any{}).Error; !errors.Is(err, gorm.ErrEmptySlice) {
		t.Errorf("pointer to maps: got %v, want ErrEmptySlice", err)
	}
	if generator.given != 0 {
		t.Errorf("got %d keys from the source, want none", generator.given)
	}
	requireMembers[K](t, db)
}
