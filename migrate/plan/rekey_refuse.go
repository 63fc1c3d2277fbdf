package plan

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// refuse blocks what cannot be done for certain.
func (b *rekeyBuilder) refuse(ctx context.Context) error {
	owners := map[[2]string][]string{} // of a column, the keys that its values are of: all of them, or those of an owner's type
	tables := map[string][]string{}    // the columns that move, by table
	for _, r := range b.all {
		if !b.unique(r.Table, r.Column) {
			b.block(fmt.Sprintf("%s: no unique index is on its key %s alone, so that an id may be two rows'.", r.Table, r.Column))
		}
		for _, m := range r.moves {
			b.refuseMove(m)
			at := [2]string{m.table, m.column + ":" + strings.Join(m.path, ".")}
			if slices.ContainsFunc(owners[at], func(o string) bool { return o == "" || m.owner == "" || o == m.owner }) {
				b.block(fmt.Sprintf("%s refers to the keys of several tables, and it cannot be told which of them an id is of.", m.name))
			}
			owners[at] = append(owners[at], m.owner)
			if m.path == nil && !slices.Contains(tables[m.table], m.column) {
				tables[m.table] = append(tables[m.table], m.column)
			}
		}
	}
	for _, name := range b.plan.Tables {
		if len(tables[name]) == 0 {
			continue
		}
		if err := b.refuseTable(ctx, name, tables[name]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) unique(table, column string) bool {
	return slices.ContainsFunc(b.tables[table].Indexes, func(i *catalog.Index) bool {
		return i.Unique && i.Valid && i.Where == "" && len(i.Columns) == 1 && i.Columns[0] == column
	})
}

func (b *rekeyBuilder) refuseMove(m move) {
	t, c := b.tables[m.table], b.columnOf(m.table, m.column)
	if m.path != nil && b.dialect() == dialect.Postgres && c.Class != catalog.JSON {
		b.block(fmt.Sprintf("%s has the type %s: ids in documents can be rewritten in columns of the types json and jsonb.", m.name, c.Type))
	}
	if b.dialect() == dialect.MySQL && t.Engine != "" && !strings.EqualFold(t.Engine, "InnoDB") {
		b.block(fmt.Sprintf("%s has the engine %s, which has no transactions: ALTER TABLE … ENGINE=InnoDB first.", m.table, t.Engine))
	}
}

// refuseTable looks at what is declared over the columns that move.
func (b *rekeyBuilder) refuseTable(ctx context.Context, name string, moved []string) error {
	t := b.tables[name]
	for _, c := range t.Columns {
		for _, column := range moved {
			if c.Generated != "" && c.Name != column && mentions(c.Generated, column) {
				b.block(fmt.Sprintf("%s: the column %s is computed from %s (%s), and would change with it.", name, c.Name, column, c.Generated))
			}
		}
	}
	for _, check := range t.Checks {
		if slices.ContainsFunc(moved, func(column string) bool { return mentions(check.Text, column) }) {
			b.tryCheck(ctx, name, check, moved)
		}
	}
	for _, trigger := range t.Triggers {
		fires := trigger.Updates(moved)
		if b.silent {
			if fires && trigger.Enabled == "" {
				b.quiet = append(b.quiet, name+"."+trigger.Name)
			}
			fires = trigger.Silenced().Updates(moved)
		}
		if fires && b.dialect() == dialect.SQLite && quiets(t.Full.Name, trigger) {
			fires = false
			b.note(fmt.Sprintf("Batches drop the trigger %s of %s, so that it does not fire for the rows that they rewrite, and make it again before they commit.", trigger.Name, name))
		}
		if fires && trigger.Guard == nil && !b.reported("trigger", name) { // the report is another user's, or older
			b.builder.refuse("trigger", name, trigger.Name, fmt.Sprintf("%s: the trigger %s (%s) fires for each row that is rewritten: see that it does no harm when keys change.", name, trigger.Name, trigger.Timing))
		}
	}
	for _, u := range t.Users {
		if u.Kind == "rule" && !b.silent && updateRule.MatchString(u.Definition) {
			b.block(fmt.Sprintf("%s: the rule %s is for updates, and would have batches do something else: drop it first, and make it again afterwards, or plan as a user who may set session_replication_role.", name, u.Name))
		}
	}
	by := ""
	if t.Related == "partitioned" {
		var err error
		if by, err = b.engine.partitioning(ctx, t); err != nil {
			return fmt.Errorf("plan: what %s is partitioned by: %w", t.Full, err)
		}
	}
	for _, column := range moved {
		if mentions(by, column) {
			b.block(fmt.Sprintf("%s is partitioned by %s, by which rows would go to other partitions with their new ids.", name, by))
		}
	}
	return nil
}

var updateRule = regexp.MustCompile(`(?i)\bAS\s+ON UPDATE\b`)

// tryCheck asks the database whether the table's rows would pass a CHECK with ids as great as snowflakes. They are the old ids and 2^62,
// so that those that are equal stay so, and the lesser of two stays the lesser.
func (b *rekeyBuilder) tryCheck(ctx context.Context, name string, check catalog.Check, moved []string) {
	t := b.tables[name]
	var columns []string
	for _, c := range t.Columns {
		quoted := b.quote(c.Name)
		if slices.Contains(moved, c.Name) && (c.Class == catalog.Integer || c.Class == catalog.Decimal) {
			columns = append(columns, fmt.Sprintf("CASE WHEN %[1]s > 0 AND %[1]s < %[2]d THEN %[1]s + %[3]d ELSE %[1]s END AS %[1]s", quoted, b.options.Below, int64(1)<<62))
			continue
		}
		columns = append(columns, quoted)
	}
	text := strings.TrimSpace(check.Text)
	if len(text) > 5 && strings.EqualFold(text[:5], "CHECK") {
		text = strings.TrimSuffix(strings.TrimSpace(text[5:]), " NOT VALID")
	}
	of := strings.TrimSpace("the check "+check.Name) + " (" + check.Text + ")"
	var rows, failing int64
	query := fmt.Sprintf("SELECT COUNT(*), COUNT(CASE WHEN NOT (%s) THEN 1 END) FROM (SELECT %s FROM %s) %s", text, strings.Join(columns, ", "), b.catalog.Quoted(t.Name), b.quote(t.Name.Name))
	switch err := b.db.QueryRowContext(ctx, query).Scan(&rows, &failing); {
	case err != nil:
		b.block(fmt.Sprintf("%s: whether new ids pass %s cannot be tried out: %v.", name, of, err))
	case failing > 0:
		b.block(fmt.Sprintf("%s: %s would not be passed by new ids in %d rows.", name, of, failing))
	case rows == 0 && slices.ContainsFunc(b.report.Obstacles, func(o inspect.Obstacle) bool {
		return o.Kind == "check" && o.Table == name && o.Name == check.Name && len(o.Blocks) > 0
	}):
		b.builder.refuse("check", name, check.Name, fmt.Sprintf("%s: there is no row that %s could be tried on: see that ids of 19 digits pass it.", name, of))
	}
}

// mentions reports whether an expression has a name in it as a word, in quotes or not.
func mentions(expression, name string) bool {
	return regexp.MustCompile(`(?i)(^|[^\pL\pN_$])` + regexp.QuoteMeta(name) + `($|[^\pL\pN_$])`).MatchString(expression)
}
