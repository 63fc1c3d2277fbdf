package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

func (s sqliteSource) references(ctx context.Context, tables []*Table) (found []*Reference, err error) {
	schemas := map[string]bool{}
	for _, t := range tables {
		if schemas[t.Full.Schema] {
			continue
		}
		schemas[t.Full.Schema] = true
		all, err := s.referencesOf(ctx, t.Full.Schema)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if slices.ContainsFunc(tables, func(t *Table) bool { return t.Full == r.Child || t.Full == r.Parent }) {
				found = append(found, r)
			}
		}
	}
	sortReferences(found)
	return found, nil
}

// referencesOf returns all foreign keys of a schema, which cannot point out of it.
func (s sqliteSource) referencesOf(ctx context.Context, schema string) (found []*Reference, err error) {
	read := Reference{Child: Name{Schema: schema}, Parent: Name{Schema: schema}, Valid: true}
	var place, id int
	var column, to, create string
	err = s.Each(ctx, `SELECT t.name, f.seq, coalesce(p.name, f."table"), f."from",
			coalesce(f."to", (SELECT name FROM pragma_table_xinfo(f."table", ?) WHERE pk = f.seq + 1), ''), f.on_delete, f.on_update, t.sql, f.id
		FROM `+s.Quote(schema)+`.sqlite_master t JOIN pragma_foreign_key_list(t.name, ?) f
		LEFT JOIN `+s.Quote(schema)+`.sqlite_master p ON p.type = 'table' AND lower(p.name) = lower(f."table")
		WHERE t.type = 'table' ORDER BY t.name, f.id DESC, f.seq`,
		[]any{schema, schema}, []any{&read.Child.Name, &place, &read.Parent.Name, &column, &to, &read.OnDelete, &read.OnUpdate, &create, &id}, func() error {
			if r := read; place == 0 {
				r.Deferrable, r.Deferred = sqliteDeferred(create, id)
				found = append(found, &r)
			}
			r := found[len(found)-1]
			r.Columns, r.To = append(r.Columns, column), append(r.To, to)
			return nil
		})
	return found, err
}

// sqliteDeferred reports whether the foreign key of a number may be deferred, and whether it is. The pragma does not tell. It numbers them
// from the last to the first.
func sqliteDeferred(create string, id int) (deferrable, deferred bool) {
	if !strings.Contains(strings.ToUpper(create), "DEFERRABLE") {
		return false, false
	}
	var clauses [][]sqltoken.Token // each from its REFERENCES to the next
	for _, t := range sqltoken.SQLite.Tokens(create) {
		if t.Depth == 1 && t.Is("REFERENCES") {
			clauses = append(clauses, nil)
		}
		if n := len(clauses); n > 0 && t.Depth == 1 {
			clauses[n-1] = append(clauses[n-1], t)
		}
	}
	if id >= len(clauses) {
		return false, false
	}
	clause := clauses[len(clauses)-1-id]
	for i, t := range clause {
		if t.Is("DEFERRABLE") {
			deferrable = i == 0 || !clause[i-1].Is("NOT")
			deferred = deferrable && i+2 < len(clause) && clause[i+1].Is("INITIALLY") && clause[i+2].Is("DEFERRED")
		}
	}
	return deferrable, deferred
}
