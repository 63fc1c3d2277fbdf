package gormplugin

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// postgresCatalog reads PostgreSQL's pg_catalog, which everybody may.
type postgresCatalog struct{ pool }

func (postgresCatalog) quote(part string) string { return quoteWith(`"`, part) }

func (c postgresCatalog) greatest(t *table, col *column) string { return greatestOf(c, t, col, "text") }

func (c postgresCatalog) list(ctx context.Context) (names []tableName, err error) {
	found, err := c.texts(ctx, `SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`)
	for _, name := range found {
		names = append(names, tableName{name: name})
	}
	return names, err
}

// postgresViews are the kinds of relations that are no tables.
var postgresViews = map[string]string{"v": "view", "m": "materialized view", "f": "foreign table", "S": "sequence"}

func (c postgresCatalog) read(ctx context.Context, name tableName) (*table, error) {
	// A partition has the columns of the table that it is of, and they are changed there.
	t := &table{}
	var kind string
	var visible bool
	found := false
	err := c.each(ctx, `WITH named AS (
			SELECT c.oid, c.relispartition FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relname = $1::text AND CASE WHEN $2::text = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $2::text END
			AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S'))
		SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, pg_catalog.pg_table_is_visible(c.oid),
			CASE WHEN c.relkind = 'p' THEN 'partitioned' WHEN c.reloftype <> 0 THEN 'of a type'
				WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent)) THEN 'inherited' ELSE '' END
		FROM named JOIN pg_catalog.pg_class c ON c.oid = CASE WHEN named.relispartition THEN pg_catalog.pg_partition_root(named.oid)::oid ELSE named.oid END
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`,
		[]any{name.name, name.schema}, func(scan func(...any) error) error {
			found = true
			return scan(&t.oid, &t.full.schema, &t.full.name, &kind, &visible, &t.related)
		})
	if err != nil || !found {
		return nil, err
	}
	t.tableName, t.view = t.full, postgresViews[kind]
	if visible {
		t.schema = ""
	}
	if err := c.readColumns(ctx, t); err != nil {
		return nil, err
	}
	last := int64(-1)
	err = c.each(ctx, `SELECT i.indexrelid::bigint, i.indisprimary, a.attname FROM pg_catalog.pg_index i
		JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, n) ON k.n <= i.indnkeyatts
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
		WHERE i.indrelid = $1::bigint AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL ORDER BY i.indisprimary DESC, 1, k.n`,
		[]any{int64(t.oid)}, func(scan func(...any) error) error {
			var index int64
			var primary bool
			var column string
			if err := scan(&index, &primary, &column); err != nil {
				return err
			}
			t.unique, t.hasKey = group(t.unique, index == last, column), t.hasKey || primary
			last = index
			return nil
		})
	return t, err
}

var postgresBits = map[string]int{"int2": 16, "int4": 32, "int8": 64}

func (c postgresCatalog) readColumns(ctx context.Context, t *table) error {
	// A domain may be over another one, whose default it has taken over when it was made.
	return c.each(ctx, `SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), b.typname, b.modifier, NOT a.attnotnull,
			coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), t.typdefault, ''), a.attidentity::text, a.attgenerated <> '', t.typtype = 'd', d.oid IS NULL
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
		CROSS JOIN LATERAL (WITH RECURSIVE base AS (
			SELECT t.typname, t.typtype, t.typbasetype, t.typtypmod, a.atttypmod AS modifier
			UNION ALL SELECT n.typname, n.typtype, n.typbasetype, n.typtypmod, base.typtypmod FROM base
				JOIN pg_catalog.pg_type n ON n.oid = base.typbasetype WHERE base.typtype = 'd'
			) SELECT typname, modifier FROM base WHERE typtype <> 'd') b
		LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1::bigint AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
		[]any{int64(t.oid)}, func(scan func(...any) error) error {
			col := &column{}
			var base, identity string
			var modifier int
			var noDefault bool // of its own
			err := scan(&col.name, &col.typ, &base, &modifier, &col.nullable, &col.value, &identity, &col.generated, &col.domain, &noDefault)
			if err != nil {
				return err
			}
			t.columns = append(t.columns, col)
			switch base {
			case "int2", "int4", "int8":
				col.class, col.bits = integer, postgresBits[base]
			case "float4", "float8":
				col.class = floating
			case "numeric":
				col.class = decimal
				if modifier >= 4 { // precision and scale, and 4 for the length of a header
					col.digits = (modifier-4)>>16 - (modifier-4)&0x7ff
				}
			case "text", "varchar", "bpchar", "citext":
				col.class = text
				if modifier >= 4 {
					col.digits = modifier - 4
				}
			}
			switch {
			case identity == "a":
				col.auto, col.always = "GENERATED ALWAYS AS IDENTITY", true
			case identity == "d":
				col.auto = "GENERATED BY DEFAULT AS IDENTITY"
			case callsNextval(col.value):
				col.auto = "DEFAULT " + col.value
				if col.domain && noDefault {
					col.auto += " of the domain " + col.typ
				}
			}
			return nil
		})
}

func (c postgresCatalog) references(ctx context.Context, tables []*table) (found []*reference, err error) {
	seen := map[int64]bool{}
	for _, t := range tables {
		last := int64(-1)
		// A foreign key may be of a partition, or point to one, whose columns have the names of the partitioned table's.
		err := c.each(ctx, `WITH tree AS (SELECT $1::bigint::oid AS oid UNION SELECT relid FROM pg_catalog.pg_partition_tree($1::bigint::regclass))
			SELECT f.oid::bigint, f.conname, cn.nspname, cc.relname, ca.attname, pn.nspname, pc.relname, pa.attname
			FROM pg_catalog.pg_constraint f JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k(child, parent, n) ON true
			JOIN pg_catalog.pg_class cc ON cc.oid = coalesce(pg_catalog.pg_partition_root(f.conrelid), f.conrelid)
			JOIN pg_catalog.pg_namespace cn ON cn.oid = cc.relnamespace
			JOIN pg_catalog.pg_attribute ca ON ca.attrelid = f.conrelid AND ca.attnum = k.child
			JOIN pg_catalog.pg_class pc ON pc.oid = coalesce(pg_catalog.pg_partition_root(f.confrelid), f.confrelid)
			JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace
			JOIN pg_catalog.pg_attribute pa ON pa.attrelid = f.confrelid AND pa.attnum = k.parent
			WHERE f.contype = 'f' AND f.conparentid = 0 AND (f.conrelid IN (SELECT oid FROM tree) OR f.confrelid IN (SELECT oid FROM tree))
			ORDER BY 3, 4, 2, 1, k.n`,
			[]any{int64(t.oid)}, func(scan func(...any) error) error {
				r := &reference{}
				var oid int64
				var column, to string
				err := scan(&oid, &r.name, &r.child.schema, &r.child.name, &column, &r.parent.schema, &r.parent.name, &to)
				if err != nil || seen[oid] && oid != last {
					return err
				}
				if oid != last {
					found = append(found, r)
					last, seen[oid] = oid, true
				}
				r = found[len(found)-1]
				r.columns, r.to = append(r.columns, column), append(r.to, to)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// widen does not touch foreign keys: PostgreSQL lets them be between integers of all widths, and checks them anew.
func (c postgresCatalog) widen(ctx context.Context, _ *checker, t *table, col *column) (mend, error) {
	statement := "ALTER TABLE " + quoted(c, t.tableName) + " ALTER COLUMN " + c.quote(col.name) + " TYPE bigint"
	obstacle := ""
	switch {
	case col.class != integer:
		return mend{note: otherType}, nil
	case col.bits == 64:
		return mend{}, nil
	case col.domain:
		obstacle = "its type is a domain, whose checks and default would be lost; make a domain of bigint, and change the column to that"
	case col.generated:
		obstacle = "its values are computed, so no key can be put there; make a new column"
	case t.related == "partitioned":
		obstacle = "the table is partitioned, and what uses the column in any partition, the division itself too, refuses another type; see \\d+ of each, and try " + statement
	case t.related == "inherited":
		obstacle = "the table inherits or is inherited from, and the type changes in all these tables at once, or not; see \\d+ of each, and change it in the one that all have it from"
	case t.related == "of a type":
		obstacle = "the table is made OF a type; change that with ALTER TYPE … ALTER ATTRIBUTE … TYPE bigint CASCADE"
	default:
		users, err := c.users(ctx, t, col)
		if err != nil {
			return mend{}, err
		}
		if len(users) > 0 {
			obstacle = fmt.Sprintf("others use the column or the type of the table's rows, so PostgreSQL may refuse to change it, here %s; drop them, run %s, and make them again for a bigint",
				strings.Join(users, ", "), statement)
		}
	}
	if obstacle != "" {
		return mend{note: "no statement is offered: " + obstacle}, nil
	}
	return mend{statements: []string{statement}}, nil
}

// A CHECK that matches postgresComparison and calls nothing compares columns, numbers and sums of them, which all integers can be.
var (
	postgresName       = regexp.MustCompile(`"(?:[^"]|"")*"`)
	postgresComparison = regexp.MustCompile(`^CHECK (?:\w+| (?:<=|>=|<>|[=<>+*/%-]) |[ ().])*$`)
	postgresCall       = regexp.MustCompile(`\w\(`)
)

// users returns what depends on a column, or on the type that its table's rows have, besides what another type is known to leave as it
// is: its default and sequence, indexes of whole columns that are ordered or hashed as usual, comparisons in CHECKs, and foreign keys
// with integers.
func (c postgresCatalog) users(ctx context.Context, t *table, col *column) (found []string, err error) {
	err = c.each(ctx, `WITH col AS (SELECT attrelid AS rel, attnum AS num FROM pg_catalog.pg_attribute WHERE attrelid = $1::bigint AND attname = $2::text),
			row AS (SELECT y.oid, y.typarray FROM pg_catalog.pg_type y WHERE y.typrelid = $1::bigint)
		SELECT DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), CASE WHEN f.contype = 'c' THEN pg_catalog.pg_get_constraintdef(f.oid) ELSE '' END
		FROM pg_catalog.pg_depend d CROSS JOIN col CROSS JOIN row
		LEFT JOIN pg_catalog.pg_attrdef v ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND v.oid = d.objid
		LEFT JOIN pg_catalog.pg_class r ON d.classid = 'pg_catalog.pg_class'::regclass AND r.oid = d.objid
		LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = r.oid
		LEFT JOIN pg_catalog.pg_am m ON m.oid = r.relam
		LEFT JOIN pg_catalog.pg_constraint f ON d.classid = 'pg_catalog.pg_constraint'::regclass AND f.oid = d.objid
		WHERE d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid IN (row.oid, row.typarray) AND d.deptype <> 'i'
		OR d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = col.rel AND d.refobjsubid = col.num AND NOT coalesce(
			v.adrelid = col.rel AND v.adnum = col.num
			OR r.relkind = 'S'
			OR m.amname IN ('btree', 'hash', 'brin') AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT i.indisexclusion
				AND NOT EXISTS (SELECT FROM pg_catalog.pg_opclass o WHERE o.oid = ANY (i.indclass) AND NOT o.opcdefault)
			OR f.contype IN ('p', 'u')
			OR f.contype = 'f' AND NOT EXISTS (SELECT FROM unnest(f.conkey, f.confkey) AS k(child, parent)
				JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.child OR a.attrelid = f.confrelid AND a.attnum = k.parent
				WHERE (f.conrelid = col.rel AND k.child = col.num OR f.confrelid = col.rel AND k.parent = col.num)
				AND a.atttypid NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)), false)
		ORDER BY 1`, []any{int64(t.oid), col.name}, func(scan func(...any) error) error {
		var user, check string
		if err := scan(&user, &check); err != nil {
			return err
		}
		check = strings.TrimSuffix(strings.TrimSuffix(postgresName.ReplaceAllString(check, "x"), " NOT VALID"), " NO INHERIT")
		if check == "" || !postgresComparison.MatchString(check) || postgresCall.MatchString(check) {
			found = append(found, user)
		}
		return nil
	})
	return found, err
}

func (c postgresCatalog) stop(ctx context.Context, _ *checker, t *table, col *column) (mend, error) {
	change := "ALTER TABLE " + quoted(c, t.tableName) + " ALTER COLUMN " + c.quote(col.name)
	switch {
	case strings.Contains(col.auto, " of the domain "):
		return mend{note: "no statement is offered: ALTER DOMAIN … DROP DEFAULT is for all columns of the domain; give this one a type of its own, or that if none needs it"}, nil
	case t.related == "inherited":
		return mend{note: "no statement is offered: the table inherits or is inherited from, and the tables below lose their default with it; if they may, run " + change + " DROP DEFAULT"}, nil
	case !strings.Contains(col.auto, "IDENTITY"):
		m := mend{statements: []string{change + " DROP DEFAULT"}, note: "afterwards the sequence can be dropped, if nothing else uses it"}
		if t.related == "partitioned" {
			m.note = "the default goes from all partitions; " + m.note
		}
		return m, nil
	}
	users, err := c.texts(ctx, `SELECT DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
		FROM pg_catalog.pg_depend s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.refobjid AND a.attnum = s.refobjsubid
		JOIN pg_catalog.pg_depend d ON d.refclassid = s.classid AND d.refobjid = s.objid AND d.deptype = 'n'
		WHERE s.classid = 'pg_catalog.pg_class'::regclass AND s.refclassid = 'pg_catalog.pg_class'::regclass AND s.deptype = 'i'
		AND a.attrelid = $1::bigint AND a.attname = $2::text ORDER BY 1`, int64(t.oid), col.name)
	if err != nil {
		return mend{}, err
	}
	if len(users) > 0 {
		return mend{note: fmt.Sprintf("no statement is offered: its sequence goes with the identity, and others use that, here %s; change these, and run %s DROP IDENTITY",
			strings.Join(users, ", "), change)}, nil
	}
	return mend{statements: []string{change + " DROP IDENTITY"}, note: "its sequence goes with it"}, nil
}

func (c postgresCatalog) require(_ context.Context, t *table, columns []string) (mend, error) {
	switch t.related {
	case "partitioned":
		return mend{note: "no statement is offered: the table is partitioned, and a primary key has to have the columns that it is partitioned by"}, nil
	case "inherited":
		return mend{note: "no statement is offered: the table inherits or is inherited from, and a primary key is of one of these tables alone"}, nil
	}
	return mend{statements: []string{"ALTER TABLE " + quoted(c, t.tableName) + " ADD PRIMARY KEY (" + quotedList(c, columns) + ")"}}, nil
}
