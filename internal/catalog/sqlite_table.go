package catalog

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

// sqliteCounted is how many rows are counted at most, which takes milliseconds.
const sqliteCounted = 100_000

func (s sqliteSource) complete(ctx context.Context, tables []*Table) error {
	objects := map[string][]sqliteObject{}
	for _, t := range tables {
		t.Checks, t.Rowless = sqliteChecks(t.Create), sqliteRowless(t.Create)
		for _, schema := range []string{t.Full.Schema, "temp"} {
			if _, known := objects[schema]; known {
				continue
			}
			var err error
			if objects[schema], err = s.objects(ctx, schema); err != nil {
				return err
			}
		}
		of := objects[t.Full.Schema]
		if t.Full.Schema != "temp" { // what is temporary may name tables of other schemas
			of = slices.Concat(of, objects["temp"])
		}
		findUsers(t, of)
	}
	return nil
}

func (s sqliteSource) sizes(ctx context.Context, tables []*Table) error {
	for _, t := range tables {
		if err := s.readRows(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (s sqliteSource) readRows(ctx context.Context, t *Table) error {
	err := s.Each(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+s.Quoted(t.Full)+" LIMIT ?)", []any{sqliteCounted + 1}, []any{&t.Rows}, nil)
	if err != nil || t.Rows <= sqliteCounted {
		return err
	}
	t.Rows = -1
	analyzed, err := s.Texts(ctx, "SELECT 1 FROM "+s.Quote(t.Full.Schema)+".sqlite_master WHERE name = 'sqlite_stat1'")
	if err != nil || len(analyzed) == 0 {
		return err
	}
	// The first number of stat is that of the rows.
	return s.Each(ctx, "SELECT coalesce(max(CAST(stat AS integer)), -1) FROM "+s.Quote(t.Full.Schema)+".sqlite_stat1 WHERE tbl = ? AND stat IS NOT NULL",
		[]any{t.Full.Name}, []any{&t.Rows}, nil)
}

func (s sqliteSource) next(ctx context.Context, t *Table, key *Column) error {
	var last int64
	err := s.Each(ctx, "SELECT max(coalesce((SELECT max(seq) FROM "+s.Quote(t.Full.Schema)+".sqlite_sequence WHERE name = ?), 0), coalesce((SELECT max("+s.Quote(key.Name)+") FROM "+s.Quoted(t.Full)+"), 0))",
		[]any{t.Full.Name}, []any{&last}, nil)
	if t.Next = last; last < math.MaxInt64 { // there it gives none any more
		t.Next++
	}
	return err
}

// sqliteObject is a row of the schema table.
type sqliteObject struct {
	kind, table, sql string
	name             Name
	tokens           []sqltoken.Token
}

// objects returns what a schema has.
func (s sqliteSource) objects(ctx context.Context, schema string) (objects []sqliteObject, err error) {
	o := sqliteObject{name: Name{Schema: schema}}
	err = s.Each(ctx, "SELECT type, name, tbl_name, sql FROM "+s.Quote(schema)+".sqlite_master WHERE sql IS NOT NULL ORDER BY name", nil, []any{&o.kind, &o.name.Name, &o.table, &o.sql}, func() error {
		o.tokens = sqltoken.SQLite.Tokens(o.sql)
		objects = append(objects, o)
		return nil
	})
	return objects, err
}

// findUsers finds the triggers of a table, and what names it in its text, for SQLite keeps no other record.
func findUsers(t *Table, objects []sqliteObject) {
	addGenerated(t, sqltoken.SQLite)
	below := []string{t.Full.Name} // it grows: views are made of views
	for i := 0; i < len(below); i++ {
		for _, o := range objects {
			if o.kind == "view" && !strings.EqualFold(o.name.Name, below[i]) && sqltoken.Named(o.tokens, below[i]) && !slices.Contains(below, o.name.Name) {
				below = append(below, o.name.Name)
				t.Users = append(t.Users, User{Kind: "view", Name: o.name, Definition: o.sql})
			}
		}
	}
	for _, o := range objects {
		switch {
		case o.kind == "trigger" && strings.EqualFold(o.table, t.Full.Name):
			timing, of := sqliteTiming(o.sql)
			t.Triggers = append(t.Triggers, Trigger{Name: o.name.Name, Timing: timing, Definition: o.sql, Of: of})
		case o.kind == "trigger" && sqltoken.Named(o.tokens, t.Full.Name) || o.kind == "trigger" && slices.ContainsFunc(below[1:], func(view string) bool { return strings.EqualFold(view, o.table) }):
			t.Users = append(t.Users, User{Kind: "trigger", Name: o.name, Definition: o.sql})
		case o.kind == "table" && strings.HasPrefix(o.sql, "CREATE VIRTUAL "):
			if u, ok := fullText(t, o); ok {
				t.Users = append(t.Users, u)
			} else if ownText(o) && mayFind(t.Full.Name, o, objects) {
				t.Users = append(t.Users, User{Kind: "own full-text table", Name: o.name, Definition: o.sql})
			}
		}
	}
}

// ownText reports whether a virtual table is one of FTS3, FTS4 or FTS5 that has its texts, or no texts, and rowids that some program gives it.
func ownText(o sqliteObject) bool {
	content := ""
	for i := 2; i < len(o.tokens); i++ {
		if o.tokens[i-1].Is("=") && o.tokens[i].Kind != sqltoken.Mark && strings.EqualFold(o.tokens[i-2].Value, "content") {
			content = o.tokens[i].Value
		}
	}
	using := slices.IndexFunc(o.tokens, func(t sqltoken.Token) bool { return t.Is("USING") })
	return content == "" && using >= 0 && using+1 < len(o.tokens) && strings.HasPrefix(strings.ToLower(o.tokens[using+1].Value), "fts")
}

// mayFind reports whether a full-text table may have the rowids of a table: those do whose name is part of its name, or that have a trigger which writes to it; where
// there are none, all.
func mayFind(table string, o sqliteObject, objects []sqliteObject) bool {
	does := func(table string) bool {
		name, own := strings.ToLower("_"+o.name.Name+"_"), strings.ToLower(table)
		return strings.Contains(name, "_"+own+"_") || strings.Contains(name, "_"+strings.TrimSuffix(own, "s")+"_") ||
			slices.ContainsFunc(objects, func(t sqliteObject) bool {
				return t.kind == "trigger" && strings.EqualFold(t.table, table) && sqltoken.Named(t.tokens, o.name.Name)
			})
	}
	return does(table) || !slices.ContainsFunc(objects, func(t sqliteObject) bool { return t.kind == "table" && t.table != o.table && does(t.table) })
}

// fullText returns a virtual table that keeps no copy of the texts that it finds, but reads them from a table: content=table of FTS4 and
// FTS5. It finds rows by content_rowid, which is the rowid when nothing else is said.
func fullText(t *Table, o sqliteObject) (User, bool) {
	option := map[string]string{}
	for i := 2; i < len(o.tokens); i++ {
		if o.tokens[i-1].Is("=") && o.tokens[i].Kind != sqltoken.Mark {
			option[strings.ToLower(o.tokens[i-2].Value)] = o.tokens[i].Value
		}
	}
	if !strings.EqualFold(option["content"], t.Full.Name) {
		return User{}, false
	}
	u := User{Kind: "full-text table", Name: o.name, Definition: o.sql}
	switch col := t.Column(option["content_rowid"], true); {
	case col != nil:
		u.Columns = []string{col.Name}
	case t.Indexes != nil && t.Indexes[0].Primary && t.Indexes[0].Name == "" && len(t.Indexes[0].Columns) == 1: // the rowid's alias
		u.Columns = t.Indexes[0].Columns
	}
	return u, true
}
