package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// exact are the kinds of firm obstacles that the plan looks at itself: the report may have one too many, for it looks for words.
var exact = []string{"domain", "engine", "float", "generated", "inherits", "materialized view", "narrow", "partition", "policy", "routine", "rule", "trigger", "type", "versioning"}

// obstruct blocks what the report says cannot be, and references of which it is not known whether they are any. What is firm is never offered to accept.
func (b *builder) obstruct() {
	for _, o := range b.report.Obstacles {
		firm := slices.Contains(o.Firm, string(b.options.Mode))
		if o.Kind == "definer" && len(o.Blocks) == 0 && b.tables[o.Table] != nil && b.options.Mode != Widen {
			b.note(o.Table + ": " + sentenceOf(o.Text) + " What to do: " + sentenceOf(o.Do))
		}
		// What is possible is told below, once for each reference.
		if o.Table != "" && b.tables[o.Table] == nil || o.Kind == "possible" || !slices.Contains(o.Blocks, string(b.options.Mode)) || firm && slices.Contains(exact, o.Kind) {
			continue
		}
		if o.Kind == "check" && b.options.Mode == Rekey {
			continue // tryCheck tells
		}
		if len(o.Tables) > 0 && !slices.ContainsFunc(o.Tables, func(name string) bool { return b.tables[name] != nil }) {
			continue
		}
		sentence := sentenceOf(o.Text)
		if o.Table != "" { // else it is of the whole database
			sentence = o.Table + ": " + sentence
		}
		if o.Do != "" {
			sentence += " What to do: " + sentenceOf(o.Do)
		}
		if firm {
			b.block(sentence)
			continue
		}
		b.refuse(o.Kind, o.Table, o.Name, sentence)
	}
	for _, r := range b.plan.References {
		if r.Confidence != inspect.Possible {
			continue
		}
		from, to := r.Table+"."+columnPart(r.Column), r.To+"."+columnPart(r.ToColumn)
		if r.Path != "" {
			from += ":" + r.Path
		}
		options := fmt.Sprintf("--reference %s or --reference %s", shellQuote(from+"="+to), shellQuote("!"+from+"="+to))
		if b.options.Mode == Widen {
			b.note(fmt.Sprintf("%s may be a reference to %s (%s), and is taken for one, which does no harm when it is none. Say which: inspect with %s.",
				from, to, strings.TrimSuffix(r.Why, "."), options))
			continue
		}
		b.need(fmt.Sprintf("%s may be a reference to %s: %s Say whether it is: inspect with %s.", from, to, sentenceOf(r.Why), options), "reference", from+"="+to)
	}
	for _, r := range b.report.References {
		if r.Confidence == inspect.Unlikely && b.tables[r.To] != nil {
			b.note(fmt.Sprintf("%s.%s is not taken for a reference to %s: %s", r.Table, r.Column, r.To, sentenceOf(r.Why)))
		}
	}
}

// composite notes integers of keys of several columns that stay as narrow as they are: a plan changes those that are references, and keys of one column.
func (b *builder) composite(ctx context.Context) error {
	for _, r := range b.report.Tables {
		if r.Key != nil {
			continue
		}
		t := b.tables[r.Name]
		if t == nil && len(b.options.Tables) == 0 {
			name, err := catalog.Parse(r.Name)
			if err != nil {
				return fmt.Errorf("%w: the report's table %q: %v", ErrOption, r.Name, err)
			}
			if t, err = b.catalog.Table(ctx, name); err != nil {
				return fmt.Errorf("plan: the table %s: %w", r.Name, err)
			}
		}
		if t == nil || len(t.Key()) < 2 {
			continue
		}
		for _, c := range t.Columns {
			if slices.Contains(t.Key(), c.Name) && c.Class == catalog.Integer && c.Bits < 64 && !b.taken(r.Name, c.Name) {
				b.note(fmt.Sprintf("%s.%s keeps its %d bits, and goes on as it is: the key of %[1]s is %[4]s, and a plan changes keys of one column.", r.Name, c.Name, c.Bits, strings.Join(t.Key(), ", ")))
			}
		}
	}
	return nil
}

// columnPart returns a column as the option takes it.
func columnPart(name string) string {
	if strings.ContainsAny(name, "\"`.=:") {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return name
}

// sentenceOf returns a text with a full stop.
func sentenceOf(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// number finds the node that the new ids of old rows have, in modes in which they get any. It reads the table of grants.
func (b *builder) number(ctx context.Context) error {
	if b.options.Mode == Widen {
		return nil
	}
	name, err := catalog.Parse(b.options.Grants)
	if err != nil {
		return fmt.Errorf("%w: the table of grants %q: %v", ErrOption, b.options.Grants, err)
	}
	table, err := b.catalog.Table(ctx, name)
	if err != nil {
		return fmt.Errorf("plan: the table of grants: %w", err)
	}
	granted := map[int64]bool{}
	store := grant.SQL(b.db, b.dialect(), grant.WithTable(b.options.Grants))
	switch err := store.Check(ctx, b.options.Space); {
	case err == nil, errors.Is(err, grant.ErrTable), errors.Is(err, grant.ErrReadOnly): // what matters is what the user may who runs the plan
	case errors.Is(err, grant.ErrTwoTables):
		b.block(fmt.Sprintf("%v. A plan takes the names: --grants SCHEMA.TABLE, --space NAME.", err))
	case errors.Is(err, grant.ErrUnsafe):
		b.block(fmt.Sprintf("The node of the new ids cannot be taken: %v.", err))
	default:
		return fmt.Errorf("plan: the table of grants: %w", err)
	}
	if table != nil {
		spaces, err := store.Spaces(ctx)
		if err != nil {
			return fmt.Errorf("plan: the table of grants: %w", err)
		}
		for _, s := range spaces {
			if s.Name == b.options.Space && s.Layout != b.plan.Layout {
				return fmt.Errorf("%w: the key space %s has the layout %s, not %s", ErrOption, s.Name, s.Layout, b.plan.Layout)
			}
		}
		listing, err := store.List(ctx, b.options.Space, 0, b.options.Layout.Generators()-1)
		if err != nil {
			return fmt.Errorf("plan: the table of grants: %w", err)
		}
		if b.options.Node == nil && (listing.Gone > 0 || listing.Absent > 0) {
			return fmt.Errorf("%w: rows of the key space %s are gone, so nobody knows which nodes were never granted; name one of which you do", ErrOption, b.options.Space)
		}
		for _, row := range listing.Rows {
			granted[row.Number] = true
		}
	}
	var node int64
	if b.options.Node != nil {
		node = *b.options.Node
	} else {
		for node = b.options.Layout.Generators() - 1; node >= 0 && granted[node]; node-- {
		}
		if node < 0 {
			return fmt.Errorf("%w: each of the layout's %d nodes was granted once in the key space %s: none is left for old rows", ErrOption,
				b.options.Layout.Generators(), b.options.Space)
		}
	}
	if granted[node] {
		return fmt.Errorf("%w: node %d was granted in the key space %s: a generator may have made ids with it", ErrOption, node, b.options.Space)
	}
	b.plan.Node = node
	return nil
}

// reported reports whether the report has such an obstacle, so that it is not told twice.
func (b *builder) reported(kind, table string) bool {
	return slices.ContainsFunc(b.report.Obstacles, func(o inspect.Obstacle) bool { return o.Kind == kind && o.Table == table })
}
