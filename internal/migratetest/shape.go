package migratetest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Shape is what a checksum has to know of a schema: its tables, which columns are ids, and what refers to what. It is read once, before a
// migration, and is true of the schema afterwards, too. It is not safe for concurrent use.
type Shape struct {
	kind   string
	tables []table
	except map[string]string
}

// ReadShape reads the shape of the tables of a database: MySQL's current one, PostgreSQL's schema public, SQLite's main. An id is a column
// that a sequence or AUTO_INCREMENT fills, or an integer that is the primary key alone. References are the declared foreign keys; those of a
// partition count as its table's. It asks the catalogue itself, not internal/catalog, whose errors it would share.
func ReadShape(ctx context.Context, db *sql.DB, kind string) (*Shape, error) {
	s := &Shape{kind: kind, except: map[string]string{}}
	columns, err := texts(ctx, db, shapeColumns[kind])
	if err != nil {
		return nil, fmt.Errorf("migratetest: %w", err)
	}
	keys, err := texts(ctx, db, shapeReferences[kind])
	if err != nil {
		return nil, fmt.Errorf("migratetest: %w", err)
	}
	at := map[string]int{}      // the places of tables
	for _, c := range columns { // table, column, whether it is an id
		if _, ok := at[c[0]]; !ok {
			at[c[0]] = len(s.tables)
			s.tables = append(s.tables, table{name: c[0]})
		}
		t := &s.tables[at[c[0]]]
		t.columns = append(t.columns, c[1])
		if c[2] == "1" && t.key == "" {
			t.key = c[1]
		}
	}
	last := ""
	for _, k := range keys { // table, name of the foreign key, column, table that is referred to, its column or nothing
		place, ok := at[k[0]]
		if !ok {
			return nil, fmt.Errorf("migratetest: a foreign key of the table %s, which has no columns", k[0])
		}
		t := &s.tables[place]
		if k[4] == "" {
			k[4] = s.table(k[3]).key
		}
		name := k[0] + " " + k[1]
		if name == last {
			r := &t.refs[len(t.refs)-1]
			r.more = append(r.more, [2]string{k[2], k[4]})
			continue
		}
		last = name
		r := ref{column: k[2], to: k[3], by: k[4]}
		if !slices.ContainsFunc(t.refs, func(o ref) bool { return o.column == r.column && o.to == r.to && o.by == r.by && o.more == nil }) {
			t.refs = append(t.refs, r)
		}
	}
	for i := range s.tables {
		s.tables[i].columns = slices.DeleteFunc(s.tables[i].columns, s.tables[i].isID)
	}
	return s, nil
}

// isID says whether a column is the key or in a reference.
func (t table) isID(column string) bool {
	return column == t.key || slices.ContainsFunc(t.refs, func(r ref) bool {
		return r.column == column || slices.ContainsFunc(r.more, func(m [2]string) bool { return m[0] == column })
	})
}

// Refer adds a reference that is not declared, to the key of another table. A column that was the table's key is that no more.
func (s *Shape) Refer(table, column, to string) {
	for i := range s.tables {
		t := &s.tables[i]
		if t.name != table {
			continue
		}
		if t.key == column {
			t.key = ""
		}
		t.refs = append(t.refs, ref{column: column, to: to})
		t.columns = slices.DeleteFunc(t.columns, t.isID)
	}
}

// Except leaves rows of a table out of checksums: those for which the condition, in SQL, is true.
func (s *Shape) Except(table, where string) { s.except[table] = where }

// Orphans returns how many rows refer to rows that do not exist, by "table.column"; references without such rows are not in it.
func (s *Shape) Orphans(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	found := map[string]int64{}
	for _, t := range s.tables {
		for _, r := range t.refs {
			if r.to == "" || r.path != nil {
				continue
			}
			on := fmt.Sprintf("p.%s = c.%s", s.quote(cmp.Or(r.by, s.table(r.to).key)), s.quote(r.column))
			for _, m := range r.more {
				on += fmt.Sprintf(" AND p.%s = c.%s", s.quote(m[1]), s.quote(m[0]))
			}
			var n int64
			query := fmt.Sprintf("SELECT COUNT(*) FROM %s c WHERE c.%s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)", s.quote(t.name), s.quote(r.column), s.quote(r.to), on)
			if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
				return nil, fmt.Errorf("migratetest: %w: %s", err, query)
			}
			if n > 0 {
				found[t.name+"."+r.column] = n
			}
		}
	}
	return found, nil
}

// IDs returns the ids of all rows, a line each: of those columns that are ids, and of those that refer to ids. So it is the same only where
// all ids are.
func (s *Shape) IDs(ctx context.Context, db *sql.DB) (string, error) {
	var lines []string
	for _, t := range s.tables {
		columns := s.columns(t)[len(t.columns):]
		for i, c := range columns {
			columns[i] = s.quote(c)
		}
		if len(columns) == 0 {
			continue
		}
		rows, err := texts(ctx, db, "SELECT "+strings.Join(columns, ", ")+" FROM "+s.quote(t.name)+s.where(t))
		if err != nil {
			return "", fmt.Errorf("migratetest: %s: %w", t.name, err)
		}
		for _, r := range rows {
			lines = append(lines, t.name+" "+strings.Join(r, " "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// columns returns the columns of a table that a checksum reads: those of its content, those of references, and the key.
func (s *Shape) columns(t table) []string {
	columns := slices.Clone(t.columns)
	add := func(column string) {
		if column != "" && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	for _, f := range t.refs {
		add(f.column)
		for _, m := range f.more {
			add(m[0])
		}
	}
	add(t.key)
	return columns
}

// where is what a query has at its end so that it leaves out what Except says.
func (s *Shape) where(t table) string {
	if where := s.except[t.name]; where != "" {
		return " WHERE NOT COALESCE(" + where + ", FALSE)"
	}
	return ""
}

func (s *Shape) table(name string) table {
	if i := slices.IndexFunc(s.tables, func(t table) bool { return t.name == name }); i >= 0 {
		return s.tables[i]
	}
	return table{name: name}
}

// quote quotes a name.
func (s *Shape) quote(name string) string {
	d, _ := dialect.Lookup(s.kind)
	return d.QuoteAny(name)
}

// texts returns the rows that a query gives, as texts; NULL is an empty one.
func texts(ctx context.Context, db *sql.DB, query string) (found [][]string, err error) {
	return dialect.All(ctx, db, query, nil, func(rows *sql.Rows) ([]string, error) {
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = rows.Scan(into...)
		texts := make([]string, len(columns))
		for i, v := range values {
			texts[i] = v.String
		}
		return texts, err
	})
}

// shapeColumns gives table, column, and 1 for an id.
var shapeColumns = map[string]string{
	"mysql": `SELECT c.TABLE_NAME, c.COLUMN_NAME, c.EXTRA LIKE '%auto_increment%' OR (c.COLUMN_KEY = 'PRI' AND c.DATA_TYPE LIKE '%int' AND (
			SELECT COUNT(*) FROM information_schema.STATISTICS s WHERE s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = c.TABLE_NAME AND s.INDEX_NAME = 'PRIMARY') = 1)
		FROM information_schema.COLUMNS c JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
		WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY 1, c.ORDINAL_POSITION`,
	"postgres": `SELECT c.relname, a.attname, CASE WHEN a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%' OR (
			t.typname LIKE 'int_' AND EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p' AND k.conkey = ARRAY[a.attnum])) THEN 1 ELSE 0 END
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
			LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1, a.attnum`,
	"sqlite": `SELECT m.name, c.name, c.pk = 1 AND upper(c.type) LIKE '%INT%' AND (SELECT count(*) FROM pragma_table_info(m.name) o WHERE o.pk > 0) = 1
		FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1, c.cid`,
}

// shapeReferences gives table, name of the foreign key, column, the table that is referred to, and its column, empty for the key.
var shapeReferences = map[string]string{
	"mysql": `SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY 1, 2, ORDINAL_POSITION`,
	"postgres": `SELECT COALESCE(pg_partition_root(k.conrelid), k.conrelid)::regclass::text, k.conname, a.attname, k.confrelid::regclass::text, b.attname
		FROM pg_constraint k, LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY u(child, parent, place)
			JOIN pg_attribute a ON a.attnum = u.child JOIN pg_attribute b ON b.attnum = u.parent
		WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace AND a.attrelid = k.conrelid AND b.attrelid = k.confrelid
			AND NOT EXISTS (SELECT 1 FROM pg_class p WHERE p.oid = k.confrelid AND p.relispartition) ORDER BY 1, 2, u.place`,
	"sqlite": `SELECT m.name, f.id, f."from", f."table", f."to" FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY 1, f.id, f.seq`,
}
