package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// fingerprinted is what a fingerprint is of.
type fingerprinted struct {
	Form       int // raised when what it is of changes
	Tables     []fingerprintedTable
	References []*Reference
}

type fingerprintedTable struct {
	Asked   Name   // of one that is not there
	Table   *Table // nil when there is none
	Besides []string
}

// Fingerprint returns a digest of the definitions of tables and of the foreign keys that References returns for them: of names, types,
// defaults, keys, indexes, checks, triggers and users, but nothing that changes by use (numbers of rows, the next number of a sequence,
// statistics). Two databases whose definitions are the same have the same. A table that is not there counts as being absent. The order of
// the names matters; whether they have the current schema does not. What the user may not see is not in it, so another user's may be another; and PostgreSQL writes definitions by a
// session's search_path, TimeZone and DateStyle.
func (c *Catalog) Fingerprint(ctx context.Context, names ...Name) (string, error) {
	home, hidden, err := c.source.current(ctx)
	if err != nil {
		return "", failed(err, "the current schema")
	}
	found, _, err := c.definitions(ctx, names)
	if err != nil {
		return "", err
	}
	var tables, ends []*Table // each once; those for References are as they were
	for _, t := range found {
		if t != nil && !slices.Contains(tables, t) {
			tables, ends = append(tables, t), append(ends, &Table{Full: t.Full, OID: t.OID, Related: t.Related})
		}
	}
	besides, err := c.source.besides(ctx, tables)
	if err != nil {
		return "", failed(err, listed(names))
	}
	for _, t := range tables {
		c.stabilize(t, hidden)
	}
	of := fingerprinted{Form: 2}
	for i, name := range names {
		entry := fingerprintedTable{Table: found[i]}
		if found[i] == nil {
			entry.Asked = relative(name, home)
		} else {
			entry.Besides = besides[found[i]]
		}
		of.Tables = append(of.Tables, entry)
	}
	if of.References, err = c.References(ctx, ends...); err != nil {
		return "", err
	}
	for _, r := range of.References {
		r.Child, r.Parent, r.Partition = relative(r.Child, hidden), relative(r.Parent, hidden), relative(r.Partition, hidden)
		r.Definition = c.source.stable(r.Definition, hidden)
	}
	sortReferences(of.References)
	text, err := json.Marshal(of)
	if err != nil {
		return "", failed(err, "the fingerprint")
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// relative returns a name without the current schema's.
func relative(n Name, current string) Name {
	if n.Schema == current {
		n.Schema = ""
	}
	return n
}

// stabilize takes from a table what changes by use, by session, or with the name of the current schema.
func (c *Catalog) stabilize(t *Table, current string) {
	stable := func(text *string) { *text = c.source.stable(*text, current) }
	t.Name, t.Full = relative(t.Full, current), relative(t.Full, current)
	t.OID, t.Rows, t.Bytes, t.Next = 0, 0, 0, 0
	stable(&t.Create)
	for _, col := range t.Columns {
		col.Define = "" // it is in Create
		col.Sequence = relative(col.Sequence, current)
		stable(&col.Default)
		stable(&col.Auto)
		stable(&col.Generated)
	}
	for i := range t.Triggers {
		stable(&t.Triggers[i].Definition)
	}
	for i := range t.Users {
		t.Users[i].Name = relative(t.Users[i].Name, current)
		stable(&t.Users[i].Definition)
	}
}
