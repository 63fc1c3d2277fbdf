package table

import "context"

// ReadIndexes reads the indexes of tables.
func (s Postgres) ReadIndexes(ctx context.Context, tables []*Table) error {
	var read Index
	var place int
	var part Part
	return s.EachOf(ctx, tables, `SELECT i.indrelid::bigint, r.relname, i.indisprimary, i.indisunique, k.n, coalesce(a.attname::text, ''), coalesce(pg_catalog.pg_get_expr(i.indpred, i.indrelid), ''),
			pg_catalog.pg_get_indexdef(i.indexrelid), i.indisvalid, CASE k.attnum WHEN 0 THEN pg_catalog.pg_get_indexdef(i.indexrelid, k.n::integer, true) ELSE '' END
		FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class r ON r.oid = i.indexrelid
		JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, n) ON k.n <= i.indnkeyatts
		LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum <> 0
		WHERE i.indrelid = ANY ($1::text::oid[]) ORDER BY 1, i.indisprimary DESC, 2, k.n`,
		[]any{&read.Name, &read.Primary, &read.Unique, &place, &part.Column, &read.Where, &read.Definition, &read.Valid, &part.Expression}, func(t *Table) error {
			if i := read; place == 1 {
				t.Indexes = append(t.Indexes, &i)
			}
			last := t.Indexes[len(t.Indexes)-1]
			last.Columns, last.Parts = append(last.Columns, part.Column), append(last.Parts, part)
			return nil
		})
}
