package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// extra is what else PostgreSQL's catalog has of a column.
type extra struct {
	statements []string // that give the second column the same
	identity   string   // the name and options of the identity's sequence, as ADD GENERATED takes them
	next       []string // the statements that give it its rights and comment again, and let it go on
}

// readExchange reads what only PostgreSQL's own catalog tells.
func (b *shadowBuilder) readExchange(ctx context.Context, x *exchange) error {
	x.extras = map[*moved]extra{}
	for _, t := range x.tables {
		for _, m := range t.columns {
			if err := b.readExtra(ctx, x, m); err != nil {
				return fmt.Errorf("plan: the column %s.%s: %w", t.name, m.column.Name, err)
			}
		}
		if err := b.readTwins(ctx, x, t); err != nil {
			return fmt.Errorf("plan: the indexes of %s: %w", t.name, err)
		}
	}
	for _, l := range x.links {
		var err error
		if l.comment, err = b.comment(ctx, l.of); err != nil {
			return err
		}
	}
	if err := b.readViews(ctx, x); err != nil {
		return fmt.Errorf("plan: the views: %w", err)
	}
	return nil
}

// readExtra reads a column's statistics target, options, comment and rights.
func (b *shadowBuilder) readExtra(ctx context.Context, x *exchange, m *moved) error {
	var e extra
	table, second := "ALTER TABLE "+b.whole(m.table)+" ALTER COLUMN "+b.quote(m.second), b.quote(m.second)
	var target int
	var options, comment string
	err := b.catalog.Each(ctx, `SELECT coalesce(a.attstattarget, -1), coalesce(array_to_string(a.attoptions, ', '), ''), coalesce(pg_catalog.col_description(a.attrelid, a.attnum), '')
		FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::bigint AND a.attname = $2`, []any{int64(m.table.of.OID), m.column.Name}, []any{&target, &options, &comment}, func() error {
		if target >= 0 {
			e.statements = append(e.statements, fmt.Sprintf("%s SET STATISTICS %d", table, target))
		}
		if options != "" {
			e.statements = append(e.statements, fmt.Sprintf("%s SET (%s)", table, options))
		}
		if comment != "" {
			e.statements = append(e.statements, fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", b.whole(m.table), second, postgresText(comment)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var right, role string
	var grantable bool
	err = b.catalog.Each(ctx, `SELECT g.privilege_type, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_catalog.pg_get_userbyid(g.grantee)) END, g.is_grantable
		FROM pg_catalog.pg_attribute a CROSS JOIN LATERAL pg_catalog.aclexplode(a.attacl) g WHERE a.attrelid = $1::bigint AND a.attname = $2 ORDER BY 2, 1`,
		[]any{int64(m.table.of.OID), m.column.Name}, []any{&right, &role, &grantable}, func() error {
			statement := fmt.Sprintf("GRANT %s (%s) ON TABLE %s TO %s", right, second, b.whole(m.table), role)
			if grantable {
				statement += " WITH GRANT OPTION"
			}
			e.statements = append(e.statements, statement)
			return nil
		})
	if err != nil {
		return err
	}
	x.extras[m] = e
	return err
}

// postgresText returns a text, which may have anything in it, as a string of PostgreSQL.
func postgresText(text string) string {
	text = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`, ":", `\x3a`).Replace(text)
	return "E'" + text + "'"
}

// readTwins finds the indexes that get twins, and blocks those that cannot be exchanged.
func (b *shadowBuilder) readTwins(ctx context.Context, x *exchange, t *moving) error {
	kinds := map[string]string{}
	comments := map[string][]string{}
	var name, kind, comment, onConstraint string
	var deferrable, identity, clustered, elsewhere bool
	err := b.catalog.Each(ctx, `SELECT c.relname, coalesce(k.contype::text, ''), coalesce(k.condeferrable, false), i.indisreplident, i.indisclustered, c.reltablespace <> 0,
			coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), coalesce(pg_catalog.obj_description(k.oid, 'pg_constraint'), '')
		FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
		LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = c.oid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
		WHERE i.indrelid = $1::bigint`, []any{int64(t.of.OID)}, []any{&name, &kind, &deferrable, &identity, &clustered, &elsewhere, &comment, &onConstraint}, func() error {
		kinds[name] = kind
		if deferrable || identity || clustered || elsewhere {
			kinds[name] = "!"
		}
		if comment != "" {
			comments[name] = append(comments[name], fmt.Sprintf("COMMENT ON INDEX %s IS %s", b.beside(t, name), postgresText(comment)))
		}
		if onConstraint != "" {
			comments[name] = append(comments[name], fmt.Sprintf("COMMENT ON CONSTRAINT %s ON %s IS %s", b.quote(name), b.whole(t), postgresText(onConstraint)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, i := range t.of.Indexes {
		if !b.over(t, i) {
			continue
		}
		if kinds[i.Name] == "!" || kinds[i.Name] == "x" || !i.Valid || i.Primary && (strings.Contains(i.Definition, " INCLUDE ") || strings.Contains(i.Definition, " WITH (")) {
			b.block(fmt.Sprintf("The index %s of %s is invalid, deferrable, an exclusion, the replica identity, what the table is clustered by, in a tablespace of its own, "+
				"or a primary key with more than its columns: the mode shadow does not exchange it.", i.Name, t.name))
		}
		x.twins = append(x.twins, &twin{table: t, index: i, name: t.made("x", i.Name), was: t.made("was", i.Name), constraint: kinds[i.Name] != "", comments: comments[i.Name]})
	}
	return nil
}

// over reports whether an index is over a column that gets a second one: its statement tells, with another name in it or not.
func (b *shadowBuilder) over(t *moving, i *catalog.Index) bool {
	_, rest, _ := strings.Cut(i.Definition, " USING ")
	return rest != renamed(rest, func(name string) (string, bool) { return "\x00", t.find(name) != nil })
}

// readViews finds the views that show the columns, in an order in which they can be made. What a view is made of comes before it in the list of
// each table that it is in: so the last mention of each is in order.
func (b *shadowBuilder) readViews(ctx context.Context, x *exchange) error {
	l, err := b.lookAtPostgres(ctx)
	if err != nil {
		return err
	}
	defer l.end()
	for _, t := range x.tables {
		var names []string
		for _, m := range t.columns {
			names = append(names, m.column.Name)
		}
		bound, err := l.blockers(ctx, t.of.OID, names)
		if err != nil {
			return err
		}
		for _, what := range bound {
			b.block(fmt.Sprintf("%s is made of a column of %s that changes, and would stay with the old one: drop it first, and make it again afterwards.", what, t.name))
		}
		views, err := l.views(ctx, t.of.OID, names)
		if err != nil {
			return err
		}
		for _, v := range views {
			if v.blocked != "" {
				b.block(fmt.Sprintf("%s shows a column of %s that changes, and %s", v.what, t.name, v.blocked))
			}
			x.views = append(slices.DeleteFunc(x.views, func(u view) bool { return u.name == v.name }), v)
		}
		for _, c := range b.columns {
			if own := t.own; own == nil || c.table != t.name || c.column != own.column || !identity(c) {
				continue
			}
			s, err := b.sequenceOf(ctx, l, c)
			if err != nil {
				return err
			}
			e := x.extras[t.own]
			e.identity, e.next = "SEQUENCE NAME "+s.name+" "+s.options, append(s.rest, s.set(b.whole(t), b.quote(c.column.Name), t.own.key.Below))
			x.extras[t.own] = e
		}
	}
	return nil
}
