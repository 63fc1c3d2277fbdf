package table

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// MySQL reads the information_schema of MySQL and MariaDB, which shows the tables on which the user has some right.
type MySQL struct{ Reader }

// Outlines reads the tables of names; see [Source].
func (s MySQL) Outlines(ctx context.Context, names []Name) ([]*Table, error) {
	tables := make([]*Table, len(names))
	for _, args := range bySchema(names) {
		query := `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), TABLE_SCHEMA = DATABASE(), @@lower_case_table_names,
				COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%'
			FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, CONVERT('' USING utf8mb4)), DATABASE()) AND TABLE_NAME IN (?)`
		read := Table{Rows: -1, Bytes: -1}
		var kind string
		var current *bool // NULL without a current database
		var folding int
		var partitioned bool
		into := []any{&read.Full.Schema, &read.Full.Name, &kind, &read.Engine, &current, &folding, &partitioned}
		err := s.Each(ctx, Marks(query, len(args)-1), args, into, func() error {
			t := mysqlOutline(read, kind, current != nil && *current, partitioned)
			for i, n := range names {
				// The comparison of information_schema knows no case; that of the server may.
				if n.Schema == args[0] && (t.Full.Name == n.Name || folding != 0 && strings.EqualFold(t.Full.Name, n.Name)) {
					tables[i] = t
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	all := Distinct(tables)
	if err := s.readColumns(ctx, all); err != nil {
		return nil, err
	}
	return tables, s.ReadIndexes(ctx, slices.DeleteFunc(all, func(t *Table) bool { return t.View != "" }))
}

// mysqlOutline returns the table of a row of information_schema.TABLES.
func mysqlOutline(t Table, kind string, current, partitioned bool) *Table {
	t.Name = t.Full
	if current {
		t.Schema = ""
	}
	if partitioned {
		t.Related = "partitioned"
	}
	switch kind {
	case "BASE TABLE":
	case "SYSTEM VERSIONED":
		t.Versioned = true
	default:
		t.View = strings.ToLower(kind)
	}
	return &t
}

// bySchema returns the parameters of a query for each schema: the schema, and the names in it.
func bySchema(names []Name) (all [][]any) {
	for _, n := range names {
		i := slices.IndexFunc(all, func(args []any) bool { return args[0] == n.Schema })
		if i < 0 {
			i, all = len(all), append(all, []any{n.Schema})
		}
		all[i] = append(all[i], n.Name)
	}
	return all
}

// Distinct returns the tables that are there, each once. Where two of them are the same table, both become the same pointer.
func Distinct(tables []*Table) (all []*Table) {
	for i, t := range tables {
		if t == nil {
			continue
		}
		if at := slices.IndexFunc(all, func(known *Table) bool { return known.Full == t.Full }); at >= 0 {
			tables[i] = all[at]
			continue
		}
		all = append(all, t)
	}
	return all
}

// Marks returns a query with so many parameters in its IN (?).
func Marks(query string, n int) string {
	return strings.ReplaceAll(query, "IN (?)", "IN (?"+strings.Repeat(", ?", n-1)+")")
}

// EachOf calls row for each row of a query that is about tables, once the columns are read into variables. The first column is not among these: it is
// the name of the table. The parameters of the query are a schema, and in IN (?) the names of tables.
func (s MySQL) EachOf(ctx context.Context, tables []*Table, query string, into []any, row func(*Table) error) error {
	var names []Name
	known := map[Name]*Table{}
	for _, t := range tables {
		names, known[t.Full] = append(names, t.Full), t
	}
	for _, args := range bySchema(names) {
		of := Name{Schema: args[0].(string)}
		err := s.Each(ctx, Marks(query, len(args)-1), args, append([]any{&of.Name}, into...), func() error {
			return row(cmp.Or(known[of], &Table{})) // a name that differs in its case alone: what is read goes nowhere
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadIndexes reads the indexes of tables.
func (s MySQL) ReadIndexes(ctx context.Context, tables []*Table) error {
	// MySQL has expressions since 8.0.13, and escapes the quotes in them. MariaDB takes what is marked so for a comment.
	var index string
	var part Part
	var unique bool
	var place int
	return s.EachOf(ctx, tables, `SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE = 0, SEQ_IN_INDEX, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, 0), COALESCE(/*!80013 EXPRESSION, */ '')
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?) ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`,
		[]any{&index, &unique, &place, &part.Column, &part.Length, &part.Expression}, func(t *Table) error {
			name := ""
			if place == 1 || len(t.Indexes) == 0 {
				t.Indexes = append(t.Indexes, &Index{Name: index, Primary: index == "PRIMARY", Unique: unique, Valid: true})
			}
			if part.Length == 0 {
				name = part.Column
			}
			part.Expression = strings.ReplaceAll(part.Expression, `\'`, "'")
			last := t.Indexes[len(t.Indexes)-1]
			last.Columns, last.Parts = append(last.Columns, name), append(last.Parts, part)
			return nil
		})
}

// Backticks returns a text of the server's making with ` around all names.
func Backticks(sql string) string {
	var b strings.Builder
	last := 0
	for _, t := range sqltoken.MySQL.Tokens(sql) {
		if t.Kind == sqltoken.Name && sql[t.Start] == '"' {
			b.WriteString(sql[last:t.Start] + dialect.MySQL.QuoteAny(t.Value))
			last = t.End
		}
	}
	return b.String() + sql[last:]
}
