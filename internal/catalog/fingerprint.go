package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Fingerprint returns a digest of the [Catalog.Definitions] of tables. A table that is not there counts as being absent. Neither the order of the names
// matters, nor whether they have the current schema.
func (c *Catalog) Fingerprint(ctx context.Context, names ...Name) (string, error) {
	all, err := c.Definitions(ctx, names...)
	if err != nil {
		return "", err
	}
	return Digest(all)
}

// Digest returns the fingerprint of definitions. Owners and rights are not in it: who lacks a right is told to grant it, and goes on.
func Digest(all []Definition) (string, error) {
	text, err := json.Marshal(slices.DeleteFunc(slices.Clone(all), func(d Definition) bool {
		return d.What == "owner" || d.Rights()
	}))
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

// stabilize takes from a table what changes by session, or with the name of the current schema.
func (c *Catalog) stabilize(t *Table, current string) {
	stable := func(text *string) { *text = c.source.stable(*text, current) }
	t.Name, t.Full = relative(t.Full, current), relative(t.Full, current)
	stable(&t.Create)
	for i := range t.Triggers {
		stable(&t.Triggers[i].Definition)
	}
	for i := range t.Users {
		t.Users[i].Name = relative(t.Users[i].Name, current)
		stable(&t.Users[i].Definition)
	}
}
