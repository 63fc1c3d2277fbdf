package gormplugin_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// Tenanted has a key of two columns.
type Tenanted struct {
	Tenant int64      `gorm:"primaryKey;autoIncrement:false"`
	ID     sqltype.ID `gorm:"primaryKey"`
	Page   string
}

// The scopes read a range of the primary key, in its order, on every database, which is free to choose another way.
func TestScopesReadARangeOfTheKey(t *testing.T) {
	const rows, tenants = 20_000, 20
	onEach(t, func(t *testing.T, db *gorm.DB) {
		use(t, db, &Visit{}, &Tenanted{})
		visits, tenanted := make([]Visit, rows), make([]Tenanted, rows)
		for i := range rows {
			id := idAt(t, idgen.Snowkey.Layout, noon.Add(time.Duration(i)*time.Minute), false)
			visits[i] = Visit{ID: id, Page: "a page"}
			tenanted[i] = Tenanted{ID: id, Tenant: int64(i%tenants) + 1, Page: "a page"}
		}
		create(t, db.Session(&gorm.Session{CreateBatchSize: 2000}).Omit("Site"), &visits)
		create(t, db.Session(&gorm.Session{CreateBatchSize: 2000}), &tenanted)
		for _, table := range []string{"visits", "tenanteds"} {
			analyze := map[string]string{"sqlite": "ANALYZE ", "mysql": "ANALYZE TABLE ", "postgres": "VACUUM ANALYZE "}
			if err := db.Exec(analyze[db.Name()] + table).Error; err != nil {
				t.Fatal(err)
			}
		}
		from := noon.Add(rows / 2 * time.Minute)
		day := gormplugin.CreatedBetween(from, from.Add(2*time.Hour))
		middle := visits[rows/2].ID
		for name, tt := range map[string]struct {
			query  func(*gorm.DB) *gorm.DB
			tenant bool
			bounds string // < and >
			pages  bool
		}{
			"range":             {func(db *gorm.DB) *gorm.DB { return db.Scopes(day).Find(&[]Visit{}) }, false, "><", false},
			"Count of a range":  {func(db *gorm.DB) *gorm.DB { var n int64; return db.Model(&Visit{}).Scopes(day).Count(&n) }, false, "><", false},
			"Update of a range": {func(db *gorm.DB) *gorm.DB { return db.Model(&Visit{}).Scopes(day).Update("page", "x") }, false, "><", false},
			"Delete of a range": {func(db *gorm.DB) *gorm.DB { return db.Unscoped().Scopes(day).Delete(&Visit{}) }, false, "><", false},
			"range of a tenant": {func(db *gorm.DB) *gorm.DB { return db.Where("tenant = 3").Scopes(day).Find(&[]Tenanted{}) }, true, "><", false},
			"after":             {func(db *gorm.DB) *gorm.DB { return db.Scopes(gormplugin.After(middle)).Limit(20).Find(&[]Visit{}) }, false, ">", true},
			"before":            {func(db *gorm.DB) *gorm.DB { return db.Scopes(gormplugin.Before(middle)).Limit(20).Find(&[]Visit{}) }, false, "<", true},
			"first page":        {func(db *gorm.DB) *gorm.DB { return db.Scopes(gormplugin.After(0)).Limit(20).Find(&[]Visit{}) }, false, "", true},
			"newest page":       {func(db *gorm.DB) *gorm.DB { return db.Scopes(gormplugin.Before(0)).Limit(20).Find(&[]Visit{}) }, false, "", true},
			"page of a range":   {func(db *gorm.DB) *gorm.DB { return db.Scopes(day, gormplugin.After(middle)).Limit(20).Find(&[]Visit{}) }, false, "><", true},
			"page of a tenant": {func(db *gorm.DB) *gorm.DB {
				return db.Where("tenant = 3").Scopes(gormplugin.After(middle)).Limit(20).Find(&[]Tenanted{})
			}, true, ">", true},
			"newest of a tenant": {func(db *gorm.DB) *gorm.DB {
				return db.Where("tenant = 3").Scopes(gormplugin.Before(0)).Limit(20).Find(&[]Tenanted{})
			}, true, "", true},
			"page before, tenant": {func(db *gorm.DB) *gorm.DB {
				return db.Where("tenant = 3").Scopes(gormplugin.Before(middle)).Limit(20).Find(&[]Tenanted{})
			}, true, "<", true},
		} {
			plan := explain(t, db, tt.query)
			for _, wrong := range planFaults(db.Name(), plan, tt.tenant, tt.bounds, tt.pages) {
				t.Errorf("%s: %s:\n%s", name, wrong, plan)
			}
		}
	})
}

// explain returns how the database would run the statement of a query.
func explain(t *testing.T, db *gorm.DB, query func(*gorm.DB) *gorm.DB) string {
	t.Helper()
	keyword := "EXPLAIN "
	if db.Name() == "sqlite" {
		keyword = "EXPLAIN QUERY PLAN "
	}
	lines, err := db.Raw(keyword + db.ToSQL(query)).Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	columns, err := lines.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for lines.Next() {
		values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := lines.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		for i, column := range columns {
			fmt.Fprintf(&b, "%s=%s ", column, values[i].String)
		}
		b.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// planFaults says what a plan lacks: the primary key's index, the bounds on the key in it, the order from it where there are pages.
func planFaults(database, plan string, tenant bool, bounds string, pages bool) (faults []string) {
	require := func(pattern string) {
		if !regexp.MustCompile(pattern).MatchString(plan) {
			faults = append(faults, "want "+pattern)
		}
	}
	refuse := func(pattern string) {
		if regexp.MustCompile(pattern).MatchString(plan) {
			faults = append(faults, "want no "+pattern)
		}
	}
	switch database {
	case "sqlite":
		column := "rowid"
		if tenant {
			require(`SEARCH tenanteds USING INDEX sqlite_autoindex_tenanteds_1`)
			require(`tenant=\?`)
			column = "id"
		} else if bounds != "" {
			require(`SEARCH visits USING INTEGER PRIMARY KEY`)
		}
		for _, b := range bounds {
			require(column + string(b) + `\?`)
		}
		refuse(`TEMP B-TREE`)
	case "mysql":
		require(`key=PRIMARY`)
		switch {
		case bounds != "":
			require(`type=range`)
			if tenant {
				require(`key_len=16`)
			}
		case tenant:
			require(`type=ref`)
		default:
			require(`type=(index|range)`)
			require(`rows=20 `)
		}
		refuse(`filesort|temporary`)
	case "postgres":
		require(`Index (Only )?Scan.* (using|on) \w+_pkey`)
		if tenant {
			require(`Index Cond: .*tenant = `)
		}
		for _, b := range bounds {
			require(`Index Cond: .*id ` + string(b))
		}
		refuse(`Seq Scan`)
		if pages {
			refuse(`Sort`)
		}
	}
	return faults
}
