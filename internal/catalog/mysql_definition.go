package catalog

import (
	"context"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/sqltoken"
	"github.com/snowkey-go/snowkey/internal/table"
)

func (s mysqlSource) current(ctx context.Context) (home, hidden string, err error) {
	found, err := s.Texts(ctx, "SELECT DATABASE()")
	home = strings.Join(found, "")
	return home, home, err
}

// otherDefinitions returns the options and partitions of tables. Some sql_modes hide them from SHOW CREATE TABLE.
func (s mysqlSource) otherDefinitions(ctx context.Context, tables []*Table) (map[*Table][]Definition, error) {
	found := map[*Table][]Definition{}
	for n, query := range []string{
		"SELECT TABLE_NAME, COALESCE(ROW_FORMAT, ''), COALESCE(TABLE_COLLATION, ''), COALESCE(CREATE_OPTIONS, ''), TABLE_COMMENT, '' FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?)",
		`SELECT TABLE_NAME, CONCAT(PARTITION_NAME, ' ', COALESCE(SUBPARTITION_NAME, '')), CONCAT(PARTITION_METHOD, ' ', COALESCE(SUBPARTITION_METHOD, '')), COALESCE(PARTITION_EXPRESSION, ''), COALESCE(SUBPARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, '')
			FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN (?) AND PARTITION_NAME IS NOT NULL ORDER BY TABLE_NAME, PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION`,
	} {
		var of [5]string
		err := s.EachOf(ctx, tables, query, []any{&of[0], &of[1], &of[2], &of[3], &of[4]}, func(t *Table) error {
			of[2], of[3] = table.Backticks(of[2]), table.Backticks(of[3])
			what := "options"
			if n == 1 {
				what = "partition " + strings.TrimSpace(of[0])
			}
			found[t] = append(found[t], Definition{t.Full.Name, what, strings.TrimSpace(strings.Join(of[:], " "))})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// stable also has quotes of one kind in statements that tables are made by, and in expressions of the server's making, which sql_mode
// ANSI_QUOTES changes. Others are in the words of who wrote them.
func (mysqlSource) stable(definition, current string) string {
	create := strings.HasPrefix(definition, "CREATE TABLE ")
	if create || !strings.HasPrefix(definition, "CREATE ") {
		definition = table.Backticks(definition)
	}
	if create {
		definition = mysqlDeclared(definition)
	}
	if current == "" {
		return definition
	}
	return strings.ReplaceAll(definition, dialect.MySQL.QuoteAny(current)+".", "")
}

// mysqlDeclared returns the statement that makes a table without the table's options, among which is the next number.
func mysqlDeclared(create string) string {
	for _, t := range sqltoken.MySQL.Tokens(create) {
		if t.Depth == 0 && t.Is(")") {
			return create[:t.End]
		}
	}
	return create
}

// define has a definition of each line of the statement that makes the table, and several of a column.
func (mysqlSource) define(t *Table) []Definition {
	of := t.Full.String()
	all := []Definition{{of, "table", strings.TrimSpace(t.View + " " + t.Engine)}}
	add := func(what, text string) {
		if text != "" {
			all = append(all, Definition{of, what, text})
		}
	}
	var columns []string
	lines := strings.Split(t.Create, "\n")
	for _, line := range lines[min(1, len(lines)):] {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		kind, rest, _ := strings.Cut(line, "`")
		name, rest, _ := strings.Cut(strings.ReplaceAll(rest, "``", "\x00"), "`")
		name, rest = strings.ReplaceAll(name, "\x00", "`"), strings.ReplaceAll(rest, "\x00", "``")
		column := t.Column(name, false)
		switch {
		case line == ")" || line == "":
		case kind == "" && column != nil:
			columns = append(columns, name)
			rest = strings.TrimSpace(rest)
			if after, ok := strings.CutPrefix(rest, column.Type); ok {
				add("type of column "+name, withoutWidth(column.Type))
				rest = after
			}
			rest, numbers := withoutNumbers(rest)
			add("numbers of column "+name, numbers)
			add("column "+name, strings.TrimSpace(rest))
		case strings.HasSuffix(kind, "KEY ") && name != "" && !strings.HasPrefix(kind, "PRIMARY"):
			add("index "+name, line)
		case kind == "CONSTRAINT ":
			add("constraint "+name, line)
		case strings.HasPrefix(kind, "PRIMARY KEY"):
			add("primary key", line)
		default:
			add("clause", line)
		}
	}
	add("columns", strings.Join(columns, ", "))
	for _, g := range t.Triggers {
		add("trigger "+g.Name, g.Definition)
	}
	return all
}

// withoutWidth returns the type of an integer without the width that it is shown in, which MySQL 8 has no more, unless zeros fill it.
func withoutWidth(text string) string {
	word, rest, ok := strings.Cut(text, "(")
	width, rest, closed := strings.Cut(rest, ")")
	if !ok || !closed || strings.Trim(width, "0123456789") != "" || !strings.HasSuffix(word, "int") || strings.Contains(rest, "zerofill") {
		return text
	}
	return word + rest
}

// withoutNumbers returns a column's definition without what makes numbers for it, and that.
func withoutNumbers(rest string) (without, numbers string) {
	head, comment := rest, ""
	if at := strings.Index(rest, " COMMENT '"); at >= 0 {
		head, comment = rest[:at], rest[at:]
	}
	if at := strings.Index(head, " AUTO_INCREMENT"); at >= 0 {
		return head[:at] + head[at+len(" AUTO_INCREMENT"):] + comment, "AUTO_INCREMENT"
	}
	if at := strings.Index(head, " DEFAULT nextval("); at >= 0 {
		if end := strings.Index(head[at:], ")"); end >= 0 {
			return head[:at] + head[at+end+1:] + comment, head[at+1 : at+end+1]
		}
	}
	return rest, ""
}
