package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
	"github.com/snowkey-go/snowkey/internal/table"
)

// readUsers finds what names tables in its text, for MySQL keeps no other record of it on all its versions. A text that the user may not
// see counts as one that does.
func (s mysqlSource) readUsers(ctx context.Context, tables []*Table) error {
	for _, t := range tables {
		addGenerated(t, sqltoken.MySQL)
	}
	if err := s.readViews(ctx, tables); err != nil {
		return err
	}
	return s.readPrograms(ctx, tables)
}

// mentions reports whether schema.table stands in a text of the server's making, in which all names of tables have their schema.
func mentions(tokens []sqltoken.Token, of Name) bool {
	for i := 2; i < len(tokens); i++ {
		if tokens[i].Names(of.Name) && tokens[i-1].Is(".") && tokens[i-2].Names(of.Schema) {
			return true
		}
	}
	return false
}

// mysqlView is a view of any schema.
type mysqlView struct {
	name   Name
	hidden bool // its text is not shown
	tokens []sqltoken.Token
}

func (s mysqlSource) readViews(ctx context.Context, tables []*Table) error {
	var views []mysqlView
	var v mysqlView
	var definition string
	err := s.Each(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(VIEW_DEFINITION, '') FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN ('sys', 'mysql', 'performance_schema', 'information_schema') ORDER BY 1, 2",
		nil, []any{&v.name.Schema, &v.name.Name, &definition}, func() error {
			v.hidden, v.tokens = definition == "", sqltoken.MySQL.Tokens(definition)
			views = append(views, v)
			return nil
		})
	if err != nil {
		return err
	}
	shown := map[Name]string{}
	for _, t := range tables {
		below := []Name{t.Full} // it grows: views are made of views
		for i := 0; i < len(below); i++ {
			for _, v := range views {
				hidden := v.hidden && v.name.Schema == t.Full.Schema
				if slices.Contains(below, v.name) || !hidden && !mentions(v.tokens, below[i]) {
					continue
				}
				below = append(below, v.name)
				if _, known := shown[v.name]; !known && !hidden {
					definition, err := s.show(ctx, "VIEW", v.name)
					if err != nil {
						return err
					}
					shown[v.name] = table.Backticks(definition)
				}
				t.Users = append(t.Users, User{Kind: "view", Name: v.name, Definition: shown[v.name]})
			}
		}
	}
	return nil
}

// mysqlEither reports whether something is so of a text in somebody's own words, in which backslashes may be escapes or not: that is a matter of
// the sql_mode that it was made in, and information_schema has what they stand for in place of them.
func mysqlEither(text string, is func([]sqltoken.Token) bool) bool {
	plain := sqltoken.MySQL
	plain.Backslash = false
	return is(sqltoken.MySQL.Tokens(text)) || is(plain.Tokens(text))
}

// mysqlProgram is an event, a routine or a trigger of any schema.
type mysqlProgram struct {
	User
	table  string              // of a trigger
	tokens [2][]sqltoken.Token // of its text as either mode reads it
}

// concerns reports whether a program names a table, or may, as its text is not shown. A table's own triggers do not.
func (p *mysqlProgram) concerns(t *Table) bool {
	local := p.Name.Schema == t.Full.Schema
	if local && p.table == t.Full.Name {
		return false
	}
	return local && p.Definition == "" || slices.ContainsFunc(p.tokens[:], func(tokens []sqltoken.Token) bool {
		return local && sqltoken.Named(tokens, t.Full.Name) || mentions(tokens, t.Full)
	})
}

// readPrograms finds routines with a type that is too narrow for a key, events, and triggers of other tables.
func (s mysqlSource) readPrograms(ctx context.Context, tables []*Table) error {
	var programs []*mysqlProgram
	for _, query := range []string{
		"SELECT 'event', EVENT_SCHEMA, EVENT_NAME, COALESCE(EVENT_DEFINITION, ''), '' FROM information_schema.EVENTS ORDER BY 2, 3",
		"SELECT LOWER(ROUTINE_TYPE), ROUTINE_SCHEMA, ROUTINE_NAME, COALESCE(ROUTINE_DEFINITION, ''), '' FROM information_schema.ROUTINES WHERE ROUTINE_TYPE IN ('PROCEDURE', 'FUNCTION') AND ROUTINE_SCHEMA <> 'sys' ORDER BY 2, 3, 1",
		"SELECT 'trigger', TRIGGER_SCHEMA, TRIGGER_NAME, COALESCE(ACTION_STATEMENT, ''), EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS ORDER BY 2, 3",
	} {
		var read mysqlProgram
		err := s.Each(ctx, query, nil, []any{&read.Kind, &read.Name.Schema, &read.Name.Name, &read.Definition, &read.table}, func() error {
			p := read
			_ = mysqlEither(p.Definition, func(tokens []sqltoken.Token) bool {
				p.tokens[0], p.tokens[1] = p.tokens[1], tokens
				return false
			})
			programs = append(programs, &p)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, p := range programs {
		var concerned []*Table
		for _, t := range tables {
			if p.concerns(t) {
				concerned = append(concerned, t)
			}
		}
		if len(concerned) == 0 {
			continue
		}
		u := p.User
		if u.Definition != "" {
			var err error
			if u.Definition, err = s.show(ctx, strings.ToUpper(u.Kind), u.Name); err != nil {
				return err
			}
		}
		if u.Kind == "procedure" || u.Kind == "function" {
			u.Kind = "routine"
			if u.Definition != "" && !mysqlEither(u.Definition, narrow) {
				concerned = slices.DeleteFunc(concerned, func(t *Table) bool {
					return !mysqlEither(u.Definition, func(tokens []sqltoken.Token) bool { return keyless(tokens, t) })
				})
			}
		}
		for _, t := range concerned {
			t.Users = append(t.Users, u)
		}
	}
	return nil
}
