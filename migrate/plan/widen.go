package plan

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// What steps of several dialects say.
const (
	widenTitle = "give … of … 64 bits"
	keptWide   = "the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not"
	heldSince  = "Now deploy the program that fills its keys with snowflakes, and stop every writer that leaves them to the database. Until the plan is done, change nothing else in the definitions of its tables."
	stillOld   = "So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy it as one that fills keys, and run again."
)

// widen plans the mode of that name.
func (b *builder) widen(ctx context.Context) error {
	for _, c := range b.columns {
		b.fit(ctx, c)
	}
	switch b.dialect() {
	case dialect.MySQL:
		b.widenMySQL()
		return nil
	case dialect.Postgres:
		return b.widenPostgres(ctx)
	}
	b.widenSQLite()
	return nil
}

// narrow reports whether the column has to get 64 bits.
func (c *column) narrow() bool { return c.column.Class == catalog.Integer && c.column.Bits < 64 }

// full returns the column with its table, for sentences.
func (c *column) full() string { return c.table + "." + c.column.Name }

// fit blocks a column that cannot hold snowflakes, and cannot be given a type that does.
func (b *builder) fit(ctx context.Context, c *column) {
	const digits = 19 // of the greatest int64
	if c.of.Versioned {
		b.block(fmt.Sprintf("%s keeps its history, with which the server changes no types and makes no indexes (4119): drop the versioning first, and set it up again afterwards.", c.table))
	}
	if c.of.Related != "" && c.of.Related != "partitioned" {
		b.block(fmt.Sprintf("%s is %s: it is not certain that a change reaches all the tables that share its columns, and only these: take it out of the inheritance first.", c.table, c.of.Related))
	}
	switch col := c.column; {
	case col.Name == "FTS_DOC_ID" && strings.Contains(c.of.Create, "\n  FULLTEXT KEY "):
		b.block(fmt.Sprintf("%s has the document ids of full-text indexes, which may only ascend (182), and ids of several generators do not: drop the full-text indexes of %s, "+
			"give the column another name, and make them again. The server has document ids of its own then.", c.full(), c.table))
	case col.Auto == "AUTO_INCREMENT" && strings.Contains(strings.ToUpper(col.Extra), "INVISIBLE") && b.instantFlip():
		b.block(fmt.Sprintf("%s is invisible, and without AUTO_INCREMENT would have to have a default (4108): make it visible first.", c.full()))
	case c.narrow() && col.Domain:
		b.block(fmt.Sprintf("%s has the domain %s, over a type of %d bits: give it the type itself, or a domain over bigint, first.", c.full(), col.Type, col.Bits))
	case col.Generated != "":
		b.block(fmt.Sprintf("%s is generated as %s: make it a column that is written to first.", c.full(), col.Generated))
	case col.Class == catalog.Floating:
		b.block(fmt.Sprintf("%s has the type %s, which rounds snowflakes: make it an integer first.", c.full(), col.Type))
	case (col.Class == catalog.Decimal || col.Class == catalog.Text) && col.Digits != 0 && col.Digits < digits:
		b.block(fmt.Sprintf("%s has the type %s, which holds %d digits, and snowflakes have %d: give it a wider one first.", c.full(), col.Type, col.Digits, digits))
	case col.Domain && b.dialect() == dialect.Postgres:
		if _, err := b.db.ExecContext(ctx, fmt.Sprintf("SELECT CAST('%d' AS %s)", int64(1)<<62, col.Type)); err != nil {
			b.block(fmt.Sprintf("%s has the domain %s, which does not take ids of %d digits: give it another type first. %v.", c.full(), col.Type, digits, err))
		}
	case col.Class == catalog.Time || col.Class == catalog.JSON || col.Class == catalog.Other && b.dialect() != dialect.SQLite:
		b.block(fmt.Sprintf("%s has the type %s, which cannot be a reference to an integer: inspect with --reference '!%s=…' when it is none.", c.full(), col.Type, c.full()))
	}
}

// ofTable returns the columns of b.columns in groups by table, in the order in which the tables come in them, references before what they
// refer to: so the width of a reference is never less than that of a key with snowflakes in it.
func (b *builder) ofTable(wanted func(*column) bool) [][]*column {
	var groups [][]*column
	place := map[string]int{}
	for i := len(b.columns) - 1; i >= 0; i-- {
		c := b.columns[i]
		if !wanted(c) {
			continue
		}
		at, ok := place[c.table]
		if !ok {
			at = len(groups)
			place[c.table], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}

// made returns the keys that the database makes.
func (b *builder) made() []*column {
	var keys []*column
	for _, c := range b.columns {
		if c.key && c.column.Auto != "" {
			keys = append(keys, c)
		}
	}
	return keys
}

// watched is what an AssertStable looks at of one key that the database makes.
type watched struct{ table, key, query string }

// sequenceWatched looks at a sequence of PostgreSQL. One that gave its first number has the same last_value as before.
func sequenceWatched(table, key, sequence string) watched {
	return watched{table, key, "SELECT CASE WHEN is_called THEN last_value::text ELSE 'no number' END FROM " + sequence}
}

// beforeFlip adds the hold in which writers are deployed, and the one step that makes sure that none is left of the others, for all keys that
// the database makes.
func (b *builder) beforeFlip(deploy string, all []watched) {
	b.add(Step{
		Title: "deploy writers that fill their keys", Phase: "flip",
		Do: Action{Kind: Hold, Name: DeployWriters, Text: deploy},
	})
	stable := Action{Kind: AssertStable, Window: b.options.Window, OnFailure: stillOld}
	switch b.dialect() {
	case dialect.SQLite:
		stable.OnFailure += " From the first new id on SQLite numbers its rows by the greatest key there is plus 1, which may be the new id of another row."
	case dialect.MySQL:
		stable.OnFailure += " From the flip on its inserts fail. SHOW FULL PROCESSLIST has the sessions, with the hosts that they come from."
	case dialect.Postgres:
		stable.OnFailure += " From the flip on its inserts fail. pg_stat_activity has the sessions, with the addresses that they come from and their last statements."
	}
	var tables []string
	for _, w := range all {
		tables, stable.Queries = append(tables, w.table), append(stable.Queries, Query{About: "…", Names: []string{w.key}, SQL: w.query})
	}
	b.add(Step{
		Title: fmt.Sprintf("make sure, for %s, that no writer leaves its keys to the database", b.options.Window), Phase: "flip", Tables: tables, Do: stable,
	})
}

// listed returns the keys, or how many there are.
func listed(all []watched) string {
	if len(all) > 3 {
		return fmt.Sprintf("%d tables", len(all))
	}
	var names []string
	for _, w := range all {
		names = append(names, w.key)
	}
	return strings.Join(names, ", ")
}

// waitTogether says what waits for a step of PostgreSQL's that takes the locks of some tables together.
func waitTogether(tables int) Lock {
	if tables == 1 {
		return alteringWaits
	}
	return Lock{ReadsAndWrites, true, "reads and writes of the tables wait for a moment: all locks are waited for together, for 0.8 seconds at a time, and asked for again"}
}

// greatest looks at the greatest id of a key that the database has made.
func (b *builder) greatest(k *column) watched {
	column := b.quote(k.column.Name)
	query := fmt.Sprintf("SELECT COALESCE(MAX(%s), 0) FROM %s", column, b.quoted(k.table))
	if b.dialect() != dialect.MySQL || !counts(k) { // there, the gate lets no other in, and the counter may stand above the limit
		query += fmt.Sprintf(" WHERE %s < %d", column, b.options.Below)
	}
	return watched{k.table, k.full(), query}
}

// literal returns a text as statements have it.
func (b *builder) literal(text string) string {
	if strings.Contains(text, `\`) {
		switch b.dialect() { // a backslash is special or not, by the session's settings
		case dialect.MySQL:
			return "CONVERT(0x" + hex.EncodeToString([]byte(text)) + " USING utf8mb4)"
		case dialect.Postgres:
			return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
		}
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// orphans returns the query for the number of rows whose foreign key points to no row.
func (b *builder) orphans(r *catalog.Reference) string {
	var match, set []string
	for i, name := range r.Columns {
		match = append(match, fmt.Sprintf("p.%s = c.%s", b.quote(r.To[i]), b.quote(name)))
		set = append(set, fmt.Sprintf("c.%s IS NOT NULL", b.quote(name)))
	}
	return fmt.Sprintf("SELECT COUNT(*) FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)",
		b.catalog.Quoted(b.short(r.Child)), strings.Join(set, " AND "), b.catalog.Quoted(b.short(r.Parent)), strings.Join(match, " AND "))
}

// short returns the name of a table that statements have: without the schema where the table is read and needs none.
func (b *builder) short(full catalog.Name) catalog.Name {
	if name, ok := b.names[full]; ok {
		return b.tables[name].Name
	}
	return full
}
