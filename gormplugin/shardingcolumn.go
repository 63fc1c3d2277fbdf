package gormplugin

import (
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/shard"
)

// isNamed reports whether a text is the name of a column, in any letters and quotes that a database may take it in.
func isNamed(name, column string) bool {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return strings.EqualFold(strings.Trim(name, "`\"[] "), column)
}

// keepShardingColumn has an upsert write neither the key nor, when the row that is there has another key, its sharding column: the two would be
// of different buckets. So they are when the row was met over another index than that of the primary key. A row with the same key is of
// the same bucket, whatever its sharding key is. It returns the clause that the statement has then.
func (s *statement) keepShardingColumn(c clause.OnConflict) (clause.OnConflict, error) {
	p, stmt := s.plan, s.of
	if p.sharded == nil || c.DoNothing && len(c.DoUpdates) == 0 {
		return c, nil
	}
	key, by := p.sharded.column, p.sharded.by.DBName
	writes := c.UpdateAll
	var others clause.Set
	for _, a := range c.DoUpdates {
		value, ok := a.Value.(clause.Column)
		switch own := ok && value.Table == "excluded" && value.Name == a.Column.Name; {
		case isNamed(a.Column.Name, key), isNamed(a.Column.Name, by) && (!own || a.Column.Name != by):
			return c, fmt.Errorf("%w: it would write the column %s of the row that is there, which says where that row is; leave it out of DoUpdates", ErrUpsert, a.Column.Name)
		case a.Column.Name == by:
			writes = true
		default:
			others = append(others, a)
		}
	}
	mysql := stmt.Dialector.Name() == "mysql" // which heeds every index, whatever the clause names
	if !writes || !mysql && p.isPrimary(c) {
		return c, nil
	}
	if mysql {
		same := clause.Expr{SQL: "IF(? = VALUES(?), VALUES(?), ?)", Vars: []any{
			clause.Column{Name: key}, clause.Column{Name: key}, clause.Column{Name: by}, clause.Column{Name: by},
		}}
		others = append(others, clause.Assignment{Column: clause.Column{Name: by}, Value: same})
	}
	if len(others) == 0 && !c.UpdateAll {
		return c, fmt.Errorf("%w: it would write the column %s alone, which says where the row is; take DoNothing", ErrUpsert, by)
	}
	c.DoUpdates = others
	stmt.AddClause(c)
	if p.insertSchema(stmt) == p.filled {
		s.setSchema(p.fixedShard)
	}
	return c, nil
}

// watchUpdates has each UPDATE checked when its SET is built, which is after the hooks and before its SQL is sent.
func (p *Plugin) watchUpdates(db *gorm.DB) {
	const name = "SET"
	build := db.ClauseBuilders[name]
	db.ClauseBuilders[name] = func(c clause.Clause, builder clause.Builder) {
		if stmt, ok := builder.(*gorm.Statement); ok && stmt.Schema != nil {
			if err := p.checkUpdate(stmt, c.Expression); err != nil {
				_ = stmt.AddError(fmt.Errorf("gormplugin: key of %s: %w", stmt.Schema.Name, err))
			}
		}
		if build != nil {
			build(c, builder)
		} else {
			c.Build(builder)
		}
	}
}

// checkUpdate fails for an UPDATE that gives a row a sharding key which does not fit the row's key.
func (p *Plugin) checkUpdate(stmt *gorm.Statement, expression clause.Expression) error {
	plan, err := p.plan(stmt.Schema)
	set, ok := expression.(clause.Set)
	if err != nil || plan == nil || plan.sharded == nil || !ok {
		return nil // a plan that cannot be made fails what is created
	}
	k := plan.sharded
	for _, a := range set {
		if !isNamed(a.Column.Name, k.by.DBName) {
			continue
		}
		by := indirect(a.Value)
		if _, is := by.(clause.Expression); is || by == nil {
			return fmt.Errorf("%w: an UPDATE sets %s to %v, which cannot be compared with the key of the row; leave the column out", shard.ErrKey, k.by.Name, by)
		}
		if err := k.canBe(reflect.TypeOf(by)); err != nil {
			return err
		}
		if err := k.checkRowsOf(stmt, by); err != nil {
			return err
		}
	}
	return nil
}

// checkRowsOf fails unless the keys of all rows of an UPDATE are known and fit a sharding key.
func (k *key) checkRowsOf(stmt *gorm.Statement, by any) error {
	rows, err := readRows(nil, nil, reflect.Indirect(stmt.ReflectValue))
	known := 0
	for i := range rows {
		r := &rows[i]
		if r.value.Type() != k.field.Schema.ModelType || k.isMissing(stmt.Context, r) {
			continue
		}
		known++
		id, err := k.id(stmt.Context, r)
		if err == nil {
			err = k.source.check(id, by)
		}
		if err != nil {
			return err
		}
	}
	if err == nil && known == 0 {
		err = fmt.Errorf("%w: an UPDATE sets %s, and the keys of its rows are not known; leave the column out, or name the row with db.Model", shard.ErrKey, k.by.Name)
	}
	return err
}
