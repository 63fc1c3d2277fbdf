package gormplugin_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

func TestPages(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		inOrder := func(scopes ...func(*gorm.DB) *gorm.DB) (all []string) {
			var rows []Visit
			if err := db.Scopes(scopes...).Limit(4).Find(&rows).Error; err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				all = append(all, row.Page)
			}
			return all
		}
		d, negative, none := idAt(t, idgen.Snowkey.Layout, noon, true), sqltype.ID(-5), sqltype.ID(0)
		number, unsigned := d.Int64(), uint64(d)
		for name, tt := range map[string]struct {
			scopes []func(*gorm.DB) *gorm.DB
			want   string
		}{
			"first":                  {scopes(gormplugin.After(none)), "[0 a b c]"},
			"first, of a constant":   {scopes(gormplugin.After(0)), "[0 a b c]"},
			"second":                 {scopes(gormplugin.After(d)), "[e f g h]"},
			"between two rows":       {scopes(gormplugin.After(d - 1)), "[d e f g]"},
			"after int64":            {scopes(gormplugin.After(number)), "[e f g h]"},
			"after uint64":           {scopes(gormplugin.After(unsigned)), "[e f g h]"},
			"after int":              {scopes(gormplugin.After(int(number))), "[e f g h]"},
			"after a negative":       {scopes(gormplugin.After(negative)), "[0 a b c]"},
			"after all":              {scopes(gormplugin.After(int64(1<<63 - 1))), "[]"},
			"newest":                 {scopes(gormplugin.Before(none)), "[z h g f]"},
			"second newest":          {scopes(gormplugin.Before(d)), "[c b a 0]"},
			"before all":             {scopes(gormplugin.Before(sqltype.ID(1))), "[]"},
			"after, in a range":      {scopes(gormplugin.CreatedBefore(noon.Add(2*time.Millisecond)), gormplugin.After(d)), "[e f]"},
			"first of a range":       {scopes(gormplugin.After(none), gormplugin.CreatedAfter(noon)), "[c d e f]"},
			"before, in a range":     {scopes(gormplugin.CreatedAfter(noon), gormplugin.Before(d)), "[c]"},
			"after two":              {scopes(gormplugin.After(d), gormplugin.After(d-1)), "[e f g h]"},
			"beside a scope":         {scopes(gormplugin.After(d), func(db *gorm.DB) *gorm.DB { return db.Where("page <> ?", "f") }), "[e g h z]"},
			"beside another":         {scopes(gormplugin.After(d), func(db *gorm.DB) *gorm.DB { return db.Where("site_id = 2") }), "[f h z]"},
			"an Or of all the rows":  {scopes(func(db *gorm.DB) *gorm.DB { return db.Where("site_id = 1").Or("site_id = 2") }, gormplugin.After(d)), "[e f g h]"},
			"the same order as well": {scopes(func(db *gorm.DB) *gorm.DB { return db.Order(primary(false)) }, gormplugin.After(d)), "[e f g h]"},
		} {
			if got := fmt.Sprint(inOrder(tt.scopes...)); got != tt.want {
				t.Errorf("%s: got %s, want %s", name, got, tt.want)
			}
		}
	})
}

func scopes(s ...func(*gorm.DB) *gorm.DB) []func(*gorm.DB) *gorm.DB { return s }

// primary orders by the primary key, as First and Last do.
func primary(desc bool) clause.OrderByColumn {
	return clause.OrderByColumn{Column: clause.PrimaryColumn, Desc: desc}
}

func TestPagesInEveryStatement(t *testing.T) {
	d := idAt(t, idgen.Snowkey.Layout, noon, true)
	after, before := gormplugin.After(d), gormplugin.Before(d)
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		var row Visit
		if err := db.Scopes(after).First(&row).Error; err != nil || row.Page != "e" {
			t.Errorf("First: got %q, %v, want e", row.Page, err)
		}
		row = Visit{}
		if err := db.Scopes(before).Last(&row).Error; err != nil || row.Page != "c" {
			t.Errorf("Last before: got %q, %v, want c", row.Page, err)
		}
		row = Visit{}
		if err := db.Scopes(before).Take(&row).Error; err != nil || row.Page != "c" {
			t.Errorf("Take: got %q, %v, want c", row.Page, err)
		}

		var n int64
		if err := db.Model(&Visit{}).Scopes(after).Count(&n).Error; err != nil || n != 5 {
			t.Errorf("Count: got %d, %v, want 5", n, err)
		}
		if err := db.Model(&Visit{}).Scopes(after).Distinct("site_id").Count(&n).Error; err != nil || n != 2 {
			t.Errorf("Count of distinct: got %d, %v, want 2", n, err)
		}
		if err := db.Model(&Visit{}).Scopes(after).Select("COUNT(*)").Scan(&n).Error; err != nil || n != 5 {
			t.Errorf("Scan of a count: got %d, %v, want 5", n, err)
		}
		var rows []Visit
		counted := db.Model(&Visit{}).Scopes(before)
		if err := counted.Count(&n).Limit(2).Find(&rows).Error; err != nil || n != 4 || pagesOf(rows) != "b c" {
			t.Errorf("Count, then Find: got %d and %q, %v, want 4 and b c", n, pagesOf(rows), err)
		}

		var names []string
		if err := db.Model(&Visit{}).Scopes(before).Limit(2).Pluck("page", &names).Error; err != nil || !slices.Equal(names, []string{"c", "b"}) {
			t.Errorf("Pluck: got %v, %v, want c, b", names, err)
		}
		var small []struct{ Page string }
		if err := db.Model(&Visit{}).Scopes(after).Limit(2).Scan(&small).Error; err != nil || fmt.Sprint(small) != "[{e} {f}]" {
			t.Errorf("Scan: got %v, %v, want e, f", small, err)
		}
		if got := pages(t, db.Table("visits AS v").Scopes(after).Where("v.page <> ''").Limit(2)); got != "e f" {
			t.Errorf("Table: got %q, want e f", got)
		}
		if got := pages(t, db.Joins("Site").Scopes(after).Limit(2)); got != "e f" {
			t.Errorf("Joins: got %q, want e f", got)
		}
		var site Site
		if err := db.Preload("Visits", before).First(&site, 1).Error; err != nil || len(site.Visits) != 3 || site.Visits[0].Page != "c" || site.Visits[2].Page != "0" {
			t.Errorf("Preload: got %v, %v, want c, a, 0", site.Visits, err)
		}
		var batch, all []Visit
		if err := db.Scopes(after).FindInBatches(&batch, 2, func(*gorm.DB, int) error { all = append(all, batch...); return nil }).Error; err != nil || pagesOf(all) != "e f g h z" {
			t.Errorf("FindInBatches: got %q, %v, want e f g h z", pagesOf(all), err)
		}
		if rows, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(before)).Limit(2).Find(t.Context()); err != nil || len(rows) != 2 || rows[0].Page != "c" || rows[1].Page != "b" {
			t.Errorf("generic: got %v, %v, want c, b", rows, err)
		}
		if first, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(after)).First(t.Context()); err != nil || first.Page != "e" {
			t.Errorf("generic First: got %q, %v, want e", first.Page, err)
		}

		for _, sql := range recorded(db, func() {
			db.Scopes(after).First(&Visit{})
			db.Scopes(after, after).Limit(3).Find(&rows)
			db.Scopes(after).FindInBatches(&rows, 2, func(*gorm.DB, int) error { return nil })
		}) {
			if _, order, _ := strings.Cut(sql, "ORDER BY "); strings.Count(order, "id") != 1 {
				t.Errorf("got %s, want the key in the order once", sql)
			}
		}
	})
}

// A count in the select list is no Count: its pages have their order. A Count has none, which PostgreSQL would refuse.
func TestPagesOfSelectsThatCount(t *testing.T) {
	before := gormplugin.Before(0)
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		for _, list := range []string{
			"count(*) OVER () AS total, visits.*", "COUNT(*) over() AS total, visits.*", " count(id) OVER (PARTITION BY site_id), visits.*", "visits.*, count(*) OVER ()",
			"count(*) OVER (\n) AS total, visits.*",
		} {
			var rows []Visit
			if err := db.Model(&Visit{}).Select(list).Scopes(before).Limit(2).Find(&rows).Error; err != nil || len(rows) != 2 || rows[0].Page != "z" || rows[1].Page != "h" {
				t.Errorf("%s: got %v, %v, want z, h", list, rows, err)
			}
		}
		var rows []Visit
		if err := db.Model(&Visit{}).Select("count(*) OVER () + ?, visits.*", 1).Scopes(before).Limit(2).Find(&rows).Error; err != nil || len(rows) != 2 || rows[0].Page != "z" {
			t.Errorf("with an argument: got %v, %v, want z, h", rows, err)
		}
		if err := db.Model(&Visit{}).Select("count(*) OVER ()", "visits.*").Scopes(before).Limit(2).Find(&rows).Error; err != nil || len(rows) != 2 || rows[0].Page != "z" {
			t.Errorf("of two: got %v, %v, want z, h", rows, err)
		}
		var newest int64 // the one row that GORM counts into an int64
		if err := db.Model(&Visit{}).Select("count(*) OVER () * 0 + site_id").Scopes(before).Limit(1).Find(&newest).Error; err != nil || newest != 2 {
			t.Errorf("a window into an int64: got %d, %v, want 2", newest, err)
		}
		if err := db.Model(&Visit{}).Scopes(before).Limit(1).Pluck("id", &newest).Error; err != nil || newest != idAt(t, idgen.Snowkey.Layout, noon.AddDate(30, 0, 0), true).Int64() {
			t.Errorf("Pluck of one: got %d, %v, want z", newest, err)
		}

		for name, tt := range map[string]struct {
			count func(n *int64) error
			want  int64
		}{
			"Count":           {func(n *int64) error { return db.Model(&Visit{}).Scopes(before).Count(n).Error }, 10},
			"Count, selected": {func(n *int64) error { return db.Model(&Visit{}).Select("count(*)").Scopes(before).Count(n).Error }, 10},
			"Count, named": {func(n *int64) error {
				return db.Model(&Visit{}).Select("count(distinct site_id) AS n").Scopes(before).Count(n).Error
			}, 2},
			"Count of a column": {func(n *int64) error { return db.Model(&Visit{}).Select("site_id").Scopes(before).Count(n).Error }, 10},
			"Count, distinct":   {func(n *int64) error { return db.Model(&Visit{}).Distinct("site_id").Scopes(before).Count(n).Error }, 2},
			"Count of groups":   {func(n *int64) error { return db.Model(&Visit{}).Group("site_id").Scopes(before).Count(n).Error }, 2},
			"Count, called":     {func(n *int64) error { return before(db.Model(&Visit{})).Count(n).Error }, 10},
			"generic Count": {func(n *int64) (err error) {
				*n, err = gorm.G[Visit](db).Scopes(gormplugin.Generic(before)).Count(t.Context(), "*")
				return err
			}, 10},
			"Scan": {func(n *int64) error { return db.Model(&Visit{}).Select(" COUNT(*) ").Scopes(before).Scan(n).Error }, 10},
			"Scan of a function": {func(n *int64) error {
				return db.Model(&Visit{}).Select("count(coalesce(site_id, 1))").Scopes(before).Scan(n).Error
			}, 10},
			"Row": {func(n *int64) error {
				return db.Model(&Visit{}).Select("count(DISTINCT site_id)").Scopes(before).Row().Scan(n)
			}, 2},
		} {
			var n int64
			if err := tt.count(&n); err != nil || n != tt.want {
				t.Errorf("%s: got %d, %v, want %d", name, n, err, tt.want)
			}
		}
	})
}

func TestPagesErrors(t *testing.T) {
	d := idAt(t, idgen.Snowkey.Layout, noon, true)
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{}, &textKey{}, &textColumn{}, &textNumber{}, &twoKey{}, &noKey{})
		makeVisits(t, db)
		var rows []Visit
		var maps []map[string]any
		for _, id := range []sqltype.ID{0, d} { // of the first page too
			after, before := gormplugin.After(id), gormplugin.Before(id)
			for name, tt := range map[string]struct{ err, want error }{
				"another order":           {db.Scopes(after).Order("page").Find(&rows).Error, gormplugin.ErrScope},
				"an order before":         {db.Order("page").Scopes(after).Find(&rows).Error, gormplugin.ErrScope},
				"the order of an earlier": {db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Order("page") }, after).Find(&rows).Error, gormplugin.ErrScope},
				"a reorder":               {db.Scopes(after, func(db *gorm.DB) *gorm.DB { o := primary(true); o.Reorder = true; return db.Order(o) }).Find(&rows).Error, gormplugin.ErrScope},
				"an expression":           {db.Clauses(clause.OrderBy{Expression: clause.Expr{SQL: "page"}}).Scopes(after).Find(&rows).Error, gormplugin.ErrScope},
				"generic, another order":  {errorOf(gorm.G[Visit](db).Scopes(gormplugin.Generic(after)).Order("page").Find(t.Context())), gormplugin.ErrScope},
				"Last":                    {db.Scopes(after).Last(&Visit{}).Error, gormplugin.ErrScope},
				"First before":            {db.Scopes(before).First(&Visit{}).Error, gormplugin.ErrScope},
				"batches before":          {db.Scopes(before).FindInBatches(&rows, 2, func(*gorm.DB, int) error { return nil }).Error, gormplugin.ErrScope},
				"after and before":        {db.Scopes(after, before).Find(&rows).Error, gormplugin.ErrScope},
				"Update":                  {db.Model(&Visit{}).Scopes(after).Limit(1).Update("page", "x").Error, gormplugin.ErrScope},
				"Delete":                  {db.Scopes(after).Limit(1).Delete(&Visit{}).Error, gormplugin.ErrScope},
				"Delete for ever":         {db.Unscoped().Scopes(after).Limit(1).Delete(&Visit{}).Error, gormplugin.ErrScope},
				"raw SQL":                 {db.Raw("SELECT * FROM visits").Scopes(after).Scan(&maps).Error, gormplugin.ErrScope},
				"a table alone":           {db.Table("visits").Scopes(after).Find(&maps).Error, gorm.ErrModelValueRequired},
				"a condition of a join":   {db.Joins("Site", after(db)).Find(&rows).Error, gorm.ErrModelValueRequired},
				"a string":                {db.Model(&textKey{}).Scopes(after).Find(&maps).Error, gormplugin.ErrKey},
				"a column of text":        {db.Model(&textColumn{}).Scopes(after).Find(&maps).Error, gormplugin.ErrKey},
				"a type of text":          {db.Model(&textNumber{}).Scopes(before).Find(&maps).Error, gormplugin.ErrKey},
				"two keys":                {db.Model(&twoKey{}).Scopes(after).Find(&maps).Error, gormplugin.ErrKey},
				"no key":                  {db.Model(&noKey{}).Scopes(after).Find(&maps).Error, gormplugin.ErrKey},
			} {
				if !errors.Is(tt.err, tt.want) {
					t.Errorf("%s of %d: got %v, want %v", name, id, tt.err, tt.want)
				}
			}
		}
		if got := pages(t, db); got != "0 a b c d e f g h z" {
			t.Errorf("got the rows %q after statements that failed", got)
		}
	})
}

func errorOf[T any](_ T, err error) error { return err }

// Keys that the plugin does not fill in are numbers as well.
func TestPagesOfOtherKeys(t *testing.T) {
	type Counted struct {
		ID   uint
		Page string
	}
	type Pointed struct {
		Number *int64 `gorm:"primaryKey;autoIncrement:false"`
		Page   string
	}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		if err := db.AutoMigrate(&Counted{}, &Pointed{}); err != nil {
			t.Fatal(err)
		}
		one, two := int64(1), int64(2)
		create(t, db, &[]Counted{{Page: "a"}, {Page: "b"}, {Page: "c"}})
		create(t, db, &[]Pointed{{&one, "a"}, {&two, "b"}})
		var counted []Counted
		if err := db.Scopes(gormplugin.After(uint(1))).Find(&counted).Error; err != nil || fmt.Sprint(counted) != "[{2 b} {3 c}]" {
			t.Errorf("got %v, %v, want b, c", counted, err)
		}
		var pointed []Pointed
		if err := db.Scopes(gormplugin.Before(two)).Find(&pointed).Error; err != nil || len(pointed) != 1 || pointed[0].Page != "a" {
			t.Errorf("got %v, %v, want a", pointed, err)
		}
	})
}

// Every row that is there at the start is read once, in order, while others come behind and some go.
func TestPagesWhileRowsCome(t *testing.T) {
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Visit{})
		there := make([]Visit, 500)
		for i := range there {
			there[i].Page = "there"
		}
		create(t, db, &there)
		doomed := make([]Visit, 50)
		for i := range doomed {
			doomed[i].Page = "doomed"
		}
		create(t, db, &doomed)
		created := make(chan error)
		started := make(chan struct{})
		go func() {
			var err error
			for i := range 100 {
				if err == nil {
					err = db.Create(&[]Visit{{Page: "new"}, {Page: "new"}}).Error
				}
				if err == nil && i%2 == 0 {
					err = db.Unscoped().Delete(&doomed[i/2]).Error
				}
				if i == 0 {
					close(started)
				}
			}
			created <- err
		}()
		<-started
		var last sqltype.ID
		seen, got := map[string]int{}, []sqltype.ID{}
		for {
			var page []Visit
			if err := db.Scopes(gormplugin.After(last)).Limit(7).Find(&page).Error; err != nil {
				t.Fatal(err)
			}
			for _, row := range page {
				if row.ID <= last {
					t.Fatalf("got %d after %d, want increasing keys", row.ID, last)
				}
				last = row.ID
				seen[row.Page]++
				if row.Page == "there" {
					got = append(got, row.ID)
				}
			}
			if len(page) < 7 {
				break
			}
		}
		if err := <-created; err != nil {
			t.Fatal(err)
		}
		want := make([]sqltype.ID, len(there))
		for i, row := range there {
			want[i] = row.ID
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %d rows of those at the start, want %d, once each", len(got), len(want))
		}
		if seen["new"] > 200 || seen["doomed"] > 50 {
			t.Errorf("got rows %v, want each once", seen)
		}
		// Backwards, all that are left.
		n := count(t, db, &Visit{})
		var back []sqltype.ID
		for last = 0; ; {
			var page []sqltype.ID
			if err := db.Model(&Visit{}).Scopes(gormplugin.Before(last)).Limit(100).Pluck("id", &page).Error; err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 || len(back) > int(n) {
				break
			}
			back, last = append(back, page...), page[len(page)-1]
		}
		if int64(len(back)) != n || !slices.IsSortedFunc(back, func(a, b sqltype.ID) int { return int(max(-1, min(1, b-a))) }) || len(slices.Compact(back)) != int(n) {
			t.Errorf("got %d rows backwards, want %d, each once, in order", len(back), n)
		}
	})
}
