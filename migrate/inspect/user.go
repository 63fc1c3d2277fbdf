package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ofUsers notes what is made of a table or its columns.
func (i *inspector) ofUsers(s *subject) {
	for _, u := range s.Users {
		if slices.Contains([]string{"generated column", "partition", "replica identity"}, u.Kind) {
			continue // ofColumns and ofPostgres say more of them
		}
		if u.Definition == "" && i.dialect == dialect.MySQL {
			i.ofUnreadable(s, u)
			continue
		}
		i.ofInserts(s, u)
		if len(u.Columns) > 0 && !s.isChanged(u.Columns) && u.Kind != "full-text table" && u.Kind != "publication" {
			continue // it uses other columns
		}
		if u.Kind == "routine" && len(u.Columns) == 0 || u.Kind == "trigger" || u.Kind == "event" {
			i.ofProgram(s, u)
			continue
		}
		o := i.ofUser(s, u)
		o.Name = u.Name.String()
		if len(u.Columns) > 0 {
			o.Column = strings.Join(u.Columns, ", ")
		}
		i.obstacle(s, o)
	}
}

// uses are what users of a table do to a migration, by their kind; %s is the user's name.
var uses = map[string]Obstacle{
	"view": {Text: "the view %s is made of it", Do: "see that it shows the same afterwards"},
	"materialized view": {
		Text: "the materialized view %s is made of it: the type of the column cannot change, and it shows old ids until it is refreshed",
		Do:   "drop it, and make it again after the migration", Blocks: everything,
	},
	"rule": {
		Text: "the rule %s changes what statements on the table do, and keeps its columns from changing their type",
		Do:   "drop it, and make it again after the migration", Blocks: everything,
	},
	"policy": {
		Text: "the policy %s says which rows are seen: \"cannot alter type of a column used in a policy definition\", and rows that the migration does not see are not rewritten",
		Do:   "drop it, or run the migration as a role with BYPASSRLS and make it again afterwards", Blocks: everything,
	},
	"publication": {
		Text: "the publication %s sends its rows to subscribers, whose columns stay as they are: one that is an integer there stops the subscription at the first snowflake",
		Do:   "widen the columns of all subscribers first",
	},
	"routine": {
		Text: "the routine %s is made of the column: \"cannot alter type of a column used by a function or procedure\"",
		Do:   "drop it, and make it again after the migration", Blocks: everything,
	},
	"full-text table": {
		Kind: "full text", Text: "the full-text table %s finds its rows by their rowid, which rewriting changes", Do: "the plan rebuilds it",
	},
	"own full-text table": {
		Kind: "full text", Text: "the full-text table %s has rows of its own, whose rowids or columns may be ids of this table: no foreign key declares that, and they stay as they are",
		Do: "drop it before the migration, and make and fill it again with the new ids afterwards; accept it where it has no ids of this table, or a trigger moves them with each row", Blocks: rewriting,
	},
	"type": {
		Text: "columns of other tables are of this table's row type: \"cannot alter table because column uses its row type\"",
		Do:   "give these columns another type first", Blocks: everything,
	},
	"statistics": {Text: "the extended statistics %s are made of it; they are kept, and empty until the next ANALYZE", Do: "ANALYZE afterwards"},
}

// ofProgram notes a routine, an event, or a trigger of another table whose text holds ids of a table in types that hold no snowflake.
func (i *inspector) ofProgram(s *subject, u catalog.User) {
	name := i.local(s, u.Name)
	if narrow := i.catalog.Narrow(u.Definition, s.changed); len(narrow) > 0 {
		i.shared(s, Obstacle{Kind: u.Kind, Name: name, Text: i.tooNarrow(u.Kind, name, narrow), Do: widenFirst, Blocks: everything})
	}
}

// shared notes an obstacle that is one for all tables that it concerns.
func (i *inspector) shared(s *subject, o Obstacle) {
	at := slices.IndexFunc(i.report.Obstacles, func(other Obstacle) bool { return other.Kind == o.Kind && other.Table == "" && other.Name == o.Name })
	if at < 0 {
		at = len(i.report.Obstacles)
		i.report.Obstacles = append(i.report.Obstacles, o)
	}
	i.report.Obstacles[at].Tables = append(i.report.Obstacles[at].Tables, s.Name.String())
}

// rightsToRead are what lets a user of MySQL or MariaDB read the text of a user of tables.
var rightsToRead = map[string]string{
	"routine": "SELECT ON mysql.proc on MariaDB, SHOW_ROUTINE ON *.* on MySQL 8.0.20 or newer", "view": "SHOW VIEW ON the view", "event": "EVENT ON its database", "trigger": "TRIGGER ON its table",
}

// ofUnreadable notes what names the table, or may: its text is not shown to this user.
func (i *inspector) ofUnreadable(s *subject, u catalog.User) {
	name := i.local(s, u.Name)
	i.shared(s, Obstacle{
		Kind: "unreadable", Name: name, Text: fmt.Sprintf("the %s %s could not be read, for this user has no right to its text: it may insert rows without keys, or hold ids in types that hold no snowflake", u.Kind, name),
		Do:     fmt.Sprintf("inspect and plan as its definer, or GRANT %s TO the user, and inspect again; or have its definer look, and accept it", rightsToRead[u.Kind]),
		Blocks: everything,
	})
}

// local returns a name as the table's own is written.
func (i *inspector) local(s *subject, name catalog.Name) string {
	if s.Schema == "" && name.Schema == s.Full.Schema {
		name.Schema = ""
	}
	return name.String()
}

// ofInserts notes a routine, an event, or a trigger of another table that inserts rows without their keys.
func (i *inspector) ofInserts(s *subject, u catalog.User) {
	if !s.wanted || s.key == nil || s.key.Auto == "" || !slices.Contains([]string{"routine", "trigger", "event"}, u.Kind) || !i.catalog.Keyless(u.Definition, s.Table) {
		return
	}
	name := i.local(s, u.Name)
	i.obstacle(s, Obstacle{
		Kind: "keyless", Name: name, Text: fmt.Sprintf("the %s %s inserts rows without %s: once the database makes no keys any more, it fails, and so does the statement that has called it", u.Kind, name, s.key.Name),
		Do:     fmt.Sprintf("have it insert a key that the program gives it; or leave the table out (--table '!%s'), whose keys the database goes on to make; or accept it where nobody calls it", s.Name),
		Blocks: everything,
	})
}

const widenFirst = "make them 64 bits wide before the first new id; where it is in a signature, that takes a DROP and a CREATE; then inspect again, or accept it"

// tooNarrow says what is too narrow in a program.
func (i *inspector) tooNarrow(kind, name string, narrow []string) string {
	text := fmt.Sprintf("the %s %s has ids in types that hold no snowflake (%s): it fails for new ids", kind, name, strings.Join(narrow, ", "))
	if i.dialect == dialect.MySQL {
		text += ", or takes 2147483647 for them where its sql_mode is not strict"
	}
	return text
}

// retyping are the kinds of users for which PostgreSQL refuses to change the type of a column, and nothing else.
var retyping = []string{"materialized view", "rule", "policy", "type", "routine"}

// ofUser says what a user of a table does to a migration.
func (i *inspector) ofUser(s *subject, u catalog.User) Obstacle {
	o, known := uses[u.Kind]
	if !known {
		o = Obstacle{Text: "the " + u.Kind + " %s is made of it", Do: "see that it goes on to work, and accept it", Blocks: everything}
	}
	if i.dialect == dialect.Postgres && slices.Contains(retyping, u.Kind) {
		o.Firm = everything
		if u.Kind == "rule" && len(u.Columns) == 0 || !i.retyped(s, u.Columns) { // the database refuses a change of the type alone
			o.Blocks, o.Do = []string{"shadow"}, "rekey: nothing; shadow: drop it, and make it again after the migration"
			if o.Firm = o.Blocks; u.Kind == "rule" && len(u.Columns) == 0 {
				o.Firm = nil
			}
		}
	}
	o.Kind, o.Text = cmp.Or(o.Kind, u.Kind), strings.ReplaceAll(o.Text, "%s", u.Name.String())
	if narrow := i.catalog.Narrow(u.Definition, s.changed); u.Kind == "view" && len(narrow) > 0 {
		o.Text, o.Do, o.Blocks = i.tooNarrow(u.Kind, u.Name.String(), narrow), widenFirst, everything
		return o
	}
	if u.Kind == "view" && i.dialect == dialect.Postgres {
		o.Text += ": \"cannot alter type of a column used by a view or rule\""
		o.Do = "the plan drops it and makes it again; what depends on the view itself has to be made again, too"
	}
	return o
}

// ofReference notes what a column that refers cannot hold, and where it is.
func (i *inspector) ofReference(c *candidate) {
	if c.Confidence == Unlikely || !c.parent.wanted {
		return
	}
	name := c.Reference.Column
	switch col := c.column; {
	case c.Path != "":
	case col.Class == catalog.Floating:
		i.obstacle(c.child, Obstacle{
			Column: name, Kind: "float", Name: name, Text: "it refers, and is " + col.Type + ", which rounds ids above 2^53", Do: "make it a BIGINT first", Blocks: everything, Firm: everything,
		})
	case (col.Class == catalog.Decimal || col.Class == catalog.Text) && col.Digits > 0 && col.Digits < catalog.KeyDigits:
		i.obstacle(c.child, Obstacle{
			Column: name, Kind: "narrow", Name: name, Text: fmt.Sprintf("it refers, and is %s, which does not hold ids of %d digits", col.Type, catalog.KeyDigits),
			Do: fmt.Sprintf("make it hold %d digits first", catalog.KeyDigits), Blocks: everything, Firm: everything,
		})
	}
	if c.child.Full.Schema != c.parent.Full.Schema {
		i.obstacle(c.child, Obstacle{
			Column: name, Kind: "schema", Name: c.To, Text: "it refers to " + c.To + " from another schema; undeclared references from there were not looked for",
			Do: "inspect that schema, too",
		})
	}
	if c.foreign != nil && len(c.foreign.Columns) > 1 {
		i.obstacle(c.child, Obstacle{
			Column: name, Kind: "composite", Name: c.Reference.Name, Text: "it refers together with other columns: " + strings.Join(c.foreign.Columns, ", ") + "; of these the key's alone is changed",
		})
	}
}
