package gormplugin

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/internal/table"
)

// uniqueIndex is what no two rows of a table have in common, among those of a condition.
type uniqueIndex struct {
	name   string
	parts  []uniquePart
	where  []clause.Expression
	latest bool // rows are found as they are now, also those of another transaction, and locked by then
}

// columns returns the columns that the index depends on.
func (i uniqueIndex) columns() (names []string) {
	for _, part := range i.parts {
		for _, column := range part.uses {
			names = append(names, column.name)
		}
	}
	return names
}

// typedColumn is a column, and the SQL around a value that makes it what the column stores: rounded, cut and padded.
type typedColumn struct {
	name, before, after string
	padded              bool // texts are compared without the spaces at their end, which are all that the column cuts
}

func (c typedColumn) write(query *gorm.Statement, value func()) {
	query.SQL.WriteString(c.before)
	value()
	query.SQL.WriteString(c.after)
}

// uniquePart is what an index compares of each row: a column, the beginning of one, or an expression, which may be that of a generated column.
type uniquePart struct {
	typedColumn // without a name for an expression that is no column's
	length      int
	expression  string
	uses        []typedColumn // the column itself, or those in the expression
}

// write adds the condition that a row has the same as one with these values of the columns that the part uses.
func (p uniquePart) write(query *gorm.Statement, values []any) {
	row := func() {
		if p.name == "" {
			query.SQL.WriteString("(" + p.expression + ")")
			return
		}
		query.WriteQuoted(clause.Column{Name: p.name})
	}
	value := func() {
		if p.expression == "" {
			query.AddVar(query, values[0])
			return
		}
		query.SQL.WriteString("(SELECT (" + p.expression + ") FROM (SELECT ")
		for i, column := range p.uses {
			if i > 0 {
				query.SQL.WriteByte(',')
			}
			column.write(query, func() { query.AddVar(query, values[i]) })
			query.SQL.WriteString(" AS ")
			query.WriteQuoted(clause.Column{Name: column.name})
		}
		query.SQL.WriteString(") AS snowkey_values)")
	}
	if p.length == 0 {
		row()
		query.SQL.WriteString(" = ")
		if p.padded && p.expression == "" {
			value() // a quarter faster, with MariaDB 10.11
		} else {
			p.typedColumn.write(query, value)
		}
		return
	}
	// The first comparison is what the index does, the second one lets MySQL use the index. Other texts that it takes for the same are missed.
	length := "," + strconv.Itoa(p.length) + ")"
	query.SQL.WriteString("LEFT(")
	row()
	query.SQL.WriteString(length + " = LEFT(")
	p.typedColumn.write(query, value)
	query.SQL.WriteString(length + " AND ")
	row()
	query.SQL.WriteString(" LIKE CONCAT(REPLACE(REPLACE(REPLACE(RTRIM(LEFT(")
	p.typedColumn.write(query, value)
	query.SQL.WriteString(length + "),'!','!!'),'%','!%'),'_','!_'),'%') ESCAPE '!'")
}

// uniqueTable is a table as its catalog knows it, empty for one that it does not, such as a temporary table of MySQL.
type uniqueTable struct {
	*table.Table
	dialect string
	indexes []uniqueIndex
}

// uniqueTable returns the table of a statement with all its unique indexes. It asks once a table.
func (p *plan) uniqueTable(db *gorm.DB) (*uniqueTable, error) {
	key := [2]string{db.Name(), quotedTable(db)}
	if cached, ok := p.tables.Load(key); ok {
		return cached.(*uniqueTable), nil
	}
	found, err := readTable(db)
	if err != nil {
		return nil, fmt.Errorf("gormplugin: reading the indexes of %s: %w", key[1], err)
	}
	t := &uniqueTable{Table: found, dialect: db.Name()}
	for _, index := range t.Indexes {
		if !index.Unique {
			continue
		}
		unique := uniqueIndex{name: index.Name, latest: t.dialect == "mysql"}
		for _, part := range index.Parts {
			unique.parts = append(unique.parts, t.part(part))
		}
		if index.Where != "" {
			unique.where = []clause.Expression{clause.Expr{SQL: "(" + index.Where + ")"}}
		}
		t.indexes = append(t.indexes, unique)
	}
	p.tables.Store(key, t)
	return t, nil
}

// quotedTable returns the name of a statement's table as the statement has it.
func quotedTable(db *gorm.DB) string {
	name := &gorm.Statement{DB: db, Table: db.Statement.Table, TableExpr: db.Statement.TableExpr}
	name.WriteQuoted(clause.Table{Name: clause.CurrentTable})
	return name.SQL.String()
}

// readTable asks for the table of a statement, which is empty where the catalog does not know it.
func readTable(db *gorm.DB) (*table.Table, error) {
	if d, ok := dialect.Lookup(db.Name()); ok {
		parsed, err := table.Parse(quotedTable(db))
		if err != nil {
			return nil, err
		}
		found, err := table.NewSource(db.Statement.ConnPool, d).Outlines(db.Statement.Context, []table.Name{parsed})
		if err != nil {
			return nil, err
		}
		if found[0] != nil {
			return found[0], nil
		}
	}
	return &table.Table{}, nil
}

// named returns the index of some columns.
func (t *uniqueTable) named(columns ...clause.Column) (unique uniqueIndex) {
	for _, column := range columns {
		of := table.Part{Column: column.Name}
		if column.Raw {
			of = table.Part{Expression: column.Name}
		}
		unique.parts = append(unique.parts, t.part(of))
	}
	return unique
}

func (t *uniqueTable) part(of table.Part) uniquePart {
	part := uniquePart{typedColumn: t.typed(of.Column), length: of.Length, expression: of.Expression}
	if column := t.column(of.Column); column != nil && column.Generated != "" {
		part.expression = column.Generated
		if t.dialect == "mysql" {
			part.expression = strings.ReplaceAll(part.expression, `\'`, "'") // as MySQL 8 has it
		}
	}
	if part.expression == "" {
		part.uses = []typedColumn{part.typedColumn}
		return part
	}
	for _, column := range t.Columns { // one that is not in it but seems to be does no harm
		if column.Name != part.name && strings.Contains(strings.ToLower(part.expression), strings.ToLower(column.Name)) {
			part.uses = append(part.uses, t.typed(column.Name))
		}
	}
	return part
}

func (t *uniqueTable) column(name string) *table.Column {
	return t.Column(name, t.dialect != "postgres")
}

// typed returns a column with its type's SQL. SQLite stores values as they are.
func (t *uniqueTable) typed(name string) typedColumn {
	typed, column := typedColumn{name: name}, t.column(name)
	switch {
	case column == nil:
	case t.dialect == "postgres":
		typed.before, typed.after = "CAST(", " AS "+column.Type+")"
	case t.dialect == "mysql":
		typed.before, typed.after = mysqlTyped(column)
		typed.padded = column.Collation != "" && !strings.Contains(column.Collation, "nopad") && !strings.Contains(column.Collation, "_0900_")
	}
	return typed
}

var mysqlType = regexp.MustCompile(`^(\w+)(?:\((\d+)[^)]*\))?`)

// mysqlTyped returns what CAST and CONVERT have for a type. They round and cut times as the sql_mode has it for columns.
func mysqlTyped(column *table.Column) (before, after string) {
	parts := mysqlType.FindStringSubmatch(strings.ToLower(column.Type))
	if parts == nil {
		return "", ""
	}
	all, kind, length := parts[0], parts[1], parts[2]
	charset, _, _ := strings.Cut(column.Collation, "_")
	convert, collate := "CONVERT(", " USING "+charset+")"
	switch {
	case column.Class == table.Integer && column.Unsigned:
		return "CAST(", " AS UNSIGNED)"
	case column.Class == table.Integer:
		return "CAST(", " AS SIGNED)"
	case all == "float", slices.Contains([]string{"datetime", "time", "date", "decimal", "binary", "json"}, kind) && column.Collation == "":
		return "CAST(", " AS " + all + ")"
	case kind == "timestamp":
		return "CAST(", " AS datetime" + strings.TrimPrefix(all, kind) + ")"
	case kind == "varbinary", strings.HasSuffix(kind, "blob"):
		return "CAST(", " AS BINARY)"
	case column.Collation == "" || kind == "enum" || kind == "set":
		return "", ""
	case kind == "varchar":
		convert, collate = "LEFT("+convert, collate+","+length+")"
	case kind == "char":
		convert, collate = "RTRIM(LEFT("+convert, collate+","+length+"))"
	}
	return convert, collate + " COLLATE " + column.Collation
}
