package gormplugin_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Visit is a row whose key says when it was made, and so does a column.
type Visit struct {
	ID        sqltype.ID
	Page      string
	Made      int64 // nanoseconds since 1970
	SiteID    sqltype.ID
	Site      *Site `gorm:"constraint:-"`
	DeletedAt gorm.DeletedAt
}

type Site struct {
	ID     sqltype.ID
	Name   string
	Visits []Visit `gorm:"constraint:-"`
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// idAt returns the least id of a layout at an instant, or its greatest.
func idAt(t testing.TB, layout idgen.Layout, at time.Time, greatest bool) sqltype.ID {
	t.Helper()
	p := idgen.Parts{Time: at}
	if greatest {
		p.Datacenter, p.Node, p.Sequence, p.Shard = layout.Max(idgen.Datacenter), layout.Max(idgen.Node), layout.Max(idgen.Sequence), layout.Max(idgen.Shard)
	}
	id, err := layout.Compose(p)
	if err != nil {
		t.Fatal(err)
	}
	return sqltype.ID(id)
}

// pages returns the pages of the visits that a query finds, in the order of their names.
func pages(t testing.TB, query *gorm.DB) string {
	t.Helper()
	var rows []Visit
	if err := query.Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	return pagesOf(rows)
}

func pagesOf(rows []Visit) string {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Page
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// makeVisits makes rows a and b one tick before noon, c and d at noon, e and f one tick later, g and h two: of each tick the least id, of
// site 1, and the greatest, of site 2. A row 0 is older than all, a row z thirty years younger.
func makeVisits(t testing.TB, db *gorm.DB) {
	t.Helper()
	tick := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Millisecond) }
	rows := []Visit{
		{ID: 1, Page: "0", SiteID: 1},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(-1), false), Page: "a", SiteID: 1},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(-1), true), Page: "b", SiteID: 2},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(0), false), Page: "c", SiteID: 1},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(0), true), Page: "d", SiteID: 2},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(1), false), Page: "e", SiteID: 1},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(1), true), Page: "f", SiteID: 2},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(2), false), Page: "g", SiteID: 1},
		{ID: idAt(t, idgen.Snowkey.Layout, tick(2), true), Page: "h", SiteID: 2},
		{ID: idAt(t, idgen.Snowkey.Layout, noon.AddDate(30, 0, 0), true), Page: "z", SiteID: 2},
	}
	for _, value := range []any{&[]Site{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}, &rows} {
		if err := db.Omit("Site", "Visits").Create(value).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreatedAtTheBorders(t *testing.T) {
	tick, half, last := time.Millisecond, 500*time.Microsecond, time.Millisecond-1
	end := idgen.Snowkey.ExhaustsAt()
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		for name, tt := range map[string]struct {
			scope func(*gorm.DB) *gorm.DB
			want  string
		}{
			"a tick":                    {gormplugin.CreatedBetween(noon, noon.Add(tick)), "c d"},
			"two ticks":                 {gormplugin.CreatedBetween(noon, noon.Add(2*tick)), "c d e f"},
			"in another zone":           {gormplugin.CreatedBetween(noon.In(time.FixedZone("", 3600)), noon.Add(tick).In(time.FixedZone("", -3600))), "c d"},
			"from within a tick":        {gormplugin.CreatedBetween(noon.Add(half), noon.Add(tick)), "c d"},
			"from at the end of a tick": {gormplugin.CreatedBetween(noon.Add(last), noon.Add(tick)), "c d"},
			"to within a tick":          {gormplugin.CreatedBetween(noon, noon.Add(tick+half)), "c d"},
			"to at the end of a tick":   {gormplugin.CreatedBetween(noon, noon.Add(tick+last)), "c d"},
			"within one tick":           {gormplugin.CreatedBetween(noon, noon.Add(last)), ""},
			"nothing":                   {gormplugin.CreatedBetween(noon, noon), ""},
			"since":                     {gormplugin.CreatedAfter(noon.Add(tick)), "e f g h z"},
			"since within a tick":       {gormplugin.CreatedAfter(noon.Add(tick + last)), "e f g h z"},
			"before":                    {gormplugin.CreatedBefore(noon), "0 a b"},
			"before within a tick":      {gormplugin.CreatedBefore(noon.Add(last)), "0 a b"},
			"from the zero time":        {gormplugin.CreatedBetween(time.Time{}, noon), "0 a b"},
			"from the epoch":            {gormplugin.CreatedBetween(idgen.Snowkey.Epoch(), noon), "0 a b"},
			"from before the epoch":     {gormplugin.CreatedBetween(idgen.Snowkey.Epoch().Add(-1), noon), "0 a b"},
			"to the epoch":              {gormplugin.CreatedBetween(time.Time{}, idgen.Snowkey.Epoch()), ""},
			"to after the epoch":        {gormplugin.CreatedBetween(time.Time{}, idgen.Snowkey.Epoch().Add(tick)), "0"},
			"before the epoch":          {gormplugin.CreatedBetween(time.Time{}, idgen.Snowkey.Epoch().Add(-1)), ""},
			"to the end":                {gormplugin.CreatedBetween(noon.Add(2*tick), end), "g h z"},
			"to past the end":           {gormplugin.CreatedBetween(noon.Add(2*tick), end.AddDate(1000, 0, 0)), "g h z"},
			"from the last tick":        {gormplugin.CreatedBetween(end.Add(-1), end), ""},
			"from the end":              {gormplugin.CreatedBetween(end, end.Add(1)), ""},
			"since the end":             {gormplugin.CreatedAfter(end), ""},
			"since the epoch":           {gormplugin.CreatedAfter(time.Time{}), "0 a b c d e f g h z"},
			"before the end":            {gormplugin.CreatedBefore(end.Add(1)), "0 a b c d e f g h z"},
			"both": {func(db *gorm.DB) *gorm.DB {
				return db.Scopes(gormplugin.CreatedAfter(noon), gormplugin.CreatedBefore(noon.Add(tick)))
			}, "c d"},
			"the plugin's layout, by value": {gormplugin.Created{}.Between(noon, noon.Add(tick)), "c d"},
			"another layout":                {gormplugin.Created{Layout: idgen.Twitter.Layout}.Before(noon.AddDate(-14, 0, 0)), "0 a b c d e f g h"},
		} {
			if got := pages(t, db.Scopes(tt.scope)); got != tt.want {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
		}
	})
}

// The last tick of a layout of all 63 bits has the greatest ids there are, and the first has 0, which a range without rows has not.
func TestCreatedAtTheEnds(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Visit{})
		end := idgen.Snowkey.ExhaustsAt()
		create(t, db.Omit("Site"), &[]Visit{
			{ID: idAt(t, idgen.Snowkey.Layout, end.Add(-time.Millisecond-1), true), Page: "before"},
			{ID: idAt(t, idgen.Snowkey.Layout, end.Add(-1), false), Page: "least"},
			{ID: 1<<63 - 1, Page: "most"},
			{ID: -5, Page: "negative"},
			{ID: 5, Page: "zero"},
		})
		if err := db.Exec("UPDATE visits SET id = 0 WHERE id = 5").Error; err != nil {
			t.Fatal(err)
		}
		for want, scope := range map[string]func(*gorm.DB) *gorm.DB{
			"least most":             gormplugin.CreatedBetween(end.Add(-1), end),
			"before":                 gormplugin.CreatedBetween(noon, end.Add(-1)),
			"before least most zero": gormplugin.CreatedAfter(time.Time{}),
			"zero":                   gormplugin.CreatedBefore(noon),
			"":                       gormplugin.CreatedBefore(idgen.Snowkey.Epoch()),
		} {
			if got := pages(t, db.Scopes(scope)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// Any range selects the rows whose time, taken from the id, is in it.
func TestCreatedIsAColumnOfTheTime(t *testing.T) {
	bands, err := idgen.NewLayout(idgen.Snowkey.Epoch(), time.Millisecond, idgen.Time.Bits(36), idgen.Node.Bits(2), idgen.Stream.Bits(1), idgen.Time.Bits(4), idgen.Sequence.Bits(3))
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Visit{})
		for _, layout := range []idgen.Layout{
			idgen.Snowkey.Layout, idgen.Sonyflake.Layout, idgen.K8sIP.Layout, idgen.JS53.Layout, idgen.Instagram.Layout, idgen.Packed.Layout, bands,
		} {
			random := rand.New(rand.NewPCG(1, 2))
			within := func() time.Time { return noon.Add(time.Duration(random.Int64N(int64(300 * layout.Unit())))) }
			if err := db.Session(&gorm.Session{AllowGlobalUpdate: true}).Unscoped().Delete(&Visit{}).Error; err != nil {
				t.Fatal(err)
			}
			rows, seen := []Visit{}, map[int64]bool{}
			for len(rows) < 400 {
				id, err := layout.Compose(idgen.Parts{
					Time:     within(),
					Node:     random.Int64N(layout.Max(idgen.Node) + 1),
					Sequence: random.Int64N(layout.Max(idgen.Sequence) + 1),
					Shard:    random.Int64N(layout.Max(idgen.Shard) + 1),
					Stream:   random.Int64N(layout.Max(idgen.Stream) + 1),
				})
				if err != nil {
					t.Fatal(err)
				}
				parts, err := layout.Decode(id)
				if err != nil {
					t.Fatal(err)
				}
				if !seen[id] {
					seen[id] = true
					rows = append(rows, Visit{ID: sqltype.ID(id), Made: parts.Time.UnixNano()})
				}
			}
			create(t, db.Omit("Site"), &rows)
			cut := func(at time.Time) int64 {
				parts, err := layout.Decode(idAt(t, layout, at, false).Int64())
				if err != nil {
					t.Fatal(err)
				}
				return parts.Time.UnixNano()
			}
			found := 0
			for range 60 {
				from, to := within(), within()
				if from.After(to) {
					from, to = to, from
				}
				var got, want []sqltype.ID
				if err := db.Model(&Visit{}).Scopes(gormplugin.Created{Layout: layout}.Between(from, to)).Order("id").Pluck("id", &got).Error; err != nil {
					t.Fatal(err)
				}
				if err := db.Model(&Visit{}).Where("made >= ? AND made < ?", cut(from), cut(to)).Order("id").Pluck("id", &want).Error; err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s from %s to %s: got %d rows, want %d", layout, from, to, len(got), len(want))
				}
				found += len(got)
			}
			if found < 1000 {
				t.Errorf("%s: the ranges had %d rows altogether, want some", layout, found)
			}
		}
	})
}

func TestCreatedInEveryStatement(t *testing.T) {
	range1 := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond))   // c d
	range2 := gormplugin.CreatedBetween(noon, noon.Add(2*time.Millisecond)) // c d e f
	scope := func(db *gorm.DB) *gorm.DB { return db.Scopes(range1) }
	type small struct{ Page string }
	for name, tt := range map[string]struct {
		want string
		run  func(t *testing.T, db *gorm.DB) (string, error)
	}{
		"First": {"c", func(_ *testing.T, db *gorm.DB) (string, error) {
			var v Visit
			err := scope(db).First(&v).Error
			return v.Page, err
		}},
		"Last": {"d", func(_ *testing.T, db *gorm.DB) (string, error) {
			var v Visit
			err := scope(db).Last(&v).Error
			return v.Page, err
		}},
		"Count": {"2", func(_ *testing.T, db *gorm.DB) (string, error) {
			var n int64
			err := scope(db.Model(&Visit{})).Count(&n).Error
			return fmt.Sprint(n), err
		}},
		"Pluck": {"[c d]", func(_ *testing.T, db *gorm.DB) (string, error) {
			var p []string
			err := scope(db.Model(&Visit{})).Order("page").Pluck("page", &p).Error
			return fmt.Sprint(p), err
		}},
		"Row": {"2", func(_ *testing.T, db *gorm.DB) (string, error) {
			var n int64
			err := scope(db.Model(&Visit{})).Select("count(*)").Row().Scan(&n)
			return fmt.Sprint(n), err
		}},
		"Rows": {"2", func(_ *testing.T, db *gorm.DB) (string, error) {
			rows, err := scope(db.Model(&Visit{})).Rows()
			if err != nil {
				return "", err
			}
			n := 0
			for rows.Next() {
				n++
			}
			return fmt.Sprint(n), errors.Join(rows.Err(), rows.Close())
		}},
		"Scan into another struct": {"[{c} {d}]", func(_ *testing.T, db *gorm.DB) (string, error) {
			var s []small
			err := scope(db.Model(&Visit{})).Order("page").Scan(&s).Error
			return fmt.Sprint(s), err
		}},
		"maps": {"c d", func(_ *testing.T, db *gorm.DB) (string, error) {
			var m []map[string]any
			err := scope(db.Model(&Visit{})).Order("page").Find(&m).Error
			if len(m) != 2 {
				return fmt.Sprint(m), err
			}
			return fmt.Sprintf("%s %s", m[0]["page"], m[1]["page"]), err
		}},
		"FindInBatches": {"c d e f", func(_ *testing.T, db *gorm.DB) (string, error) {
			var all, batch []Visit
			err := db.Scopes(range2).FindInBatches(&batch, 1, func(*gorm.DB, int) error { all = append(all, batch...); return nil }).Error
			return pagesOf(all), err
		}},
		"a table by another name": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db.Table("visits AS v").Where("v.page <> ''"))), nil
		}},
		"Joins": {"d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db.Joins("Site")).Where(`site_id = 2`)), nil
		}},
		"an inner join": {"d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db.Joins("JOIN sites ON sites.id = visits.site_id AND sites.name = ?", "two"))), nil
		}},
		"Preload": {"c e, d f", func(_ *testing.T, db *gorm.DB) (string, error) {
			var s []Site
			err := db.Preload("Visits", range2).Order("id").Find(&s).Error
			if len(s) != 2 {
				return fmt.Sprint(s), err
			}
			return pagesOf(s[0].Visits) + ", " + pagesOf(s[1].Visits), err
		}},
		"Association": {"c", func(_ *testing.T, db *gorm.DB) (string, error) {
			var v []Visit
			err := scope(db.Model(&Site{ID: 1})).Association("Visits").Find(&v)
			return pagesOf(v), err
		}},
		"a subquery": {"one two", func(_ *testing.T, db *gorm.DB) (string, error) {
			var s []Site
			err := db.Where("id IN (?)", scope(db.Model(&Visit{})).Select("site_id")).Order("name").Find(&s).Error
			if len(s) != 2 {
				return fmt.Sprint(s), err
			}
			return s[0].Name + " " + s[1].Name, err
		}},
		"Where": {"d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db).Where("site_id = ?", 2)), nil
		}},
		"an Or": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db.Where("site_id = 2").Or("site_id = 1"))), nil
		}},
		"an Or after it": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db).Where("site_id = 2").Or("site_id = 1")), nil
		}},
		"nothing but an Or": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db.Or("site_id = 2 OR site_id = 1"))), nil
		}},
		"an Or, unscoped": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, scope(db.Unscoped().Or("site_id = 2 OR site_id = 1").Or("page = ?", "a"))), nil
		}},
		"in an Or": {"a c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, db.Where("page = ?", "a").Or(scope(db))), nil
		}},
		"in a group with others": {"a d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, db.Where("page = ?", "a").Or(scope(db).Where("site_id = 2"))), nil
		}},
		"in a Not": {"0 a b e f g h z", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, db.Not(scope(db))), nil
		}},
		"called by itself": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			return pages(t, range1(db)), nil
		}},
		"Update": {"x x", func(t *testing.T, db *gorm.DB) (string, error) {
			err := scope(db.Model(&Visit{})).Update("page", "x").Error
			return pages(t, db.Where("page = ?", "x")), err
		}},
		"Delete": {"0 a b e f g h z, c d", func(t *testing.T, db *gorm.DB) (string, error) {
			err := scope(db).Delete(&Visit{}).Error
			return pages(t, db) + ", " + pages(t, db.Unscoped().Where("deleted_at IS NOT NULL")), err
		}},
		"Delete of what is deleted": {"", func(t *testing.T, db *gorm.DB) (string, error) {
			err := scope(db.Where("site_id = 1").Or("site_id = 2")).Delete(&Visit{}).Error
			return pages(t, scope(db)), err
		}},
		"Delete for ever": {"0 a b e f g h z", func(t *testing.T, db *gorm.DB) (string, error) {
			err := scope(db.Unscoped()).Delete(&Visit{}).Error
			return pages(t, db.Unscoped()), err
		}},
		"a transaction": {"c d", func(t *testing.T, db *gorm.DB) (got string, err error) {
			err = db.Transaction(func(tx *gorm.DB) error { got = pages(t, scope(tx)); return nil })
			return got, err
		}},
		"a session used twice": {"c d, c d", func(t *testing.T, db *gorm.DB) (string, error) {
			session := scope(db).Session(&gorm.Session{PrepareStmt: true})
			return pages(t, session) + ", " + pages(t, session), nil
		}},
		"generic Find": {"d", func(t *testing.T, db *gorm.DB) (string, error) {
			rows, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(range1)).Where("site_id = 2").Find(t.Context())
			return pagesOf(rows), err
		}},
		"generic, an Or after it": {"c d", func(t *testing.T, db *gorm.DB) (string, error) {
			rows, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(range1, range2)).Where("site_id = 2").Or("site_id = 1").Find(t.Context())
			return pagesOf(rows), err
		}},
		"generic Count": {"2", func(t *testing.T, db *gorm.DB) (string, error) {
			n, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(range1)).Count(t.Context(), "*")
			return fmt.Sprint(n), err
		}},
		"generic Update": {"2, x x", func(t *testing.T, db *gorm.DB) (string, error) {
			n, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(range1)).Update(t.Context(), "page", "x")
			return fmt.Sprint(n, ", ", pages(t, db.Where("page = ?", "x"))), err
		}},
		"generic Delete": {"2, ", func(t *testing.T, db *gorm.DB) (string, error) {
			n, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(range1)).Delete(t.Context())
			return fmt.Sprint(n, ", ", pages(t, scope(db))), err
		}},
		"generic Where": {"a c d", func(t *testing.T, db *gorm.DB) (string, error) {
			rows, err := gorm.G[Visit](db).Where("page = ?", "a").Or(db.Scopes(range1)).Find(t.Context())
			return pagesOf(rows), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				use(t, db, &Site{}, &Visit{})
				makeVisits(t, db)
				if got, err := tt.run(t, db); err != nil || got != tt.want {
					t.Errorf("got %q, %v, want %q", got, err, tt.want)
				}
			})
		})
	}
}

func TestCreatedKeys(t *testing.T) {
	type PointerKey struct {
		ID   *sqltype.ID `gorm:"primaryKey"`
		Page string
	}
	type Plain struct {
		ID   int64 `gorm:"autoIncrement:false"`
		Page string
	}
	type PlainFilled struct {
		ID   int64
		Page string
	}
	type PlainPointer struct {
		Number *int64 `gorm:"primaryKey;autoIncrement:false"`
		Page   string
	}
	type Tagged struct {
		Number *int64 `gorm:"primaryKey;autoIncrement:false;snowkey"`
		Page   string
	}
	type Member struct {
		Tenant int64      `gorm:"primaryKey"`
		ID     sqltype.ID `gorm:"primaryKey"`
		Page   string
	}
	id := idAt(t, idgen.Snowkey.Layout, noon, false)
	number := id.Int64()
	filled := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond))
	given := gormplugin.Created{Layout: idgen.Snowkey.Layout}.Between(noon, noon.Add(time.Millisecond))
	for name, tt := range map[string]struct {
		rows  any
		model any
		scope func(*gorm.DB) *gorm.DB
	}{
		"pointer to ID":    {&[]PointerKey{{ID: &id, Page: "in"}, {Page: "out"}}, &PointerKey{}, filled},
		"composite":        {&[]Member{{Tenant: 1, ID: id, Page: "in"}, {Tenant: 1, Page: "out"}}, &Member{}, filled},
		"int64":            {&[]Plain{{ID: number, Page: "in"}, {ID: 5, Page: "out"}}, &Plain{}, given},
		"int64, filled":    {&[]PlainFilled{{ID: number, Page: "in"}, {Page: "out"}}, &PlainFilled{}, filled},
		"by tag":           {&[]Tagged{{Number: &number, Page: "in"}, {Page: "out"}}, &Tagged{}, filled},
		"pointer to int64": {&[]PlainPointer{{Number: &number, Page: "in"}, {Number: new(int64), Page: "out"}}, &PlainPointer{}, given},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				use(t, db, tt.model, gormplugin.AllKeys())
				create(t, db, tt.rows)
				var got []string
				if err := db.Model(tt.model).Scopes(tt.scope).Pluck("page", &got).Error; err != nil || !slices.Equal(got, []string{"in"}) {
					t.Errorf("got %v, %v, want the row at noon", got, err)
				}
			})
		})
	}
}

// A layout with anything above its time makes no ranges, whatever that is and however few bits it has, given or the plugin's.
func TestCreatedWithTimeNotOnTop(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		generator := mustGenerator(t)
		migrate(t, db, &Visit{})
		for _, above := range []idgen.Kind{idgen.Node, idgen.Datacenter, idgen.Shard, idgen.Sequence} {
			fields := []idgen.Field{above.Bits(1), idgen.Time.Bits(41)}
			for _, below := range []idgen.Kind{idgen.Node, idgen.Sequence} {
				if below != above {
					fields = append(fields, below.Bits(8))
				}
			}
			layout, err := idgen.NewLayout(noon.AddDate(-1, 0, 0), time.Millisecond, fields...)
			if err != nil {
				t.Fatal(err)
			}
			for _, scope := range []func(*gorm.DB) *gorm.DB{
				gormplugin.Created{Layout: layout}.Between(noon, noon.Add(time.Hour)),
				gormplugin.Created{Layout: layout}.Before(noon),
				gormplugin.Created{Layout: layout}.After(noon),
				gormplugin.Created{Layout: layout}.Before(time.Time{}), // of no rows in other layouts
				gormplugin.Created{Layout: layout}.After(layout.ExhaustsAt()),
			} {
				requireRefused(t, db, &Visit{}, scope, gormplugin.ErrNoLayout)
			}
			if err := db.Use(gormplugin.New(gormplugin.From(reported{generator, layout}))); err != nil {
				t.Fatal(err)
			}
			requireRefused(t, db, &Visit{}, gormplugin.CreatedAfter(noon), gormplugin.ErrNoLayout)
			delete(db.Plugins, "snowkey")
		}
	})
}

// reported is a source that says that its layout is another.
type reported struct {
	idgen.Source[int64]
	layout idgen.Layout
}

func (r reported) Layout() idgen.Layout { return r.layout }

// Keys that the plugin has just made, with the layout of its own grants.
func TestCreatedNow(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		granted(t, db, gormplugin.Grants(grant.Config{Generator: []idgen.Option{idgen.JS53}}))
		if err := db.AutoMigrate(&Visit{}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		create(t, db.Omit("Site"), &Visit{Page: "now"})
		minute := time.Minute // what the clock of the keeper may differ by
		for want, scope := range map[string]func(*gorm.DB) *gorm.DB{
			"now": gormplugin.CreatedBetween(start.Add(-minute), start.Add(minute)),
			"":    gormplugin.CreatedBefore(start.Add(-minute)),
		} {
			if got := pages(t, db.Scopes(scope)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// TextID is a key that is text in the database, where 9 is greater than 10. It says so to GORM by its type of column alone.
type TextID int64

func (TextID) GormDBDataType(*gorm.DB, *schema.Field) string { return "varchar(20)" }

type (
	textNumber struct {
		ID   TextID `gorm:"autoIncrement:false"`
		Page string
	}
	textKey struct {
		ID   string
		Page string
	}
	textColumn struct {
		ID   int64 `gorm:"type:varchar(20);autoIncrement:false"`
		Page string
	}
	noKey  struct{ Page string }
	twoKey struct {
		A int64 `gorm:"primaryKey"`
		B int64 `gorm:"primaryKey"`
	}
)

// Every error, and with each nothing is selected, changed or deleted.
func TestCreatedErrors(t *testing.T) {
	nodeOnTop, err := idgen.NewLayout(noon, time.Millisecond, idgen.Node.Bits(10), idgen.Time.Bits(41), idgen.Sequence.Bits(12))
	if err != nil {
		t.Fatal(err)
	}
	given := gormplugin.Created{Layout: idgen.Snowkey.Layout}.Before(noon)
	for name, tt := range map[string]struct {
		scope func(*gorm.DB) *gorm.DB
		model any
		want  error
	}{
		"from after to":              {gormplugin.CreatedBetween(noon.Add(1), noon), &Visit{}, gormplugin.ErrRange},
		"to the zero time":           {gormplugin.CreatedBetween(noon, time.Time{}), &Visit{}, gormplugin.ErrRange},
		"before the epoch, reversed": {gormplugin.CreatedBetween(time.Unix(1, 0), time.Unix(0, 0)), &Visit{}, gormplugin.ErrRange},
		"a key that is not filled":   {gormplugin.CreatedBefore(noon), &textKey{}, gormplugin.ErrNotFilled},
		"node above time":            {gormplugin.Created{Layout: nodeOnTop}.Before(noon), &Visit{}, gormplugin.ErrNoLayout},
		"and its cause":              {gormplugin.Created{Layout: nodeOnTop}.Before(noon), &Visit{}, idgen.ErrLayout},
		"text by type":               {given, &textNumber{}, gormplugin.ErrKey},
		"text by tag":                {given, &textColumn{}, gormplugin.ErrKey},
		"string":                     {given, &textKey{}, gormplugin.ErrKey},
		"no key":                     {given, &noKey{}, gormplugin.ErrKey},
		"two keys":                   {given, &twoKey{}, gormplugin.ErrKey},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *gorm.DB) {
				use(t, db, &Visit{}, tt.model)
				requireRefused(t, db, tt.model, tt.scope, tt.want)
			})
		})
	}
	t.Run("no plugin", func(t *testing.T) {
		onEach(t, func(t *testing.T, db *gorm.DB) {
			if err := db.AutoMigrate(&Visit{}); err != nil {
				t.Fatal(err)
			}
			requireRefused(t, db, &Visit{}, gormplugin.CreatedBefore(noon), gormplugin.ErrNoPlugin)
			if got := pages(t, db.Scopes(given)); got != "" {
				t.Errorf("with a layout: got %q, want no rows and no error", got)
			}
		})
	})
	t.Run("a source without a layout", func(t *testing.T) {
		onEach(t, func(t *testing.T, db *gorm.DB) {
			useSource(t, db, &counter{}, &Visit{})
			requireRefused(t, db, &Visit{}, gormplugin.CreatedBefore(noon), gormplugin.ErrNoLayout)
		})
	})
	t.Run("a source with the node above the time", func(t *testing.T) {
		onEach(t, func(t *testing.T, db *gorm.DB) {
			generator, err := idgen.New(nodeOnTop, idgen.WithNode(1))
			if err != nil {
				t.Fatal(err)
			}
			useSource(t, db, generator, &Visit{})
			requireRefused(t, db, &Visit{}, gormplugin.CreatedBefore(noon), gormplugin.ErrNoLayout)
		})
	})
}

// requireRefused fails unless statements with a scope fail with an error, and do not reach the database.
func requireRefused(t *testing.T, db *gorm.DB, model any, scope func(*gorm.DB) *gorm.DB, want error) {
	t.Helper()
	var n int64
	var maps []map[string]any
	for name, err := range map[string]error{
		"Count":  db.Model(model).Scopes(scope).Count(&n).Error,
		"Find":   db.Model(model).Scopes(scope).Find(&maps).Error,
		"Not":    db.Model(model).Not(db.Scopes(scope)).Find(&maps).Error,
		"Update": db.Model(model).Scopes(scope).Update("page", "x").Error,
		"Delete": db.Scopes(scope).Delete(model).Error,
	} {
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	// GORM loses what fails in a subquery. It must not go unnoticed.
	if err := db.Table("visits").Where("1 IN (?)", db.Model(model).Scopes(scope).Select("1")).Find(&maps).Error; err == nil {
		t.Error("subquery: got no error")
	}
	if err := db.Table("visits").Where("1 NOT IN (?)", db.Model(model).Scopes(scope).Select("1")).Find(&maps).Error; err == nil {
		t.Error("subquery: got no error")
	}
}

func TestCreatedWithoutModel(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		scope := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond))
		var n int64
		var maps []map[string]any
		for name, tt := range map[string]struct{ err, want error }{
			"a table alone":       {db.Table("visits").Scopes(scope).Count(&n).Error, gorm.ErrModelValueRequired},
			"a table into maps":   {db.Table("visits").Scopes(scope).Find(&maps).Error, gorm.ErrModelValueRequired},
			"a condition of join": {db.Joins("Site", scope(db)).Find(&[]Visit{}).Error, gorm.ErrModelValueRequired},
			"raw SQL":             {db.Raw("SELECT * FROM visits").Scopes(scope).Scan(&maps).Error, gormplugin.ErrScope},
		} {
			if !errors.Is(tt.err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, tt.err, tt.want)
			}
		}
		if got := pages(t, db.Table("visits").Scopes(scope)); got != "c d" {
			t.Errorf("a table and rows of a model: got %q, want c d", got)
		}
	})
}
