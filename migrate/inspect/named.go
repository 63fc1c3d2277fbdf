package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/jinzhu/inflection"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// findNamed finds columns that are named after a table: customer_id and customerId after customers, order_item_id after order_items;
// and those of which only a part is: billing_customer_id, customer_id after shop_customers, parent_id after the table that it is in.
func (i *inspector) findNamed(ctx context.Context) error {
	for _, s := range i.subjects {
		if s.View != "" {
			continue
		}
		for _, col := range s.Columns {
			stem, many := stemOf(col.Name)
			if len(stem) == 0 {
				continue
			}
			parents, weak := i.named(s, stem)
			for _, parent := range parents {
				if parent == s && col == s.key {
					continue
				}
				switch {
				case many || strings.HasSuffix(col.Type, "[]"):
					i.addList(s, col, parent)
				case holdsIDs(col):
					i.add(&candidate{
						child: s, parent: parent, column: col, to: parent.key, weak: weak || !separated(col.Name),
						Reference: Reference{Origin: Named, Why: fmt.Sprintf("%s reads as a key of %s", col.Name, parent.Name)},
					})
				}
			}
		}
	}
	return ctx.Err()
}

// addList notes a column with several ids in each value, which no mode rewrites.
func (i *inspector) addList(s *subject, col *catalog.Column, parent *subject) {
	if !parent.wanted || col.Class == catalog.Integer {
		return
	}
	for _, t := range i.given {
		if t.none && t.from == s && t.to == parent && strings.EqualFold(t.column, col.Name) {
			return
		}
	}
	i.obstacle(s, Obstacle{
		Column: col.Name, Kind: "list", Name: col.Name, Text: fmt.Sprintf("it reads as a list of keys of %s, which is not rewritten", parent.Name),
		Do: "rewrite it by the map of old ids to new ones, and accept it; or accept it when it is none", Blocks: rewriting,
	})
}

// stemOf returns the words of a column's name before id or ids; none when it does not end so.
func stemOf(column string) (stem []string, many bool) {
	w := words(column)
	if len(w) == 0 {
		return nil, false
	}
	switch last := w[len(w)-1]; {
	case last == "id":
		return w[:len(w)-1], false
	case last == "ids":
		return w[:len(w)-1], true
	case len(w) == 1 && len(last) > 3 && strings.HasSuffix(last, "id"):
		return []string{strings.TrimSuffix(last, "id")}, false
	}
	return nil, false
}

// separated reports whether a column's name has its id as a word of its own, unlike paid and customerid.
func separated(column string) bool {
	w := words(column)
	return len(w) > 1
}

// singular joins words, the last of which is put in the singular.
func (i *inspector) singular(w []string) string {
	if len(w) == 0 {
		return ""
	}
	last := w[len(w)-1]
	one, ok := i.singulars[last]
	if !ok { // it takes dozens of regular expressions, and schemas have hundreds of tables
		one = inflection.Singular(last)
		i.singulars[last] = one
	}
	return strings.Join(w[:len(w)-1], "") + one
}

// named returns the tables with a key that words are the name of. It is weak when they are so in part only.
func (i *inspector) named(s *subject, stem []string) (tables []*subject, weak bool) {
	exact := i.singular(stem)
	for _, p := range i.subjects {
		if p.key != nil && (i.singular(p.words) == exact || strings.EqualFold(p.Name.Name, strings.Join(stem, "_"))) {
			tables = append(tables, p)
		}
	}
	if len(tables) > 0 {
		return tables, len(tables) > 1 || tables[0] == s
	}
	if exact == "parent" && s.key != nil {
		return []*subject{s}, true
	}
	best := 0
	for _, p := range i.subjects {
		if p.key == nil {
			continue
		}
		w := p.words
		for n := 1; n < len(stem); n++ { // the table is the end of the column's words
			if rest := stem[n:]; i.singular(rest) == i.singular(w) {
				tables, best = longest(tables, p, best, len(rest))
			}
		}
		for n := 1; n < len(w); n++ { // the column is the end of the table's words
			if i.singular(w[n:]) == exact {
				tables, best = longest(tables, p, best, len(stem))
			}
		}
	}
	return tables, true
}

// longest adds a table to those that match as many words, or puts it in the place of those that match fewer.
func longest(tables []*subject, p *subject, best, length int) ([]*subject, int) {
	switch {
	case length > best:
		return []*subject{p}, length
	case length == best:
		return append(tables, p), best
	}
	return tables, best
}
