package shard

import (
	"database/sql/driver"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// exact is the condition that a text is one of some byte for byte, beside one by which the database may find it in an index. MySQL's collations take
// letters, accents and spaces at the end for the same, and keys that only differ so are in one table or not, by chance.
type exact struct {
	column string
	texts  []any // []byte
}

// Build writes the condition.
func (e exact) Build(builder clause.Builder) {
	_, _ = builder.WriteString("CAST(CONVERT(")
	builder.WriteQuoted(clause.Column{Table: clause.CurrentTable, Name: e.column})
	_, _ = builder.WriteString(" USING utf8mb4) AS BINARY) IN ")
	builder.AddVar(builder, e.texts)
}

// wantsExact tells whether a sharding column is a text that the database compares by a collation, and that is written as the field has it.
func wantsExact(db *gorm.DB, by *schema.Field) bool {
	t, kind := by.IndirectFieldType, strings.ToLower(string(by.DataType))
	if strings.Contains(kind, "binary") || strings.Contains(kind, "blob") {
		return false // without a collation
	}
	return db != nil && db.Name() == "mysql" && t.Kind() == reflect.String && by.Serializer == nil &&
		!t.Implements(reflect.TypeFor[driver.Valuer]()) && !reflect.PointerTo(t).Implements(reflect.TypeFor[driver.Valuer]())
}

// exactly has a statement select the rows of just those sharding keys that it is routed by. The values are those that target has been through.
func (d *demand) exactly() {
	if !d.of.exact {
		return
	}
	for i := range d.held {
		c := &d.held[i]
		if !c.key || c.len() == 0 {
			continue
		}
		e := exact{column: d.of.by.DBName, texts: make([]any, 0, c.len())}
		for j := range c.len() {
			key, err := d.key(c, j)
			if err != nil {
				break
			}
			switch text := reflect.ValueOf(key); text.Kind() {
			case reflect.String:
				e.texts = append(e.texts, []byte(text.String()))
			case reflect.Slice:
				e.texts = append(e.texts, text.Bytes())
			}
		}
		if len(e.texts) == c.len() {
			d.stmt.AddClause(clause.Where{Exprs: []clause.Expression{e}})
		}
	}
}
