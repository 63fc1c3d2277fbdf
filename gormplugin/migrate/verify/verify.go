// Package verify looks at what a plan has made of a database. It writes nothing.
package verify

import (
	"context"
	"database/sql"
	"errors"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
)

// Check is one thing that was looked at.
type Check struct {
	Name    string `json:"name"` // rows, bijection, orphans, digest, times, order, old values, types, auto-increment
	Table   string `json:"table"`
	Column  string `json:"column,omitempty"`
	Passed  bool   `json:"passed"`
	Skipped string `json:"skipped,omitempty"` // why it was not looked at; Passed is true then
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Text    string `json:"text,omitempty"` // what it means, when it has not passed
}

// Options say how.
type Options struct {
	Progress func(done, of int, doing string)
}

// Verify checks a plan that was run, to its end or to a hold.
func Verify(ctx context.Context, db *sql.DB, p *plan.Plan, o Options) ([]Check, error) {
	return nil, errors.ErrUnsupported
}

// Digest returns a digest of a table's rows that no order of rows changes: of all columns but the key's value, which its old id stands for, references that the plan rewrites, and
// those in mode shadow that it adds. Rows that are not old are not in it. It is the same before and after a rekey.
func Digest(ctx context.Context, db *sql.DB, p *plan.Plan, table string) (string, error) {
	return "", errors.ErrUnsupported
}
