package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
	"github.com/snowkey-go/snowkey/internal/table"
)

// errHidden says that a database does not show all of a definition.
var errHidden = errors.New("the definition is not shown in full")

// create is readCreate in a session in which backslashes are escapes.
func (s mysqlSource) create(ctx context.Context, t *Table) error { return s.readCreate(ctx, t, false) }

func (s mysqlSource) readCreate(ctx context.Context, t *Table, plain bool) error {
	if t.Create != "" || t.View != "" {
		return nil
	}
	var name string
	err := s.Each(ctx, "SHOW CREATE TABLE "+s.Quoted(t.Full), nil, []any{&name, &t.Create}, nil)
	if err == nil && strings.HasPrefix(t.Create, "CREATE TEMPORARY ") {
		t.Create = ""
		return fmt.Errorf("%w: this session has a temporary table of the same name", errHidden)
	}
	s.declare(t, plain)
	return err
}

// readCreates reads what only the statement tells that makes a table: its checks, and all that its columns have, with one query a table. That statement always has
// backslashes as escapes, on MariaDB also in a session with NO_BACKSLASH_ESCAPES, and its quotes are " in one with ANSI_QUOTES.
func (s mysqlSource) readCreates(ctx context.Context, tables []*Table) error {
	modes, err := s.Texts(ctx, "SELECT @@sql_mode")
	if err != nil {
		return err
	}
	var set []string
	for _, mode := range modes {
		set = append(set, strings.Split(mode, ",")...)
	}
	for _, mode := range []string{"NO_FIELD_OPTIONS", "NO_TABLE_OPTIONS", "NO_KEY_OPTIONS", "MYSQL323", "MYSQL40"} {
		if slices.Contains(set, mode) {
			return fmt.Errorf("%w in a session with sql_mode %s", errHidden, mode)
		}
	}
	for _, t := range tables {
		if err := s.readCreate(ctx, t, slices.Contains(set, "NO_BACKSLASH_ESCAPES")); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// declare takes from the statement that makes a table its checks, and the definitions of its columns.
func (s mysqlSource) declare(t *Table, plain bool) {
	for _, part := range sqltoken.MySQL.Declarations(t.Create) {
		first := part[0]
		col := t.Column(first.Value, false)
		if col != nil && (first.Kind == sqltoken.Name || !slices.Contains(mysqlDeclarations, strings.ToUpper(first.Value))) {
			define := t.Create[first.End:part[len(part)-1].Start]
			for i, token := range part {
				if token.Depth == 1 && token.Is("CHECK") && i+1 < len(part) {
					text := table.Backticks(sqltoken.Parenthesized(t.Create, part[i+1:]))
					t.Checks = append(t.Checks, Check{Name: col.Name, Text: text})
					if col.Class == Text && text == "json_valid("+s.Quote(col.Name)+")" {
						col.Class = JSON
					}
				}
			}
			if mysqlComplete(part, col) {
				col.Define = mysqlLiteral(strings.TrimSpace(define), plain)
			}
			continue
		}
		if len(part) > 3 && first.Is("CONSTRAINT") && part[2].Is("CHECK") {
			t.Checks = append(t.Checks, Check{Name: part[1].Value, Text: table.Backticks(sqltoken.Parenthesized(t.Create, part[3:]))})
		}
	}
}

// mysqlDeclarations are the words that a line of SHOW CREATE TABLE begins with when it is of no column. As the name of one they are quoted.
var mysqlDeclarations = []string{"PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "VECTOR", "CONSTRAINT", "FOREIGN", "CHECK", "PERIOD"}

// mysqlComplete reports whether the definition of a column has what information_schema knows of it.
func mysqlComplete(part []sqltoken.Token, col *Column) bool {
	has := func(words ...string) bool {
		for i := 1; i+len(words) <= len(part); i++ {
			n := 0
			for n < len(words) && part[i+n].Depth == 1 && part[i+n].Is(words[n]) {
				n++
			}
			if n == len(words) {
				return true
			}
		}
		return false
	}
	return (has("NOT", "NULL") != col.Nullable || col.Generated != "") && has("COMMENT") == (col.Comment != "") &&
		has("AUTO_INCREMENT") == (col.Auto == "AUTO_INCREMENT") && has("ON", "UPDATE") == (col.OnUpdate != "") && (col.Generated == "" || has("AS"))
}

var mysqlEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\0`, "\x00", `\Z`, "\x1a", `\'`, `''`, `\"`, `"`)

// mysqlLiteral returns a text of the server's making with ` around all names, and when backslashes are nothing special, without escapes.
func mysqlLiteral(sql string, plain bool) string {
	sql = table.Backticks(sql)
	if !plain {
		return sql
	}
	var b strings.Builder
	last := 0
	for _, t := range sqltoken.MySQL.Tokens(sql) {
		if t.Kind == sqltoken.Text {
			b.WriteString(sql[last:t.Start] + mysqlEscapes.Replace(sql[t.Start:t.End]))
			last = t.End
		}
	}
	return b.String() + sql[last:]
}
