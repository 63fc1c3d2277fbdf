package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

var postgresBounds = regexp.MustCompile(`^FOR VALUES FROM \(([^,()]+)\) TO \(([^,()]+)\)$`)

func (r reader) postgres(ctx context.Context, s *Status) error {
	var oid int64
	var strategy, column, kind string
	var columns int64
	err := dialect.One(ctx, r.conn, `SELECT CAST(c.oid AS bigint), CAST(p.partstrat AS text), p.partnatts, COALESCE(CAST(a.attname AS text), ''), COALESCE(format_type(a.atttypid, NULL), '')
		FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = c.oid
		LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
		WHERE c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND c.relname = $2`, []any{s.Schema, s.Name}, &oid, &strategy, &columns, &column, &kind)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %s is a table without partitions", ErrNotPartitioned, s.Table)
	case err != nil:
		return fmt.Errorf("reading how %s is divided: %w", s.Table, err)
	case strategy != "r" || columns != 1 || column != r.t.Key || kind != "bigint":
		return fmt.Errorf("%w: %s is divided by strategy %q and %d columns, of which %q has the type %q is the first; want RANGE (%s) of a bigint", ErrNotPartitioned, s.Table, strategy, columns, column, kind, r.t.Key)
	}
	if err := r.postgresParts(ctx, s, oid); err != nil {
		return fmt.Errorf("reading the partitions of %s: %w", s.Table, err)
	}
	if err := r.postgresBesides(ctx, s, oid); err != nil {
		return fmt.Errorf("reading what concerns %s: %w", s.Table, err)
	}
	return r.postgresDefault(ctx, s)
}

func (r reader) postgresParts(ctx context.Context, s *Status, oid int64) error {
	err := dialect.Each(ctx, r.conn, `SELECT CAST(n.nspname AS text), CAST(c.relname AS text), pg_get_expr(c.relpartbound, c.oid), i.inhdetachpending,
		CAST(c.reltuples AS bigint), COALESCE(obj_description(c.oid, 'pg_class'), '')
		FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE i.inhparent = CAST($1 AS bigint)`, []any{oid}, func(rows *sql.Rows) error {
		var part Part
		var bounds, comment string
		if err := rows.Scan(&part.Schema, &part.Name, &bounds, &part.Pending, &part.Rows, &comment); err != nil {
			return err
		}
		if bounds == "DEFAULT" {
			s.Default = &Default{Schema: part.Schema, Name: part.Name, Unplaced: []Unplaced{}}
			return nil
		}
		found := postgresBounds.FindStringSubmatch(bounds)
		if found == nil {
			return fmt.Errorf("%s has bounds that are not understood: %s", part.Name, bounds)
		}
		from, err := wordOf(found[1])
		to, also := wordOf(found[2])
		part.Range = r.t.between(from, to)
		_, part.marked = readMark(comment, s.Table)
		s.Parts = append(s.Parts, part)
		return errors.Join(err, also)
	})
	slices.SortFunc(s.Parts, comparePart)
	return err
}

// postgresBesides reads the marked tables, names that are taken, foreign keys to the table, its columns, and what pg_partman has.
func (r reader) postgresBesides(ctx context.Context, s *Status, oid int64) error {
	err := dialect.Each(ctx, r.conn, `SELECT CAST(n.nspname AS text), CAST(c.relname AS text), d.description
		FROM pg_catalog.pg_description AS d JOIN pg_catalog.pg_class AS c ON c.oid = d.objoid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE d.classoid = CAST('pg_catalog.pg_class' AS regclass) AND d.objsubid = 0 AND starts_with(d.description, $1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
		[]any{markPrefix}, func(rows *sql.Rows) error {
			var schema, name, comment string
			if err := rows.Scan(&schema, &name, &comment); err != nil {
				return err
			}
			if m, ok := readMark(comment, s.Table); ok {
				s.Detached = append(s.Detached, r.t.detached(s.Table, schema, name, m))
			}
			return nil
		})
	slices.SortFunc(s.Detached, compareDetached)
	if err != nil {
		return err
	}
	texts := func(into *[]string, query string, args ...any) {
		if err == nil {
			*into, err = r.texts(ctx, query, args...)
		}
	}
	texts(&s.Taken, `SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND starts_with(CAST(c.relname AS text), $2)`, s.Schema, s.Name+"_p")
	texts(&s.columns, `SELECT CAST(attname AS text) FROM pg_catalog.pg_attribute WHERE attrelid = CAST($1 AS bigint) AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, oid)
	var owners, partmen []string
	texts(&owners, `SELECT CAST(pg_get_userbyid(relowner) AS text) FROM pg_catalog.pg_class WHERE oid = CAST($1 AS bigint) AND pg_get_userbyid(relowner) <> current_user`, oid)
	if len(owners) > 0 {
		s.owner = owners[0]
	}
	texts(&partmen, `SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'parent_table' WHERE c.relname = 'part_config' AND c.relkind = 'r'`)
	for _, schema := range partmen {
		var found []string
		at := dialect.Place{Schema: schema, Table: "part_config"}
		texts(&found, "SELECT CAST(parent_table AS text) FROM "+r.d.QuotePlace(at)+" WHERE CAST(parent_table AS text) IN ($1, $2)", s.Table, r.d.QuotePlace(dialect.Place{Schema: s.Schema, Table: s.Name}))
		if r.d.Class(err) == dialect.Denied {
			return fmt.Errorf("whether pg_partman has the table is in %s.part_config, which the role may not read: %w", schema, err)
		}
		if len(found) > 0 {
			s.Partman = schema + ".part_config"
		}
	}
	if err != nil {
		return err
	}
	return dialect.Each(ctx, r.conn, `SELECT CAST(CAST(conrelid AS regclass) AS text), CAST(conname AS text) FROM pg_catalog.pg_constraint WHERE contype = 'f' AND confrelid = CAST($1 AS bigint) AND conparentid = 0 ORDER BY 1, 2`,
		[]any{oid}, func(rows *sql.Rows) error {
			var ref Reference
			err := rows.Scan(&ref.Table, &ref.Name)
			s.Incoming = append(s.Incoming, ref)
			return err
		})
}

// postgresDefault reads the rows of the default partition, and whether a DELETE and an INSERT of them would do more than to move them.
func (r reader) postgresDefault(ctx context.Context, s *Status) (err error) {
	if s.Default == nil {
		return nil
	}
	at := dialect.Place{Schema: s.Default.Schema, Table: s.Default.Name}
	if s.Default.Unplaced, err = r.unplaced(ctx, "ONLY "+r.d.QuotePlace(at)); err != nil {
		return fmt.Errorf("reading the rows of %s: %w", s.Default.Name, err)
	}
	if len(s.Incoming) > 0 {
		s.Default.Hindrance = fmt.Sprintf("the foreign key %s of %s refers to the table, and a DELETE of a row would be its end there too; move them by hand", s.Incoming[0].Name, s.Incoming[0].Table)
		return nil
	}
	triggers, err := r.texts(ctx, `SELECT CAST(t.tgname AS text) FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2 AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 12 <> 0 ORDER BY 1`, at.Schema, at.Table)
	if err != nil {
		return fmt.Errorf("reading the triggers of %s: %w", s.Default.Name, err)
	}
	if len(triggers) > 0 {
		s.Default.Hindrance = "the triggers " + strings.Join(triggers, ", ") + " would take them for deleted and inserted; move them by hand"
	}
	return nil
}
