package inspect

import (
	"slices"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// subject is a table that is looked at.
type subject struct {
	*catalog.Table
	words    []string        // of its name
	wanted   bool            // it is one of those that were asked for
	keyed    bool            // its key was read
	key      *catalog.Column // nil when there is none, and for what is no table
	least    int64           // of its keys
	greatest int64
	beyond   bool // a key is above the greatest int64
	empty    bool
	small    bool // it has at most fewRows rows
	rows     int64
	created  *catalog.Column
	guessed  bool // created is known by its name alone
	report   Table
	spans    map[string][]span // by column: the parts that samples are taken from
	changed  []string          // keys and columns of references, which a migration changes
}

// column returns the column of a name, which SQLite and MySQL take in any case, nil when there is none.
func (i *inspector) column(s *subject, name string) *catalog.Column {
	return s.Column(name, i.dialect != dialect.Postgres)
}

// changes notes that a migration changes a column.
func (s *subject) changes(column string) {
	if !slices.Contains(s.changed, column) {
		s.changed = append(s.changed, column)
	}
}

// isChanged reports whether a migration changes one of columns.
func (s *subject) isChanged(columns []string) bool {
	return slices.ContainsFunc(columns, func(c string) bool { return slices.Contains(s.changed, c) })
}

// indexed reports whether an index that has all rows begins with a column.
func (s *subject) indexed(column string) bool {
	return slices.ContainsFunc(s.Indexes, func(x *catalog.Index) bool {
		return x.Valid && x.Where == "" && len(x.Columns) > 0 && x.Columns[0] == column
	})
}

// unique reports whether no two rows can have the same value in a column.
func (s *subject) unique(column string) bool {
	return slices.ContainsFunc(s.Indexes, func(x *catalog.Index) bool {
		return x.Unique && x.Valid && x.Where == "" && len(x.Columns) == 1 && x.Columns[0] == column
	})
}
