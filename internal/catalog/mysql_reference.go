package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/table"
)

func (s mysqlSource) references(ctx context.Context, tables []*Table) (found []*Reference, err error) {
	var schemas []string
	for _, t := range tables {
		if !slices.Contains(schemas, t.Full.Schema) {
			schemas = append(schemas, t.Full.Schema)
		}
	}
	wanted := func(name Name, fold bool) bool {
		return slices.ContainsFunc(tables, func(t *Table) bool {
			return t.Full == name || fold && strings.EqualFold(t.Full.Schema, name.Schema) && strings.EqualFold(t.Full.Name, name.Name)
		})
	}
	type constraint struct {
		child Name
		name  string
	}
	known := map[constraint]*Reference{}
	if len(schemas) == 0 {
		return nil, nil
	}
	var children []string
	args := make([]any, 0, 2*len(schemas))
	for range 2 {
		for _, schema := range schemas {
			args = append(args, schema)
		}
	}
	read := Reference{Valid: true}
	var column, to string
	var fold int
	err = s.Each(ctx, table.Marks(`SELECT CONSTRAINT_NAME, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME, @@lower_case_table_names
		FROM information_schema.KEY_COLUMN_USAGE WHERE (TABLE_SCHEMA IN (?) OR REFERENCED_TABLE_SCHEMA IN (?)) AND REFERENCED_TABLE_NAME IS NOT NULL
		ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`, len(schemas)), args, []any{&read.Name, &read.Child.Schema, &read.Child.Name, &column, &read.Parent.Schema, &read.Parent.Name, &to, &fold}, func() error {
		r := read
		key := constraint{r.Child, r.Name}
		if !wanted(r.Child, fold != 0) && !wanted(r.Parent, fold != 0) {
			return nil
		}
		if known[key] == nil {
			known[key] = &r
			found = append(found, &r)
			if !slices.Contains(children, r.Child.Schema) {
				children = append(children, r.Child.Schema)
			}
		}
		known[key].Columns, known[key].To = append(known[key].Columns, column), append(known[key].To, to)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, schema := range children { // a join would read them anew for each
		var key constraint
		var onDelete, onUpdate string
		err := s.Each(ctx, "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ?",
			[]any{schema}, []any{&key.child.Schema, &key.child.Name, &key.name, &onDelete, &onUpdate}, func() error {
				if r := known[key]; r != nil {
					r.OnDelete, r.OnUpdate = onDelete, onUpdate
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	for _, r := range found {
		r.Definition = s.definitionOf(r)
	}
	sortReferences(found)
	return found, nil
}

// definitionOf returns what ADD CONSTRAINT takes after the name, nothing when the user may not see all of it.
func (s mysqlSource) definitionOf(r *Reference) string {
	if r.OnDelete == "" {
		return ""
	}
	parent := r.Parent
	if parent.Schema == r.Child.Schema { // a parent without a schema is looked for in that of the child
		parent.Schema = ""
	}
	return "FOREIGN KEY (" + s.List(r.Columns) + ") REFERENCES " + s.Quoted(parent) + " (" + s.List(r.To) + ") ON DELETE " + r.OnDelete + " ON UPDATE " + r.OnUpdate
}
