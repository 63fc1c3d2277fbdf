package gormplugin

import (
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
)

// tableKey is the key of a table without a model, as [Table] was given it.
type tableKey struct{ table, column, setting string }

// planTables makes the plans of the tables without a model, when all sources are known.
func (p *Plugin) planTables() error {
	if len(p.tablePlans) > 0 {
		return nil // they are those of the first database, which reads them
	}
	for _, t := range p.tables {
		of := idType
		name, _, hasForm := strings.Cut(t.setting, ",")
		if named := p.named[name]; hasForm || named != nil && named.width > 0 || name == "" && p.source.width > 0 {
			of = reflect.TypeFor[string]()
		}
		k, err := p.newKey(t.column, of, t.setting)
		if err != nil {
			return fmt.Errorf("gormplugin: Table %q: %w", t.table, err)
		}
		p.tablePlans[t.table] = &plan{keys: []*key{k}}
	}
	return nil
}

// tablePlan returns what to fill in rows without a model, nil for nothing.
func (p *Plugin) tablePlan(stmt *gorm.Statement) *plan {
	if len(p.tablePlans) == 0 || !isMaps(stmt) {
		return nil
	}
	name := stmt.Table
	if stmt.TableExpr != nil && strings.Contains(stmt.TableExpr.SQL, ".") {
		name = strings.NewReplacer("`", "", `"`, "").Replace(stmt.TableExpr.SQL)
	}
	return p.tablePlans[name]
}

// removeGuess takes the key out of maps without a model that GORM puts there from LastInsertId: it is right of the first one at most.
func removeGuess(stmt *gorm.Statement) {
	_ = rowsOf(stmt).each(func(_ int, r row) error {
		delete(r.columns, "@id")
		return nil
	})
}
