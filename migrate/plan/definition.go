package plan

import (
	"regexp"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// Definition is one thing that the database says of the plan's tables, of their partitions, or of what depends on them.
type Definition = catalog.Definition

// Change is a definition that a step changes, for good or until the Change of a later step. Names that begin with snowkey_ are temporary, and no Change.
type Change struct {
	Of   string `json:"of"`             // as [Definition] has it
	What string `json:"what"`           // as [Definition] has it
	Text string `json:"text,omitempty"` // the definition after the step
	Gone bool   `json:"gone,omitempty"` // the step drops the definition
	Any  bool   `json:"any,omitempty"`  // after the step any definition is right, or none, until a later Change
}

// Standing is how far a plan is, for [Plan.Expected].
type Standing struct {
	Done     func(number int) bool // whether a step is done; numbers are from 1
	Undone   bool                  // the plan was rolled back
	Finished bool                  // the last step is done
}

// Differences returns where the definitions are not those that the plan was made for with the changes that the plan has announced, of the steps that are done.
// After a rollback they are as before, but for what a step says that it keeps.
func (p *Plan) Differences(now []Definition, s Standing) []catalog.Difference {
	type key struct{ of, what string }
	last := map[key]Change{}      // of what is done
	perhaps := map[key][]Change{} // after a rollback: the database is right with them and without
	wide := map[string]bool{}     // tables with changed types, in whose expressions PostgreSQL may write other casts
	for i, step := range p.Steps {
		for _, c := range step.Changes {
			k := key{c.Of, c.What}
			wide[c.Of] = wide[c.Of] || strings.HasPrefix(c.What, "type of column ")
			switch {
			case s.Undone && step.Undo == nil:
				perhaps[k] = append(perhaps[k], c)
			case !s.Undone && (s.Done == nil || s.Done(i+1)):
				last[k] = c
			}
		}
		for _, c := range step.Left {
			if s.Undone {
				perhaps[key{c.Of, c.What}] = append(perhaps[key{c.Of, c.What}], c)
			}
		}
	}
	var want []Definition
	seen := map[key]bool{}
	any := map[key]bool{}
	for _, d := range p.Definitions {
		k := key{d.Of, d.What}
		seen[k] = true
		switch c, ok := last[k]; {
		case !ok:
			want = append(want, d)
		case c.Any:
			any[k] = true
		case !c.Gone:
			d.Text = c.Text
			want = append(want, d)
		}
	}
	for k, c := range last {
		if any[k] = any[k] || c.Any; !seen[k] && !c.Any && !c.Gone {
			want = append(want, Definition{Of: k.of, What: k.what, Text: c.Text})
		}
	}
	own := !s.Undone && (!s.Finished || !p.contracts())
	var found []catalog.Difference
	for _, d := range catalog.Compare(want, now) {
		k := key{d.Of, d.What}
		switch {
		case any[k], d.New && own && strings.Contains(d.What, "snowkey_"):
		case allowed(perhaps[k], d):
		case len(wide) > 0 && !d.Gone && !d.New && withoutCasts(d.Text) == withoutCasts(d.Now):
		default:
			found = append(found, d)
		}
	}
	return found
}

// allowed reports whether a difference is one that a rollback may leave.
func allowed(perhaps []Change, d catalog.Difference) bool {
	for _, c := range perhaps {
		if c.Any || c.Gone && d.Gone || !c.Gone && !d.Gone && c.Text == d.Now {
			return true
		}
	}
	return false
}

// contracts reports whether the plan drops in the end what it has made.
func (p *Plan) contracts() bool {
	for _, s := range p.Steps {
		if s.Phase == "contract" {
			return true
		}
	}
	return p.Mode != Shadow
}

var cast = regexp.MustCompile(`::(?:smallint|integer|bigint)\b(?:\[\])?|[()' ]`)

// withoutCasts returns an expression without what PostgreSQL writes otherwise when a column has another integer's type.
func withoutCasts(text string) string { return cast.ReplaceAllString(text, "") }

// of returns a table as definitions have it.
func (b *builder) of(t *catalog.Table) string {
	if b.dialect().String() == "mysql" {
		return t.Name.String()
	}
	return t.Full.String()
}

// parts returns a table, and all its partitions on PostgreSQL, as definitions have them.
func (b *builder) parts(t *catalog.Table) []string {
	all := []string{b.of(t)}
	for _, u := range t.Users {
		if u.Kind == "partition" {
			all = append(all, u.Name.String())
		}
	}
	return all
}

// text returns the text of a definition as it is before the plan, empty when there is none.
func (b *builder) text(of, what string) string {
	for _, d := range b.plan.Definitions {
		if d.Of == of && d.What == what {
			return d.Text
		}
	}
	return ""
}

var integer = regexp.MustCompile(`^(?:smallint|integer)\b`)

// widened returns the changes of columns that get 64 bits, with those of the sequences that go along.
func (b *builder) widened(t []*column) (changes []Change) {
	for _, c := range t {
		typ, sequence := "type of column "+c.column.Name, "type of the sequence of column "+c.column.Name
		for _, of := range b.parts(c.of) {
			wide := "bigint"
			if c.column.Unsigned {
				wide += " unsigned"
			}
			changes = append(changes, Change{Of: of, What: typ, Text: wide})
			if text := b.text(of, sequence); text != "" {
				changes = append(changes, Change{Of: of, What: sequence, Text: integer.ReplaceAllString(text, "bigint")})
			}
		}
	}
	return changes
}

// gone returns the changes of some definitions of a table and its partitions that go.
func (b *builder) gone(t *catalog.Table, what ...string) (changes []Change) {
	for _, of := range b.parts(t) {
		for _, w := range what {
			changes = append(changes, Change{Of: of, What: w, Gone: true})
		}
	}
	return changes
}

// ended returns the changes of a key of PostgreSQL that the database makes no more, and what a rollback leaves of them: a sequence of 64 bits.
func (b *builder) ended(k *column, s *sequence) (changes, left []Change) {
	column := "column " + k.column.Name
	changes = b.gone(k.of, "default of "+column, "identity of "+column)
	if s != nil && (identity(k) || s.alone) {
		typ := "type of the sequence of " + column
		changes = append(changes, b.gone(k.of, "sequence of "+column, typ)...)
		left = []Change{{Of: b.of(k.of), What: typ, Text: integer.ReplaceAllString(b.text(b.of(k.of), typ), "bigint")}}
	}
	return changes, left
}
