package catalog

import (
	"context"
	"encoding/json"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
	"github.com/snowkey-go/snowkey/internal/table"
)

// postgresTree is tables, each its own root, and all their partitions, for a WITH of a query of eachIn. As arrays the database plans it as what
// it is: few.
const postgresTree = "tree AS (SELECT * FROM unnest($1::text::oid[], $2::text::oid[]) AS tree(root, oid))"

// eachIn is eachOf for a query with [postgresTree], whose own parameters begin with $3.
func (s postgresSource) eachIn(ctx context.Context, tables []*Table, query string, args, into []any, row func(*Table) error) error {
	var roots, all, partitioned []uint32
	for _, t := range tables {
		roots, all = append(roots, t.OID), append(all, t.OID)
		if t.Related == "partitioned" {
			partitioned = append(partitioned, t.OID)
		}
	}
	if len(partitioned) > 0 {
		var root, oid uint32
		err := s.Each(ctx, "SELECT root::bigint, relid::oid::bigint FROM unnest($1::text::oid[]) AS root JOIN LATERAL pg_catalog.pg_partition_tree(root::regclass) ON relid <> root",
			[]any{table.Array(partitioned)}, []any{&root, &oid}, func() error {
				roots, all = append(roots, root), append(all, oid)
				return nil
			})
		if err != nil {
			return err
		}
	}
	return s.EachRow(ctx, tables, query, append([]any{table.Array(roots), table.Array(all)}, args...), into, row)
}

// leaves reads the partitions that have rows.
func (s postgresSource) leaves(ctx context.Context, t *Table) (leaves []*Table, err error) {
	read := Table{Rows: -1, Bytes: -1}
	var visible bool
	err = s.Each(ctx, `SELECT c.oid::bigint, n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid)
		FROM pg_catalog.pg_partition_tree($1::bigint::regclass) p JOIN pg_catalog.pg_class c ON c.oid = p.relid AND c.relkind = 'r'
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY 2, 3`, []any{int64(t.OID)}, []any{&read.OID, &read.Full.Schema, &read.Full.Name, &visible}, func() error {
		leaf := read
		if leaf.Name = leaf.Full; visible {
			leaf.Schema = ""
		}
		leaves = append(leaves, &leaf)
		return nil
	})
	if err != nil || len(leaves) == 0 {
		return nil, err
	}
	return leaves, s.ReadIndexes(ctx, leaves)
}

func (s postgresSource) complete(ctx context.Context, tables []*Table) error {
	for _, t := range tables {
		addGenerated(t, sqltoken.Postgres)
	}
	return inTurn(ctx, tables, s.readChecks, s.readTriggers, s.readUsers)
}

func (s postgresSource) sizes(ctx context.Context, tables []*Table) error {
	for _, t := range tables {
		t.Rows, t.Bytes = 0, 0 // of one without any partition
	}
	var rows, bytes int64
	// Before PostgreSQL 14 the number of rows is 0 as long as nothing has counted them.
	return s.eachIn(ctx, tables, "WITH "+postgresTree+` SELECT tree.root::bigint, CASE WHEN bool_and(pg_catalog.pg_relation_size(c.oid) = 0) THEN 0
				WHEN bool_or(c.reltuples < 0 OR c.reltuples = 0 AND c.relpages = 0 AND pg_catalog.pg_relation_size(c.oid) > 0) THEN -1 ELSE sum(c.reltuples) END::bigint,
			coalesce(sum(pg_catalog.pg_total_relation_size(c.oid)), -1)::bigint
		FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid WHERE c.relkind = 'r' GROUP BY tree.root`, nil, []any{&rows, &bytes}, func(t *Table) error {
		t.Rows, t.Bytes = rows, bytes
		return nil
	})
}

// The number of a sequence that the user may not read is NULL.
func (s postgresSource) next(ctx context.Context, t *Table, key *Column) error {
	return s.Each(ctx, `SELECT coalesce(last_value + increment_by, CASE WHEN pg_catalog.has_sequence_privilege(pg_catalog.format('%I.%I', schemaname, sequencename), 'SELECT, USAGE') THEN start_value END, 0)
		FROM pg_catalog.pg_sequences WHERE schemaname = $1::text AND sequencename = $2::text`,
		[]any{key.Sequence.Schema, key.Sequence.Name}, []any{&t.Next}, nil)
}

func (s postgresSource) readChecks(ctx context.Context, tables []*Table) error {
	var c Check
	return s.EachOf(ctx, tables, `SELECT conrelid::bigint, conname, pg_catalog.pg_get_expr(conbin, conrelid) FROM pg_catalog.pg_constraint WHERE conrelid = ANY ($1::text::oid[]) AND contype = 'c' ORDER BY 1, 2`,
		[]any{&c.Name, &c.Text}, func(t *Table) error {
			t.Checks = append(t.Checks, c)
			return nil
		})
}

func (s postgresSource) readTriggers(ctx context.Context, tables []*Table) error {
	var read Trigger
	var of string
	// The bits of tgtype are those of src/include/catalog/pg_trigger.h.
	return s.EachOf(ctx, tables, `SELECT tgrelid::bigint, tgname, CASE WHEN tgtype & 2 <> 0 THEN 'BEFORE ' WHEN tgtype & 64 <> 0 THEN 'INSTEAD OF ' ELSE 'AFTER ' END
				|| array_to_string(ARRAY[CASE WHEN tgtype & 4 <> 0 THEN 'INSERT' END, CASE WHEN tgtype & 8 <> 0 THEN 'DELETE' END,
					CASE WHEN tgtype & 16 <> 0 THEN 'UPDATE' END, CASE WHEN tgtype & 32 <> 0 THEN 'TRUNCATE' END], ' OR '),
			pg_catalog.pg_get_triggerdef(oid),
			(SELECT coalesce(json_agg(a.attname), '[]')::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = tgrelid AND a.attnum = ANY (tgattr)),
			CASE tgenabled WHEN 'D' THEN 'disabled' WHEN 'R' THEN 'replica' WHEN 'A' THEN 'always' ELSE '' END
		FROM pg_catalog.pg_trigger WHERE tgrelid = ANY ($1::text::oid[]) AND NOT tgisinternal ORDER BY 1, 2`,
		[]any{&read.Name, &read.Timing, &read.Definition, &of, &read.Enabled}, func(t *Table) error {
			found := read
			err := json.Unmarshal([]byte(of), &found.Of)
			t.Triggers = append(t.Triggers, found)
			return err
		})
}
