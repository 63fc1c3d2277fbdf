package sqltype_test

import (
	"cmp"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/internal/dsn"
	"github.com/snowkey-go/snowkey/sqltype"
)

// onEach runs a test on a fresh database of each kind.
func onEach(t *testing.T, test func(t *testing.T, db *gorm.DB)) {
	for name, make := range databases {
		t.Run(name, func(t *testing.T) {
			database := make(t)
			parsed, err := dsn.Parse(database.DSN)
			if err != nil {
				t.Fatal(err)
			}
			pool := database.Open(t)
			pool.SetMaxOpenConns(1)
			db, err := gorm.Open(parsed.Dialector(pool), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			test(t, db)
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// row has a key in each way that a column can be one.
type row[K any] struct {
	ID      K
	Ref     sql.Null[K]
	Pointer *K
	Item    string
}

func (row[K]) TableName() string { return "rows" }

func testGORM[K key](t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(new(row[K])))
		testColumns[K](t, db)

		one, two := row[K]{ID: big, Ref: sql.Null[K]{V: -big, Valid: true}, Item: "tea"}, row[K]{ID: big + 1, Item: "salt"}
		one.Pointer = &one.ID
		check(t, db.Create(&one).Error)
		check(t, db.Create([]*row[K]{&two}).Error)
		check(t, db.Model(new(row[K])).Create(map[string]any{"id": K(big + 2), "ref": sql.Null[K]{V: 5, Valid: true}, "pointer": K(6), "item": "map"}).Error)
		check(t, db.Model(new(row[K])).Create([]map[string]any{{"ID": K(-1), "Ref": nil, "Pointer": (*K)(nil)}, {"ID": K(-2), "Ref": sql.Null[K]{}, "Pointer": nil}}).Error)

		var rows []row[K]
		check(t, db.Order("id").Find(&rows).Error)
		type flat struct {
			id      K
			null    sql.Null[K]
			pointer K
		}
		var got []flat
		for _, r := range rows {
			f := flat{id: r.ID, null: r.Ref}
			if r.Pointer != nil {
				f.pointer = *r.Pointer
			}
			got = append(got, f)
		}
		want := []flat{{id: -2}, {id: -1}, {big, sql.Null[K]{V: -big, Valid: true}, big}, {id: big + 1}, {big + 2, sql.Null[K]{V: 5, Valid: true}, 6}}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		testConditions[K](t, db)
		testMaps[K](t, db)

		check(t, db.Model(&row[K]{ID: big}).Updates(map[string]any{"ref": nil, "pointer": K(9)}).Error)
		check(t, db.Model(&row[K]{ID: big + 1}).Update("ref", sql.Null[K]{V: 8, Valid: true}).Error)
		var a, b row[K]
		check(t, db.First(&a, K(big)).Error)
		check(t, db.First(&b, "id = ?", K(big+1)).Error)
		if a.Ref.Valid || a.Pointer == nil || *a.Pointer != 9 || b.Ref.V != 8 {
			t.Errorf("updated: got %+v, %+v", a, b)
		}

		testNull[K](t, db)
	})
}

// GORM scans a field by a pointer to a pointer, so what is NULL never comes to a plain key there, as it does in all else.
func testNull[K key](t *testing.T, db *gorm.DB) {
	t.Helper()
	null := db.Model(new(row[K])).Where("id = ?", K(-1))
	plain := struct{ Ref K }{7}
	if err := null.Session(&gorm.Session{}).Select("ref").Take(&plain).Error; err != nil || plain.Ref != 0 {
		t.Errorf("NULL in a field: got %d, %v, want 0 from GORM", plain.Ref, err)
	}
	var keys []K
	if err := null.Session(&gorm.Session{}).Pluck("ref", &keys).Error; !errors.Is(err, sqltype.ErrNull) {
		t.Errorf("NULL plucked: got %d, %v, want ErrNull", keys, err)
	}
	k := K(7)
	if err := null.Session(&gorm.Session{}).Select("ref").Row().Scan(&k); !errors.Is(err, sqltype.ErrNull) || k != 7 {
		t.Errorf("NULL scanned: got %d, %v, want ErrNull", k, err)
	}
}

// Columns are 64-bit integers without auto-increment, and a second migration changes nothing.
func testColumns[K key](t *testing.T, db *gorm.DB) {
	t.Helper()
	requireColumns[K](t, db)
	recorded := db.Session(&gorm.Session{})
	var statements []string
	check(t, recorded.Callback().Raw().Before("gorm:raw").Register("record", func(tx *gorm.DB) {
		statements = append(statements, tx.Statement.SQL.String())
	}))
	check(t, recorded.AutoMigrate(new(row[K])))
	for _, s := range statements {
		if strings.HasPrefix(s, "ALTER") || strings.HasPrefix(s, "CREATE") {
			t.Errorf("a second migration runs %s", s)
		}
	}
	requireColumns[K](t, db)
}

func requireColumns[K key](t *testing.T, db *gorm.DB) {
	t.Helper()
	want := map[string]string{"id": "bigint", "ref": "bigint", "pointer": "bigint"}
	switch db.Name() {
	case "sqlite":
		want = map[string]string{"id": "integer", "ref": "bigint", "pointer": "integer"}
	case "postgres":
		want = map[string]string{"id": "int8", "ref": "int8", "pointer": "int8"}
	}
	columns, err := db.Migrator().ColumnTypes(new(row[K]))
	check(t, err)
	for _, c := range columns {
		name := c.Name()
		if _, ok := want[name]; !ok {
			continue
		}
		if got := strings.ToLower(c.DatabaseTypeName()); got != want[name] {
			t.Errorf("column %s: got %s, want %s", name, got, want[name])
		}
		if auto, _ := c.AutoIncrement(); auto {
			t.Errorf("column %s is auto-increment", name)
		}
		if nullable, ok := c.Nullable(); ok && name != "id" && !nullable {
			t.Errorf("column %s is not nullable", name)
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("no columns %v", want)
	}
}

func testConditions[K key](t *testing.T, db *gorm.DB) {
	t.Helper()
	ids, pointers := []K{big, big + 1, 404}, []*K{new(K), nil}
	*pointers[0] = big
	for name, tt := range map[string]struct {
		tx   *gorm.DB
		want []K
	}{
		"IN ?":               {db.Where("id IN ?", ids), []K{big, big + 1}},
		"IN an array":        {db.Where("id IN ?", [2]K{big, -1}), []K{-1, big}},
		"IN pointers":        {db.Where("id IN ?", pointers), []K{big}},
		"IN sql.Null":        {db.Where("id IN ?", []sql.Null[K]{{V: big, Valid: true}, {}}), []K{big}},
		"IN nothing":         {db.Where("id IN ?", []K{}), nil},
		"inline":             {db.Where(ids), []K{big, big + 1}},
		"a map":              {db.Where(map[string]any{"id": ids}), []K{big, big + 1}},
		"a map of one":       {db.Where(map[string]any{"id": K(-1)}), []K{-1}},
		"a map of NULL":      {db.Where(map[string]any{"ref": sql.Null[K]{}, "id": []K{-2, big}}), []K{-2}},
		"a struct":           {db.Where(&row[K]{ID: big}), []K{big}},
		"a struct's Ref":     {db.Where(&row[K]{Ref: sql.Null[K]{V: 5, Valid: true}}), []K{big + 2}},
		"a struct's pointer": {db.Where(&row[K]{Pointer: &ids[0]}), []K{big}},
		"a pair":             {db.Where("(id, pointer) IN ?", [][]any{{ids[0], ids[0]}}), []K{big}},
		"Not":                {db.Not("id IN ?", ids).Where("id > ?", K(0)), []K{big + 2}},
		"a named argument":   {db.Where("id IN @ids", sql.Named("ids", ids)), []K{big, big + 1}},
	} {
		var found []row[K]
		if err := tt.tx.Order("id").Find(&found).Error; err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []K
		for _, r := range found {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
	var found []row[K]
	if err := db.Find(&found, ids).Error; err != nil || len(found) != 2 {
		t.Errorf("Find(&rows, ids): got %v, %v", found, err)
	}
	var plucked []K
	var nulls []sql.Null[K]
	check(t, db.Model(new(row[K])).Order("id").Pluck("id", &plucked).Error)
	check(t, db.Model(new(row[K])).Order("id").Pluck("ref", &nulls).Error)
	if !slices.Equal(plucked, []K{-2, -1, big, big + 1, big + 2}) || len(nulls) != 5 || nulls[0].Valid || nulls[2].V != -big {
		t.Errorf("Pluck: got %d, %+v", plucked, nulls)
	}
}

// In a map that is found, GORM puts what Value gives, an int64.
func testMaps[K key](t *testing.T, db *gorm.DB) {
	t.Helper()
	want := []map[string]any{{"id": int64(-1), "ref": nil, "pointer": nil}, {"id": int64(big), "ref": int64(-big), "pointer": int64(big)}}
	for name, tx := range map[string]*gorm.DB{"with a model": db.Model(new(row[K])), "without": db.Table("rows")} {
		tx = tx.Select("id", "ref", "pointer").Where("id IN ?", []K{-1, big}).Order("id").Session(&gorm.Session{})
		var all []map[string]any
		var one map[string]any
		check(t, tx.Find(&all).Error)
		check(t, tx.Take(&one).Error)
		if !reflect.DeepEqual(all, want) || !reflect.DeepEqual(one, want[0]) {
			t.Errorf("%s: got %#v and %#v, want %#v", name, all, one, want)
		}
	}
}

type (
	person struct {
		ID       sqltype.Key[person]
		Name     string
		Parcels  []parcel
		BossID   *sqltype.Key[person]
		Boss     *person
		Team     []*person `gorm:"many2many:teams"`
		MentorID sql.Null[sqltype.Key[person]]
		Mentor   *person
	}
	parcel struct {
		ID       sqltype.Key[parcel]
		PersonID sqltype.Key[person]
		Person   *person
		Item     string
	}
)

// A Key relates models in all the ways of GORM, to themselves too.
func TestKeyRelations(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		check(t, db.AutoMigrate(new(person), new(parcel)))
		boss := person{ID: big, Name: "Ada"}
		p := person{
			ID: big + 1, Name: "Bo", Boss: &boss, Mentor: &boss, Team: []*person{{ID: big + 2, Name: "Cy"}, &boss},
			Parcels: []parcel{{ID: 1, Item: "tea"}, {ID: 2, Item: "salt"}},
		}
		check(t, db.Create(&p).Error)
		if p.BossID == nil || *p.BossID != big || p.MentorID.V != big || p.Parcels[1].PersonID != big+1 {
			t.Errorf("foreign keys: got %+v", p)
		}
		var got person
		check(t, db.Preload("Parcels").Preload("Parcels.Person").Preload("Boss").Preload("Mentor").Preload("Team").First(&got, p.ID).Error)
		slices.SortFunc(got.Parcels, func(a, b parcel) int { return cmp.Compare(a.ID, b.ID) })
		switch {
		case got.Boss == nil || got.Boss.ID != big || got.Mentor == nil || got.Mentor.ID != big || len(got.Team) != 2:
			t.Errorf("preloaded: got %+v", got)
		case len(got.Parcels) != 2 || got.Parcels[0].Item != "tea" || got.Parcels[1].PersonID != p.ID || got.Parcels[1].Person.Name != "Bo":
			t.Errorf("has many: got %+v", got.Parcels)
		}
		var joined parcel
		check(t, db.Joins("Person").First(&joined, "parcels.id = ?", sqltype.Key[parcel](2)).Error)
		if joined.Person == nil || joined.Person.ID != big+1 || joined.Person.BossID == nil || *joined.Person.BossID != big {
			t.Errorf("joined: got %+v", joined.Person)
		}
		check(t, db.Model(&p).Association("Parcels").Append(&parcel{ID: 3}))
		if n := db.Model(&p).Association("Parcels").Count(); n != 3 {
			t.Errorf("got %d parcels, want 3", n)
		}
		if err := db.Create(&parcel{ID: 4, PersonID: 404}).Error; err == nil && db.Name() != "sqlite" {
			t.Error("a foreign key to no row: got no error")
		}
	})
}
