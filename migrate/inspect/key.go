package inspect

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	fewRows = 100_000    // tables that are estimated to have fewer are counted
	maxRows = 10_000_000 // tables with more are not read as a whole
)

// readKeys finds the keys of all tables, and reads how full those are that were asked for.
func (i *inspector) readKeys(ctx context.Context) error {
	for n, s := range i.subjects {
		i.progress(n, len(i.subjects), "reading the keys of "+s.Name.String())
		if err := i.readKey(ctx, s); err != nil {
			return fmt.Errorf("reading the keys of %s: %w", s.Name, err)
		}
	}
	return nil
}

// late reads the keys of a table that was found after the others.
func (i *inspector) late(ctx context.Context, name catalog.Name) (*subject, error) {
	before := len(i.subjects)
	s, err := i.subject(ctx, name)
	if err != nil || len(i.subjects) == before {
		return s, err
	}
	return s, i.readKey(ctx, s)
}

func (i *inspector) readKey(ctx context.Context, s *subject) error {
	if s.keyed {
		return nil
	}
	s.keyed = true
	s.report = Table{Name: s.Name.String(), Bytes: s.Bytes}
	if s.View != "" {
		s.report.NoKey = "it is a " + s.View
		return nil
	}
	s.key, s.report.NoKey = i.keyOf(s)
	if s.key != nil {
		if err := i.readEnds(ctx, s); err != nil {
			return err
		}
	}
	if err := i.countRows(ctx, s); err != nil || !s.wanted {
		return err
	}
	i.findCreated(s)
	if s.created != nil {
		if err := i.readCreated(ctx, s); err != nil {
			return err
		}
	}
	if s.key == nil {
		return nil
	}
	limit := limitOf(s.key, i.dialect)
	k := &Key{
		Column: s.key.Name, Type: s.key.Type, Bits: s.key.Bits, Unsigned: s.key.Unsigned, Auto: s.key.Auto, Least: s.least, Greatest: s.greatest, Limit: limit,
	}
	reached := max(s.greatest, 0)
	if k.Auto != "" {
		reached = max(reached, s.Next-1)
	}
	if k.Used = min(1, float64(reached)/float64(limit)); s.beyond {
		k.Used = 1
	}
	s.report.Key = k
	if s.created == nil || s.empty || s.beyond {
		return nil
	}
	perDay, err := i.rate(ctx, s)
	if err != nil {
		return err
	}
	if k.PerDay = perDay; perDay > 0 {
		k.DaysLeft = max(0, float64(limit)-float64(reached)) / perDay
	}
	return nil
}

// keyOf returns the column that alone identifies the rows of a table, or why there is none.
func (i *inspector) keyOf(s *subject) (*catalog.Column, string) {
	primary := s.Key()
	var why string
	switch {
	case len(primary) == 1:
		col := i.column(s, primary[0])
		if col != nil && col.Class == catalog.Integer {
			return col, ""
		}
		why = "the primary key " + primary[0] + " is no integer"
		if col != nil {
			why = fmt.Sprintf("the primary key %s is no integer, but %s", col.Name, col.Type)
		}
	case len(primary) > 1:
		why = "the primary key is composite: " + strings.Join(primary, ", ")
	default:
		why = "there is no primary key"
	}
	for _, col := range s.Columns {
		if strings.EqualFold(col.Name, "id") && col.Class == catalog.Integer && !col.Nullable && s.unique(col.Name) {
			return col, ""
		}
	}
	return nil, why + ", and there is no integer id that is NOT NULL and unique by itself"
}

// limitOf returns the greatest number that fits into a column, and that its sequence gives. An integer of SQLite has 64 bits, whatever
// its type is called.
func limitOf(col *catalog.Column, d dialect.Dialect) uint64 {
	bits := col.Bits
	if d == dialect.SQLite || bits <= 0 || bits > 64 {
		bits = 64
	}
	limit := uint64(math.MaxUint64) >> (64 - bits)
	if !col.Unsigned {
		limit >>= 1
	}
	if col.SequenceBits > 0 && col.SequenceBits <= 64 {
		limit = min(limit, uint64(math.MaxInt64)>>(64-col.SequenceBits))
	}
	return limit
}

// readEnds reads the least and the greatest key, which are at the ends of an index. On SQLite, where a column that is not the rowid can
// hold anything, texts come after all numbers and NULL before them.
func (i *inspector) readEnds(ctx context.Context, s *subject) error {
	key := i.quote(s.key.Name)
	s.empty = true
	for _, end := range []string{"", " DESC"} {
		kind := "'integer'"
		if i.dialect == dialect.SQLite {
			kind = "typeof(" + key + ")"
		}
		var value, is string
		found := false
		err := i.catalog.Each(ctx, "SELECT COALESCE("+i.text("t."+key)+", ''), "+kind+" FROM "+i.quoted(s)+" t ORDER BY t."+key+end+" LIMIT 1", nil, []any{&value, &is}, func() error {
			found = true
			return nil
		})
		if err != nil || !found {
			return err
		}
		if is != "integer" {
			s.report.NoKey = fmt.Sprintf("the column %s has values that are no integers, such as one of the type %s", s.key.Name, is)
			s.key = nil
			return nil
		}
		s.empty = false
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			if _, big := strconv.ParseUint(value, 10, 64); big != nil {
				return err
			}
			n, s.beyond = math.MaxInt64, true
		}
		if end == "" {
			s.least = n
		} else {
			s.greatest = n
		}
	}
	return nil
}

// countRows counts a table's rows when they are few, and takes the database's estimate otherwise. An estimate of few may be an old one, or
// there may be none: then rows are counted up to what is read as a whole, and a table with more has at least that many.
func (i *inspector) countRows(ctx context.Context, s *subject) error {
	s.rows = s.Rows
	exact := false
	for _, limit := range []int64{fewRows, maxRows} {
		if s.Rows >= fewRows {
			break
		}
		counted, err := i.number(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+i.quoted(s)+" LIMIT "+decimal(limit+1)+") counted")
		if err != nil {
			return err
		}
		s.rows = counted
		if exact = counted <= limit; exact {
			s.small = limit == fewRows
			break
		}
	}
	s.report.Rows, s.report.Exact = s.rows, exact
	return nil
}

// huge reports whether a table is too large to be read as a whole.
func (s *subject) huge() bool { return s.rows > maxRows }

// words are the words of a name in small letters: order_item_id, orderItemID and OrderItemId are all order, item, id.
func words(name string) (found []string) {
	letters := []rune(name)
	var word []rune
	end := func() {
		if len(word) > 0 {
			found = append(found, strings.ToLower(string(word)))
		}
		word = nil
	}
	for n, r := range letters {
		if slices.Contains([]rune("_-. "), r) {
			end()
			continue
		}
		upper := func(n int) bool { return n >= 0 && n < len(letters) && letters[n] >= 'A' && letters[n] <= 'Z' }
		lower := func(n int) bool { return n >= 0 && n < len(letters) && letters[n] >= 'a' && letters[n] <= 'z' }
		if upper(n) && n > 0 && (!upper(n-1) || lower(n+1)) {
			end()
		}
		word = append(word, r)
	}
	end()
	return found
}
