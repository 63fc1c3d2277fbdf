package check

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// postgresFixer fixes tables of PostgreSQL.
type postgresFixer struct{ database }

// widen does not touch foreign keys: PostgreSQL lets them be between integers of all widths, and checks them anew.
func (c postgresFixer) widen(ctx context.Context, _ *checker, t *catalog.Table, col *catalog.Column) (fix, error) {
	statement := "ALTER TABLE " + c.Quoted(t.Name) + " ALTER COLUMN " + c.Quote(col.Name) + " TYPE bigint"
	obstacle := ""
	switch {
	case col.Class != catalog.Integer:
		return fix{note: otherType}, nil
	case col.Bits == 64:
		return fix{}, nil
	case col.Domain:
		obstacle = "its type is a domain, whose checks and default would be lost; make a domain of bigint, and change the column to that"
	case col.Generated != "":
		obstacle = "its values are computed, so no key can be put there; make a new column"
	case t.Related == "partitioned":
		obstacle = "the table is partitioned, and what uses the column in any partition, the division itself too, refuses another type; see \\d+ of each, and try " + statement
	case t.Related == "inherited":
		obstacle = "the table inherits or is inherited from, and the type changes in all these tables at once, or not; see \\d+ of each, and change it in the one that all have it from"
	case t.Related == "of a type":
		obstacle = "the table is made OF a type; change that with ALTER TYPE … ALTER ATTRIBUTE … TYPE bigint CASCADE"
	default:
		users, err := c.users(ctx, t, col)
		if err != nil {
			return fix{}, err
		}
		if len(users) > 0 {
			obstacle = fmt.Sprintf("others use the column or the type of the table's rows, so PostgreSQL may refuse to change it, here %s; drop them, run %s, and make them again for a bigint",
				strings.Join(users, ", "), statement)
		}
	}
	if obstacle != "" {
		return fix{note: "no statement is offered: " + obstacle}, nil
	}
	return fix{statements: []string{statement}}, nil
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
func (c postgresFixer) users(ctx context.Context, t *catalog.Table, col *catalog.Column) (found []string, err error) {
	var user, check string
	err = c.Each(ctx, `WITH col AS (SELECT attrelid AS rel, attnum AS num FROM pg_catalog.pg_attribute WHERE attrelid = $1::bigint AND attname = $2::text),
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
		ORDER BY 1`, []any{int64(t.OID), col.Name}, []any{&user, &check}, func() error {
		check = strings.TrimSuffix(strings.TrimSuffix(postgresName.ReplaceAllString(check, "x"), " NOT VALID"), " NO INHERIT")
		if check == "" || !postgresComparison.MatchString(check) || postgresCall.MatchString(check) {
			found = append(found, user)
		}
		return nil
	})
	return found, err
}

func (c postgresFixer) stop(ctx context.Context, _ *checker, t *catalog.Table, col *catalog.Column) (fix, error) {
	change := "ALTER TABLE " + c.Quoted(t.Name) + " ALTER COLUMN " + c.Quote(col.Name)
	switch {
	case strings.Contains(col.Auto, " of the domain "):
		return fix{note: "no statement is offered: ALTER DOMAIN … DROP DEFAULT is for all columns of the domain; give this one a type of its own, or that if none needs it"}, nil
	case t.Related == "inherited":
		return fix{note: "no statement is offered: the table inherits or is inherited from, and the tables below lose their default with it; if they may, run " + change + " DROP DEFAULT"}, nil
	case !strings.Contains(col.Auto, "IDENTITY"):
		m := fix{statements: []string{change + " DROP DEFAULT"}, note: "afterwards the sequence can be dropped, if nothing else uses it"}
		if t.Related == "partitioned" {
			m.note = "the default goes from all partitions; " + m.note
		}
		return m, nil
	}
	users, err := c.Texts(ctx, `SELECT DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
		FROM pg_catalog.pg_depend s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.refobjid AND a.attnum = s.refobjsubid
		JOIN pg_catalog.pg_depend d ON d.refclassid = s.classid AND d.refobjid = s.objid AND d.deptype = 'n'
		WHERE s.classid = 'pg_catalog.pg_class'::regclass AND s.refclassid = 'pg_catalog.pg_class'::regclass AND s.deptype = 'i'
		AND a.attrelid = $1::bigint AND a.attname = $2::text ORDER BY 1`, int64(t.OID), col.Name)
	if err != nil {
		return fix{}, err
	}
	if len(users) > 0 {
		return fix{note: fmt.Sprintf("no statement is offered: its sequence goes with the identity, and others use that, here %s; change these, and run %s DROP IDENTITY",
			strings.Join(users, ", "), change)}, nil
	}
	return fix{statements: []string{change + " DROP IDENTITY"}, note: "its sequence goes with it"}, nil
}

func (c postgresFixer) require(_ context.Context, t *catalog.Table, columns []string) (fix, error) {
	switch t.Related {
	case "partitioned":
		return fix{note: "no statement is offered: the table is partitioned, and a primary key has to have the columns that it is partitioned by"}, nil
	case "inherited":
		return fix{note: "no statement is offered: the table inherits or is inherited from, and a primary key is of one of these tables alone"}, nil
	}
	return fix{statements: []string{"ALTER TABLE " + c.Quoted(t.Name) + " ADD PRIMARY KEY (" + c.List(columns) + ")"}}, nil
}
