package gormplugin

import (
	"fmt"
	"strings"

	"gorm.io/gorm/clause"
)

// names tells whether a text is the name of a column, in any letters and quotes that a database may take it in.
func names(name, column string) bool {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return strings.EqualFold(strings.Trim(name, "`\"[] "), column)
}

// pin sees to it that an upsert writes neither the key nor, when the row that is there has another key, its sharding column: the two would be
// of different buckets. So they are when the row was met over another index than that of the primary key. A row with the same key is of
// the same bucket, whatever its sharding key is. It returns the clause that the statement has then.
func (s *statement) pin(c clause.OnConflict) (clause.OnConflict, error) {
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
		case names(a.Column.Name, key), names(a.Column.Name, by) && (!own || a.Column.Name != by):
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
		s.setSchema(p.pinned)
	}
	return c, nil
}
