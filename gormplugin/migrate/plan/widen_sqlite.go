package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// widenSQLite plans for SQLite, whose integers have 64 bits whatever they are called. A table that has AUTOINCREMENT is made anew without it;
// one without it is left as it is: its INTEGER PRIMARY KEY is the row's number, which SQLite gives to rows that come without.
func (b *builder) widenSQLite(ctx context.Context) error {
	var numbered []string
	for _, c := range b.columns {
		if c.key && strings.EqualFold(c.column.Type, "INTEGER") && !c.of.Rowless {
			numbered = append(numbered, c.full())
		}
	}
	if len(numbered) > 0 {
		b.note("SQLite goes on to number rows that come without their key, with AUTOINCREMENT and without it: by the greatest key there is plus 1, which after the first " +
			"snowflake is a number that a generator may make, too. No step ends that: see that every writer fills its keys. It is so of " + strings.Join(numbered, ", ") + ".")
	}
	keys := b.made()
	if len(keys) == 0 {
		return ctx.Err()
	}
	all := make([]watched, len(keys))
	for i, k := range keys {
		all[i] = b.greatest(k)
	}
	b.beforeFlip(heldSince, all)
	const broken = "SELECT COUNT(*) FROM pragma_foreign_key_check"
	const breaking = "rows that break a foreign key"
	const counting = "count the rows that break a foreign key"
	b.add(Step{Title: counting, Phase: "flip", Lock: "none", Do: Action{Kind: Count, SQL: []string{broken}, Each: []string{breaking}}})
	for _, k := range keys {
		b.flipSQLite(k)
	}
	b.add(Step{
		Title: "make sure that no foreign key is broken", Phase: "flip", Lock: "none",
		Do: Action{Kind: Expect, SQL: []string{broken}, Each: []string{breaking}, Like: counting, Otherwise: "Rows break foreign keys that did not before: PRAGMA foreign_key_check lists them. Mend them, and run again."},
	})
	return ctx.Err()
}

// Without foreign_keys=OFF, which does nothing in a transaction, DROP TABLE deletes the rows of tables that refer to it; without
// legacy_alter_table, RENAME fails for the views that are made of the table, which is missing just then.
var rebuildSession = []string{"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON"}

// flipSQLite makes a table anew without AUTOINCREMENT.
func (b *builder) flipSQLite(k *column) {
	t := k.of
	if t.Full.Schema != "main" {
		b.block(fmt.Sprintf("%s is in another file than the database's own: plan with that file as the database.", k.table))
	}
	sum := sha256.Sum256([]byte(t.Full.String()))
	anew := "snowkey_new_" + hex.EncodeToString(sum[:6])
	with, without, qualified := sqliteCreate(t.Create, b.quote(anew), t.Full.Name)
	if with == "" || qualified {
		b.block(fmt.Sprintf("%s cannot be made anew, for its definition names the table itself, or is not understood: take AUTOINCREMENT out of it first.", k.table))
	}
	var columns []string
	for _, c := range t.Columns {
		if c.Generated == "" {
			columns = append(columns, c.Name)
		}
	}
	rebuild := func(create string) []string {
		sql := []string{
			create,
			fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM %[3]s", b.quote(anew), b.joined(columns), b.quoted(k.table)),
			"DROP TABLE " + b.quoted(k.table),
			fmt.Sprintf("ALTER TABLE %s RENAME TO %s", b.quote(anew), b.quote(t.Full.Name)),
		}
		for _, i := range t.Indexes {
			if i.Definition != "" {
				sql = append(sql, i.Definition)
			}
		}
		for _, trigger := range t.Triggers {
			sql = append(sql, trigger.Definition)
		}
		return sql
	}
	name := b.literal(t.Full.Name)
	back := append(rebuild(with),
		// No number is given again that was given before the plan was made, nor one that a row has.
		fmt.Sprintf("INSERT INTO sqlite_sequence (name, seq) SELECT %s, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = %[1]s)", name),
		fmt.Sprintf("UPDATE sqlite_sequence SET seq = max(coalesce(seq, 0), %d, coalesce((SELECT max(%s) FROM %s), 0)) WHERE name = %s", max(t.Next-1, 0), b.quote(k.column.Name), b.quoted(k.table), name))
	b.add(Step{
		Title: fmt.Sprintf("make %s a key that the application fills", k.full()), Phase: "flip",
		Lock: "writes to the database wait for as long as the table is copied", Algorithm: "rewrite", Rows: t.Rows, Bytes: t.Bytes, Disk: t.Bytes,
		Do:      Action{Kind: Together, Session: rebuildSession, SQL: rebuild(without)},
		Undo:    &Action{Kind: Together, Session: rebuildSession, SQL: back},
		Changes: []Change{{Of: b.of(t), What: "table", Text: b.catalog.Stable(strings.Replace(without, b.quote(anew), b.quote(t.Full.Name), 1))}},
	})
}

// sqliteToken is a quoted name or text, a comment, a word, or a dot.
var sqliteToken = regexp.MustCompile("(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\]|--[^\n]*|/\\*.*?\\*/|[^\\s(),;'\"`\\[.=<>+*/|&~%!-]+|\\.")

// sqliteCreate returns the statement that makes a table under a name that is quoted already, with AUTOINCREMENT and without it, and whether the definition
// names the table itself for one of its columns, which would not be found under the new name. SQLite keeps such a
// statement from the table's name on as it was written, without schema. The texts are empty when it is not one that has the word once.
func sqliteCreate(create, anew, old string) (with, without string, qualified bool) {
	const begin = "CREATE TABLE "
	rest, ok := strings.CutPrefix(create, begin)
	if !ok {
		return "", "", false
	}
	places := sqliteToken.FindAllStringIndex(rest, -1)
	if len(places) == 0 || places[0][0] != 0 {
		return "", "", false
	}
	body := func(text string) string { return begin + anew + text }
	from := places[0][1]
	for i, p := range places[1:] {
		word := rest[p[0]:p[1]]
		if strings.EqualFold(word, "AUTOINCREMENT") {
			if without != "" {
				return "", "", false
			}
			without = body(strings.TrimRight(rest[from:p[0]], " ") + rest[p[1]:])
		}
		if word == "." && strings.EqualFold(strings.Trim(rest[places[i][0]:places[i][1]], "\"`[]'"), old) {
			qualified = true
		}
	}
	if without == "" {
		return "", "", false
	}
	return body(rest[from:]), without, qualified
}
