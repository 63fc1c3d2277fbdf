package gormplugin_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
)

// undone runs do in a transaction that is rolled back.
func undone(t *testing.T, db *gorm.DB, do func(tx *gorm.DB)) {
	t.Helper()
	back := errors.New("back")
	if err := db.Transaction(func(tx *gorm.DB) error { do(tx); return back }); !errors.Is(err, back) {
		t.Error(err)
	}
}

// GORM knows an Or only between two spaces. A scope narrows all conditions, however they are written, and wherever they stand.
func TestScopesNarrowWhatGORMDoesNotBracket(t *testing.T) {
	in := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond)) // c d
	after := gormplugin.After(idAt(t, idgen.Snowkey.Layout, noon.Add(time.Millisecond), true))
	named := map[string]any{"a": 1, "b": 2}
	conditions := map[string][]any{ // all of which select every row
		"a line":        {"site_id = 1\nOR site_id = 2"},
		"lines":         {"site_id = 1\n\tOR\nsite_id = 2"},
		"tabs":          {"site_id = 1\tOR\tsite_id = 2"},
		"a tab, small":  {"site_id = 1 or\tsite_id = 2"},
		"brackets":      {"(site_id = 1)OR(site_id = 2)"},
		"comments":      {"site_id = 1/**/OR/**/site_id = 2"},
		"arguments":     {"site_id = ?\nOR site_id = ?", 1, 2},
		"names":         {"site_id = @a\nOR site_id = @b", named},
		"an expression": {gorm.Expr("site_id = 1\nOR site_id = 2")},
		"a group":       {clause.And(gorm.Expr("site_id = 1\nOR site_id = 2"))},
		"an Or of one":  {clause.Or(gorm.Expr("site_id = 1\nOR site_id = 2"))},
		"a Not":         {clause.Not(gorm.Expr("site_id = 3\nOR site_id = 1\nOR site_id = 2"))},
	}
	onMySQL := map[string][]any{"pipes": {"site_id = 1 || site_id = 2"}, "xor": {"site_id = 1 XOR site_id = 2"}}
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		conditions := maps.Clone(conditions)
		if db.Name() == "mysql" {
			maps.Copy(conditions, onMySQL)
		}
		for name, c := range conditions {
			require := func(how, got, want string, err error) {
				t.Helper()
				if err != nil || got != want {
					t.Errorf("%s, %s: got %q, %v, want %q", name, how, got, err, want)
				}
			}
			where := func(db *gorm.DB) *gorm.DB { return db.Where(c[0], c[1:]...) }
			require("Scopes, Where", pages(t, where(db.Scopes(in))), "c d", nil)
			require("Where, Scopes", pages(t, where(db).Scopes(in)), "c d", nil)
			require("Where twice", pages(t, where(where(db)).Scopes(in)), "c d", nil)
			require("Or", pages(t, db.Where("page = ?", "a").Or(c[0], c[1:]...).Scopes(in)), "c d", nil)
			require("unscoped", pages(t, where(db.Unscoped().Scopes(in))), "c d", nil)
			require("called by itself", pages(t, where(in(db)).Or("page = ?", "a")), "c d", nil)
			require("a group", pages(t, db.Where(where(db).Scopes(in))), "c d", nil)
			require("a group in an Or", pages(t, db.Where("page = ?", "a").Or(where(db).Scopes(in))), "a c d", nil)
			require("a group, called by itself", pages(t, db.Where(where(in(db)).Or("page = ?", "a"))), "c d", nil)
			require("not a group", pages(t, db.Not(where(db).Scopes(in))), "0 a b e f g h z", nil)
			require("two scopes", pages(t, where(db.Scopes(gormplugin.CreatedAfter(noon), gormplugin.CreatedBefore(noon.Add(time.Millisecond))))), "c d", nil)
			require("After", pages(t, where(db.Scopes(after))), "g h z", nil)
			require("a scope among scopes", pages(t, db.Scopes(in, where)), "c d", nil)
			require("a scope in a scope", pages(t, where(db).Scopes(func(db *gorm.DB) *gorm.DB { return db.Scopes(in) })), "c d", nil)
			require("a subquery", pages(t, db.Where("id IN (?)", where(db.Model(&Visit{})).Scopes(in).Select("id"))), "c d", nil)

			var n int64
			err := where(db.Model(&Visit{})).Scopes(in).Count(&n).Error
			require("Count", fmt.Sprint(n), "2", err)
			rows, err := gorm.G[Visit](db).Where(c[0], c[1:]...).Scopes(gormplugin.Generic(in)).Find(t.Context())
			require("generic", pagesOf(rows), "c d", err)
			var sites []Site
			err = db.Preload("Visits", func(db *gorm.DB) *gorm.DB { return where(db).Scopes(in) }).Order("id").Find(&sites).Error
			if len(sites) == 2 {
				require("Preload", pagesOf(sites[0].Visits)+", "+pagesOf(sites[1].Visits), "c, d", err)
			} else {
				t.Errorf("%s, Preload: got %v, %v", name, sites, err)
			}

			for how, change := range map[string]func(tx *gorm.DB) *gorm.DB{
				"Delete":                  func(tx *gorm.DB) *gorm.DB { return where(tx.Scopes(in)).Delete(&Visit{}) },
				"Delete for ever":         func(tx *gorm.DB) *gorm.DB { return where(tx.Unscoped().Scopes(in)).Delete(&Visit{}) },
				"Delete, inline":          func(tx *gorm.DB) *gorm.DB { return tx.Unscoped().Scopes(in).Delete(&Visit{}, c...) },
				"Delete, inline and soft": func(tx *gorm.DB) *gorm.DB { return tx.Scopes(in).Delete(&Visit{}, c...) },
				"Delete, called":          func(tx *gorm.DB) *gorm.DB { return where(in(tx)).Or("page = ?", "a").Delete(&Visit{}) },
				"Delete in a group":       func(tx *gorm.DB) *gorm.DB { return tx.Unscoped().Where(where(tx).Scopes(in)).Delete(&Visit{}) },
				"Update":                  func(tx *gorm.DB) *gorm.DB { return where(tx.Model(&Visit{}).Scopes(in)).Update("page", "x") },
				"Update, unscoped": func(tx *gorm.DB) *gorm.DB {
					return where(tx.Unscoped().Model(&Visit{}).Scopes(in)).UpdateColumn("page", "x")
				},
				"generic Delete": func(tx *gorm.DB) *gorm.DB {
					rows, err := gorm.G[Visit](tx).Scopes(gormplugin.Generic(in)).Where(c[0], c[1:]...).Delete(t.Context())
					return &gorm.DB{RowsAffected: int64(rows), Error: err}
				},
			} {
				undone(t, db, func(tx *gorm.DB) {
					result := change(tx)
					require(how, fmt.Sprint(result.RowsAffected), "2", result.Error)
					if left := pages(t, tx.Where("page <> ?", "x")); left != "0 a b e f g h z" {
						t.Errorf("%s, %s: left %q, want all but c and d", name, how, left)
					}
				})
			}
		}
	})
}

// A comment that raw SQL leaves open ends with its line, and takes no condition with it.
func TestScopesAfterComments(t *testing.T) {
	in := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond)) // c d
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		for name, tt := range map[string]struct {
			query *gorm.DB
			want  string
		}{
			"a condition":          {db.Scopes(in).Where("site_id = 2 -- only these"), "d"},
			"with a limit":         {db.Scopes(in).Where("site_id = 2 -- only these").Limit(1), "d"},
			"with a page":          {db.Scopes(in, gormplugin.After(0)).Where("visits.site_id > 0 -- all of them").Limit(1), "c"},
			"a join":               {db.Joins("JOIN sites ON sites.id = visits.site_id -- their site").Scopes(in), "c d"},
			"a join and condition": {db.Joins("JOIN sites ON sites.id = visits.site_id -- their site").Where("sites.name = 'two' -- b").Scopes(in), "d"},
			"lines":                {db.Scopes(in).Where("site_id = 1 -- this\nOR site_id = 2 -- and that"), "c d"},
			"lines, unscoped":      {db.Unscoped().Scopes(in).Where("site_id = 1 -- this\nOR site_id = 2 -- and that").Order("page"), "c d"},
			"called":               {in(db).Where("site_id = 1 -- this"), "c"},
			"a group":              {db.Where(db.Scopes(in).Where("site_id = 1 -- this")).Where("page <> ''"), "c"},
			"no comment":           {db.Scopes(in).Where("page <> '--' AND page <> '#'"), "c d"},
		} {
			if got := pages(t, tt.query); got != tt.want {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
		}
		if db.Name() == "mysql" {
			if got := pages(t, db.Scopes(in).Where("site_id = 1\nOR site_id = 2 # of both")); got != "c d" {
				t.Errorf("a hash: got %q, want c d", got)
			}
		}
		undone(t, db, func(tx *gorm.DB) {
			if result := tx.Unscoped().Scopes(in).Where("site_id = 1 -- this\nOR site_id = 2 -- and that").Delete(&Visit{}); result.Error != nil || result.RowsAffected != 2 {
				t.Errorf("Delete: got %d rows, %v, want 2", result.RowsAffected, result.Error)
			}
		})
		undone(t, db, func(tx *gorm.DB) {
			if result := tx.Model(&Visit{}).Scopes(in).Update("page", gorm.Expr("'x' -- a new page")); result.Error != nil || result.RowsAffected != 2 {
				t.Errorf("Update: got %d rows, %v, want 2", result.RowsAffected, result.Error)
			}
		})
	})
}

// A scope that is called, and not given to db.Scopes, does the same: what comes after it is narrowed, or refused.
func TestScopesCalledByThemselves(t *testing.T) {
	in := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond)) // c d
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		both := func(db *gorm.DB) *gorm.DB { return db.Where("site_id = 1").Or("site_id = 2") }
		session := in(db).Session(&gorm.Session{})
		counted := db.Model(&Visit{}).Scopes(in)
		var n int64
		if err := counted.Count(&n).Error; err != nil || n != 2 {
			t.Errorf("Count: got %d, %v, want 2", n, err)
		}
		hooked := db.Session(&gorm.Session{})
		for name, tt := range map[string]struct {
			query *gorm.DB
			want  string
		}{
			"an Or":                  {both(in(db)), "c d"},
			"an Or first":            {in(db).Or("site_id = 2"), "d"},
			"an Or, unscoped":        {both(in(db.Unscoped())), "c d"},
			"an Or, a page":          {both(gormplugin.Before(0)(in(db))).Limit(1), "d"},
			"twice":                  {both(in(both(in(db)))), "c d"},
			"a group":                {db.Where(both(in(db))), "c d"},
			"a group in an Or":       {db.Where("page = ?", "a").Or(both(in(db))), "a c d"},
			"not a group":            {db.Not(both(in(db))), "0 a b e f g h z"},
			"a group of a group":     {both(in(db)).Where(db.Where("page = ?", "c").Or(gormplugin.CreatedAfter(noon)(db).Where("page = ?", "d").Or("page = ?", "a"))), "c d"},
			"a condition beside one": {in(db).Where(db.Scopes(gormplugin.CreatedBefore(noon))).Or("page = ?", "c"), "c"},
			"a session":              {both(session), "c d"},
			"a session, again":       {both(session).Or("page = ?", "a"), "c d"},
			"a session in itself":    {session.Where(session).Or("page = ?", "a"), "c d"},
			"a statement used again": {both(counted), "c d"},
			"an order":               {in(db).Order("page"), "c d"},
			"a clause that is empty": {in(db).Clauses(clause.Where{}), "c d"},
			"a clause of one's own":  {in(db.Clauses(ownWhere{})), "c d"},
			"a builder of one's own": {both(in(db.Clauses(ownBuilder{}))), "c d"},
			"a hint":                 {both(in(db)).Clauses(ownHint{}), "c d"},
		} {
			if got := pages(t, tt.query); got != tt.want {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
		}
		if sql := db.ToSQL(func(tx *gorm.DB) *gorm.DB {
			return both(in(tx.Clauses(ownBuilder{}))).Clauses(ownHint{}).Find(&[]Visit{})
		}); !strings.Contains(sql, "/* built */") || !strings.Contains(sql, "/* hint */") {
			t.Errorf("got %s, want what others add to WHERE in it", sql)
		}

		// Conditions that come when the scopes have run.
		if err := hooked.Callback().Query().Before("gorm:query").Register("or", func(tx *gorm.DB) { tx.Or("page = ?", "a") }); err != nil {
			t.Fatal(err)
		}
		if err := hooked.Callback().Delete().Before("gorm:delete").Register("or", func(tx *gorm.DB) { tx.Or("page = ?", "a") }); err != nil {
			t.Fatal(err)
		}
		for name, query := range map[string]*gorm.DB{"soft": hooked.Scopes(in), "unscoped": hooked.Unscoped().Scopes(in), "soft, Where": both(hooked.Scopes(in)), "called": both(in(hooked.Unscoped()))} {
			var rows []Visit
			if err := query.Session(&gorm.Session{}).Where("page <> ?", "b").Find(&rows).Error; err != nil || pagesOf(rows) != "c d" && pagesOf(rows) != "" {
				t.Errorf("an Or of a callback, %s: got %q, %v, want rows of c d", name, pagesOf(rows), err)
			}
			undone(t, db, func(tx *gorm.DB) {
				query := query.Session(&gorm.Session{})
				query.Statement.ConnPool = tx.Statement.ConnPool
				if result := query.Where("page <> ?", "c").Delete(&Visit{}); result.Error != nil || result.RowsAffected > 2 {
					t.Errorf("an Or of a callback, %s: got %d rows deleted, %v, want 2 at most", name, result.RowsAffected, result.Error)
				}
			})
		}
		if err := errors.Join(hooked.Callback().Query().Remove("or"), hooked.Callback().Delete().Remove("or")); err != nil {
			t.Fatal(err)
		}

		for name, err := range map[string]error{
			"Exec":           in(db).Exec("DELETE FROM visits").Error,
			"Exec of a page": gormplugin.After(5)(db).Exec("DELETE FROM visits").Error,
			"Raw":            in(db).Raw("SELECT * FROM visits").Scan(&[]Visit{}).Error,
			"Raw first":      in(db.Raw("SELECT * FROM visits")).Scan(&[]Visit{}).Error,
			"Scopes, Exec":   db.Scopes(in).Exec("DELETE FROM visits").Error,
			"Scopes, Raw":    db.Scopes(in).Raw("SELECT * FROM visits").Scan(&[]Visit{}).Error,
		} {
			if !errors.Is(err, gormplugin.ErrScope) {
				t.Errorf("%s: got %v, want ErrScope", name, err)
			}
		}
		if got := pages(t, db); got != "0 a b c d e f g h z" {
			t.Errorf("got the rows %q after statements that failed", got)
		}

		// One session for many.
		var wait sync.WaitGroup
		for range 16 {
			wait.Go(func() {
				var rows []Visit
				if err := both(gormplugin.CreatedBefore(noon.Add(1))(session)).Find(&rows).Error; err != nil || len(rows) != 0 {
					t.Errorf("a session of many: got %q, %v, want none", pagesOf(rows), err)
				}
				if err := both(session).Find(&rows).Error; err != nil || pagesOf(rows) != "c d" {
					t.Errorf("a session of many: got %q, %v, want c d", pagesOf(rows), err)
				}
			})
		}
		wait.Wait()
	})
}

// What other packages do to a WHERE.
type (
	ownWhere   struct{ clause.Expr }
	ownBuilder struct{ clause.Expr }
	ownHint    struct{ clause.Expr }
)

func (ownWhere) ModifyStatement(stmt *gorm.Statement) {
	stmt.Clauses["WHERE"] = clause.Clause{Name: "WHERE", Expression: clause.Expr{SQL: "site_id = 1\nOR site_id = 2"}}
}

func (ownBuilder) ModifyStatement(stmt *gorm.Statement) {
	where := stmt.Clauses["WHERE"]
	where.Builder = func(c clause.Clause, builder clause.Builder) {
		_, _ = builder.WriteString("WHERE /* built */ ")
		c.Expression.Build(builder)
	}
	stmt.Clauses["WHERE"] = where
}

func (ownHint) ModifyStatement(stmt *gorm.Statement) {
	from := stmt.Clauses["FROM"]
	from.AfterExpression = clause.Expr{SQL: "/* hint */"}
	stmt.Clauses["FROM"] = from
}

// FirstOrCreate and FirstOrInit make a row of the conditions that are values, also beside those of a scope.
func TestScopesLeaveTheValuesOfFirstOrCreate(t *testing.T) {
	in := gormplugin.CreatedBetween(noon, noon.Add(time.Millisecond))
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		for name, query := range map[string]*gorm.DB{
			"Scopes":    db.Scopes(in).Where(Visit{Page: "a", SiteID: 1}),
			"called":    in(db).Where(Visit{Page: "a", SiteID: 1}),
			"raw, too":  db.Scopes(in).Where(Visit{Page: "a", SiteID: 1}).Where("made >= 0"),
			"an Or":     db.Scopes(in).Where(Visit{Page: "a", SiteID: 1}).Or("page = 'x'"),
			"unscoped":  db.Unscoped().Scopes(in).Where(Visit{Page: "a", SiteID: 1}),
			"two alike": in(db).Scopes(in).Where("made = ?", 0).Where(Visit{Page: "a", SiteID: 1}),
		} {
			undone(t, db, func(tx *gorm.DB) {
				query := query.Session(&gorm.Session{})
				query.Statement.ConnPool = tx.Statement.ConnPool
				var found, made Visit
				if err := query.FirstOrInit(&found).Error; err != nil || found.ID != 0 || found.Page != "a" || found.SiteID != 1 {
					t.Errorf("%s: FirstOrInit: got %+v, %v, want a new row of page a", name, found, err)
				}
				if err := query.FirstOrCreate(&made).Error; err != nil || made.ID == 0 || made.Page != "a" || made.SiteID != 1 {
					t.Errorf("%s: FirstOrCreate: got %+v, %v, want a new row of page a", name, made, err)
				}
			})
		}
	})
}

// The places where GORM does not call a scope, which the page of CreatedBetween names, with what it says to do instead. When one of them
// fails GORM has learnt it.
func TestScopesThatGORMDoesNotCall(t *testing.T) {
	none := gormplugin.CreatedBefore(time.Time{})
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Site{}, &Visit{})
		makeVisits(t, db)
		const all = "0 a b c d e f g h z"
		ids := db.Scopes(none).Raw("SELECT id FROM visits")
		for name, query := range map[string]*gorm.DB{
			"a join":                   db.InnerJoins("Site", db.Scopes(none)),
			"raw SQL as an argument":   db.Where("visits.id IN (?)", ids),
			"a session as a condition": db.Where(db.Scopes(none).Session(&gorm.Session{})),
		} {
			if got := pages(t, query); got != all {
				t.Errorf("%s: got %q, want all", name, got)
			}
		}
		if rows, err := gorm.G[Visit](db.Scopes(none)).Find(t.Context()); err != nil || pagesOf(rows) != all {
			t.Errorf("generic: got %q, %v, want all", pagesOf(rows), err)
		}
		undone(t, db, func(tx *gorm.DB) {
			visit := Visit{ID: 1, Page: "saved", SiteID: 1}
			if err := tx.Scopes(none).Save(&visit).Error; err != nil || !strings.Contains(pages(t, tx), "saved") {
				t.Errorf("Save: got %v and %q, want the row written", err, pages(t, tx))
			}
		})

		for name, query := range map[string]*gorm.DB{
			"a join":                   db.InnerJoins("Site").Where("site_id IN (?)", db.Model(&Site{}).Scopes(none).Select("id")),
			"raw SQL as an argument":   db.Where("visits.id IN (?)", db.Model(&Visit{}).Scopes(none).Select("id")),
			"a session as a condition": db.Where(db.Scopes(none)),
		} {
			if got := pages(t, query); got != "" {
				t.Errorf("%s, as it is said: got %q, want no rows", name, got)
			}
		}
		if rows, err := gorm.G[Visit](db).Scopes(gormplugin.Generic(none)).Find(t.Context()); err != nil || len(rows) != 0 {
			t.Errorf("generic, as it is said: got %q, %v, want no rows", pagesOf(rows), err)
		}
		for name, err := range map[string]error{
			"a join, called":           db.InnerJoins("Site", none(db)).Find(&[]Visit{}).Error,
			"a join, a group":          db.InnerJoins("Site", db.Where(db.Scopes(none))).Find(&[]Visit{}).Error,
			"a join, generic, a group": errorOf(gorm.G[Visit](db).Joins(clause.InnerJoin.Association("Site"), func(j gorm.JoinBuilder, _, _ clause.Table) error { j.Where(db.Scopes(none)); return nil }).Find(t.Context())),
		} {
			if !errors.Is(err, gorm.ErrModelValueRequired) {
				t.Errorf("%s: got %v, want ErrModelValueRequired", name, err)
			}
		}
	})
}
