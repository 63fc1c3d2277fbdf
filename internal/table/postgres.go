package table

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
)

// Postgres reads PostgreSQL's pg_catalog, which everybody may.
type Postgres struct{ Reader }

// postgresViews are the kinds of relations that are no tables.
var postgresViews = map[string]string{"v": "view", "m": "materialized view", "f": "foreign table", "S": "sequence"}

// Outlines reads the tables of names; see [Source].
func (s Postgres) Outlines(ctx context.Context, names []Name) ([]*Table, error) {
	tables, err := s.Named(ctx, names)
	if err != nil {
		return nil, err
	}
	return tables, s.ReadDetails(ctx, Distinct(tables))
}

// ReadDetails reads the columns and indexes of tables.
func (s Postgres) ReadDetails(ctx context.Context, tables []*Table) error {
	if len(tables) == 0 {
		return nil
	}
	if err := s.readColumns(ctx, tables); err != nil {
		return err
	}
	return s.ReadIndexes(ctx, tables)
}

// Named reads the names of tables and what they are, and neither columns nor indexes. The result is that of [Source.Outlines].
func (s Postgres) Named(ctx context.Context, names []Name) ([]*Table, error) {
	asked, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	tables := make([]*Table, len(names))
	known := map[uint32]*Table{}
	// A partition has the columns of the table that it is of, and they are changed there.
	read := Table{Rows: -1, Bytes: -1}
	var place int
	var kind string
	var visible bool
	err = s.Each(ctx, `WITH asked AS (
			SELECT n, v->>'name' AS name, coalesce(v->>'schema', '') AS schema FROM pg_catalog.json_array_elements($1::text::json) WITH ORDINALITY AS a(v, n)),
		named AS (
			SELECT a.n, c.oid, c.relispartition FROM asked a JOIN pg_catalog.pg_class c ON c.relname = a.name::name JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE length(a.name) = length(c.relname) AND CASE WHEN a.schema = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = a.schema END
			AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S'))
		SELECT named.n, c.oid::bigint, n.nspname, c.relname, c.relkind::text, pg_catalog.pg_table_is_visible(c.oid),
			CASE WHEN c.relkind = 'p' THEN 'partitioned' WHEN c.reloftype <> 0 THEN 'of a type'
				WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent)) THEN 'inherited' ELSE '' END
		FROM named JOIN pg_catalog.pg_class c ON c.oid = CASE WHEN named.relispartition THEN pg_catalog.pg_partition_root(named.oid)::oid ELSE named.oid END
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY 1`,
		[]any{string(asked)}, []any{&place, &read.OID, &read.Full.Schema, &read.Full.Name, &kind, &visible, &read.Related}, func() error {
			t := read
			t.Name, t.View = t.Full, postgresViews[kind]
			if visible {
				t.Schema = ""
			}
			known[t.OID] = cmp.Or(known[t.OID], &t)
			tables[place-1] = known[t.OID]
			return nil
		})
	return tables, err
}

// EachOf calls row for each row of a query that is about tables, once the columns are read into variables. The first column is not among these: it is
// the number of the table. The parameter of the query is an array of the tables' numbers, as a text.
func (s Postgres) EachOf(ctx context.Context, tables []*Table, query string, into []any, row func(*Table) error) error {
	var numbers []uint32
	for _, t := range tables {
		numbers = append(numbers, t.OID)
	}
	return s.EachRow(ctx, tables, query, []any{Array(numbers)}, into, row)
}

// EachRow is like EachOf with parameters of the caller's.
func (s Postgres) EachRow(ctx context.Context, tables []*Table, query string, args, into []any, row func(*Table) error) error {
	numbers := map[uint32]*Table{}
	for _, t := range tables {
		numbers[t.OID] = t
	}
	var number uint32
	return s.Each(ctx, query, args, append([]any{&number}, into...), func() error { return row(numbers[number]) })
}

// Array returns numbers as the text of an array, which all drivers can pass.
func Array[N uint32 | int64](numbers []N) string {
	text := append(make([]byte, 0, 20*len(numbers)+2), '{')
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return string(append(text, '}'))
}
