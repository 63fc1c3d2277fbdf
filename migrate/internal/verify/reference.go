package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// checkReference looks at the values of a reference, at its type, and at its foreign key.
func (v *verifier) checkReference(ctx context.Context, r plan.Reference) error {
	t, err := v.table(ctx, r.Table)
	if err != nil {
		return err
	}
	c := t.Column(r.Column, false)
	types := Check{Name: "types", Table: r.Table, Column: r.Column}
	if c == nil {
		v.judge(types, false, "64 bits", "no such column", "The table has no column of the reference's name.")
		return nil
	}
	v.checkType(types, c)
	if r.Origin == inspect.Declared {
		if err := v.checkForeignKey(ctx, r, t); err != nil {
			return err
		}
	}
	if err := v.checkOrphans(ctx, r, c); err != nil {
		return err
	}
	return v.checkOld(ctx, r, c)
}

// checkOrphans compares the orphans of a reference with those that the inspection has counted, where the plan has no step for it.
func (v *verifier) checkOrphans(ctx context.Context, r plan.Reference, c *catalog.Column) error {
	check := Check{Name: "orphans", Table: r.Table, Column: r.Column}
	if v.counted(r) {
		return nil
	}
	if r.Orphans < 0 {
		v.skip(check, "they were not counted before")
		return nil
	}
	from, number, err := v.values(r, c)
	if err != nil {
		return err
	}
	to, err := v.quoted(r.To)
	if err != nil {
		return err
	}
	query := "SELECT COUNT(*) FROM " + from + " AND " + number + " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " + to + " p WHERE p." +
		v.catalog.Quote(r.ToColumn) + " = " + number + ")"
	if r.Origin != inspect.Declared {
		query += " AND " + number + " <> 0"
	}
	n, err := v.count(ctx, query)
	if err != nil {
		return err
	}
	return v.judgeOrphans(ctx, check, r, r.Orphans, n, query)
}

// checkOld makes sure that a reference has no old id any more.
func (v *verifier) checkOld(ctx context.Context, r plan.Reference, c *catalog.Column) error {
	k := v.plan.Key(r.To)
	if k == nil || k.Map == "" || r.ToColumn != k.Column {
		return nil
	}
	check := Check{Name: "old values", Table: r.Table, Column: r.Column}
	if why := v.whyNotRewritten(); why != "" {
		v.skip(check, why)
		return nil
	}
	m, err := v.find(ctx, k.Map)
	if err != nil {
		return err
	}
	if m == nil {
		v.skip(check, dropped(*k))
		return nil
	}
	from, number, err := v.values(r, c)
	if err != nil {
		return err
	}
	where := " FROM " + from + " AND EXISTS (SELECT 1 FROM " + v.catalog.Quoted(m.Name) + " m WHERE m.old_id = " + number + ")"
	n, least, err := v.countLeast(ctx, number, where)
	if err != nil {
		return err
	}
	if n > 0 {
		check.Examples = []string{fmt.Sprintf("old id %d", least)}
	}
	v.zero(check, n, fmt.Sprintf("Values of %s are old ids, which somebody has written since, or which were left behind. Put in their place the new ids that the map %s has. "+
		"They are: SELECT *%s", name(r), k.Map, where))
	return nil
}

// digits is a regular expression for texts of numbers that all fit into 64 bits, as a database writes them.
const digits = `^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16})$`

// values returns what a reference's values are read from, with the rows that it means, and the expression for one as a number; NULL when it is none.
func (v *verifier) values(r plan.Reference, c *catalog.Column) (from, number string, err error) {
	table, err := v.quoted(r.Table)
	if err != nil {
		return "", "", err
	}
	from = table + " c WHERE 1 = 1"
	if r.OwnerType != "" {
		from += " AND c." + v.catalog.Quote(r.OwnerType) + " = " + v.literal(r.Owner)
	}
	value := "c." + v.catalog.Quote(r.Column)
	if r.Path == "" && c.Class != catalog.Text {
		return from, value, nil
	}
	guard := ""
	if r.Path != "" {
		value, guard = v.extract(value, r.Path)
	}
	switch v.dialect {
	case dialect.MySQL:
		number = fmt.Sprintf("CASE WHEN CONVERT(%[1]s USING utf8mb4) REGEXP '%[2]s' THEN CAST(%[1]s AS SIGNED) END", value, digits)
	case dialect.Postgres:
		number = fmt.Sprintf("CASE WHEN %[1]s::text ~ '%[2]s' THEN CAST(%[1]s::text AS bigint) END", value, digits)
	default:
		number = fmt.Sprintf("CASE WHEN CAST(CAST(%[1]s AS INTEGER) AS TEXT) = CAST(%[1]s AS TEXT) THEN CAST(%[1]s AS INTEGER) END", value)
	}
	if guard != "" {
		number = "CASE WHEN " + guard + " THEN " + number + " END"
	}
	return from, number, nil
}

// extract returns the text at a place of a JSON document, and the condition that there is a document.
func (v *verifier) extract(document, path string) (value, guard string) {
	at := v.literal(path)
	switch v.dialect {
	case dialect.MySQL:
		return "JSON_UNQUOTE(JSON_EXTRACT(" + document + ", " + at + "))", "JSON_VALID(" + document + ")"
	case dialect.Postgres:
		return "(jsonb_path_query_first(" + document + "::text::jsonb, " + at + "::jsonpath) #>> '{}')", ""
	}
	return "json_extract(" + document + ", " + at + ")", "json_valid(" + document + ")"
}

// literal returns a text as statements have it.
func (v *verifier) literal(text string) string {
	if v.dialect == dialect.MySQL {
		return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", text) // whatever sql_mode says of backslashes
	}
	return dialect.Literal(text)
}

// checkForeignKey makes sure that a declared reference is declared as before.
func (v *verifier) checkForeignKey(ctx context.Context, r plan.Reference, t *catalog.Table) error {
	c := Check{Name: "foreign keys", Table: r.Table, Column: r.Column}
	if why := v.whyNotSettled(); why != "" {
		v.skip(c, why)
		return nil
	}
	to, err := v.table(ctx, cmp.Or(r.Via, r.To))
	if err != nil {
		return err
	}
	found, err := v.catalog.References(ctx, t)
	if err != nil {
		return err
	}
	columns, toColumns := r.Columns, r.ToColumns
	if len(columns) == 0 {
		columns, toColumns = []string{r.Column}, []string{cmp.Or(r.ViaColumn, r.ToColumn)}
	}
	want := describe(r.Name, columns, toColumns, r.OnDelete, r.OnUpdate)
	got := "none"
	for _, f := range found {
		if f.Child != t.Full || f.Parent != to.Full || !v.sameNames(f.Columns, columns) || !v.sameNames(f.To, toColumns) {
			continue
		}
		got = describe(f.Name, columns, toColumns, f.OnDelete, f.OnUpdate)
		if !f.Valid && !r.Loose {
			got += ", not validated"
		}
		if got == want {
			break
		}
	}
	v.compare(c, want, got, "The foreign key is not the one that was there before.")
	return nil
}

// sameNames compares the columns of a foreign key. SQLite keeps them in the letters of the declaration, which may be others than the columns'.
func (v *verifier) sameNames(x, y []string) bool {
	return slices.EqualFunc(x, y, func(x, y string) bool { return x == y || v.dialect == dialect.SQLite && strings.EqualFold(x, y) })
}

func describe(name string, columns, to []string, onDelete, onUpdate string) string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s) to (%s) on delete %s on update %s", name, strings.Join(columns, ", "), strings.Join(to, ", "),
		strings.ToLower(cmp.Or(onDelete, "no action")), strings.ToLower(cmp.Or(onUpdate, "no action"))))
}
