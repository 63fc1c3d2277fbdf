package inspect

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

const (
	rounds  = 5    // the range of keys is halved so often for a sample, into 32 parts
	deep    = 5000 // rows that are read of each part when few of them have a value
	inChunk = 500  // keys that are looked up at once
	hardly  = 0.1  // the share of sampled values that are keys, below which it is unlikely
)

// span is a range of values that are in a table, both ends included.
type span struct{ low, high int64 }

// spans returns up to 32 parts of the range of an indexed column, each of which begins and ends with a value that is there. A gap, as
// between old ids and snowflakes, is in none of them.
func (i *inspector) spans(ctx context.Context, s *subject, col *catalog.Column) ([]span, error) {
	if found, ok := s.spans[col.Name]; ok {
		return found, nil
	}
	name, table := i.quote(col.Name), i.quoted(s)
	end := func(what string, where string) (int64, bool, error) {
		found, err := i.texts(ctx, "SELECT "+i.text(what+"("+name+")")+" FROM "+table+where)
		if err != nil || len(found) == 0 {
			return 0, false, err
		}
		n, err := strconv.ParseInt(found[0], 10, 64)
		if err != nil {
			n = math.MaxInt64 // an unsigned one
		}
		return n, true, nil
	}
	low, ok, err := end("MIN", "")
	if err != nil || !ok {
		return nil, err
	}
	high, ok, err := end("MAX", "")
	if err != nil || !ok {
		return nil, err
	}
	spans := []span{{low, high}}
	for range rounds {
		var parts []span
		for _, p := range spans {
			if p.low >= p.high || len(spans)*2 > i.options.Sample {
				parts = append(parts, p)
				continue
			}
			middle := decimal(p.low + int64(uint64(p.high-p.low)/2))
			before, ok, err := end("MAX", " WHERE "+name+" <= "+middle)
			if err != nil {
				return nil, err
			}
			if ok {
				parts = append(parts, span{p.low, before})
			}
			after, ok, err := end("MIN", " WHERE "+name+" > "+middle)
			if err != nil {
				return nil, err
			}
			if ok {
				parts = append(parts, span{after, p.high})
			}
		}
		spans = parts
	}
	if s.spans == nil {
		s.spans = map[string][]span{}
	}
	s.spans[col.Name] = spans
	return spans, nil
}

// orderOf returns a column of integers by which rows can be found through an index, nil when there is none.
func (i *inspector) orderOf(s *subject) *catalog.Column {
	if s.key != nil {
		return s.key
	}
	for _, x := range s.Indexes {
		if x.Valid && x.Where == "" && len(x.Columns) > 0 {
			if col := i.column(s, x.Columns[0]); col != nil && col.Class == catalog.Integer && x.Columns[0] != "" {
				return col
			}
		}
	}
	return nil
}

// sample returns values of a reference from all over the table, as texts, without NULL, 0 and empty ones. It reports whether they are only
// from the rows that the database gives first.
func (i *inspector) sample(ctx context.Context, c *candidate) (values []string, first bool, err error) {
	s := c.child
	value := i.raw(c)
	owner, where := "NULL", "v IS NOT NULL AND v NOT IN ('', '0', 'null', '\"\"', '\"0\"')"
	if c.Path != "" {
		where += " AND v NOT LIKE '{%' AND v NOT LIKE '[%'"
	}
	var args []any
	if c.ownerType != nil {
		owner = i.quote(c.ownerType.Name)
		where += " AND o = " + i.mark(1)
		args = []any{c.Owner}
	}
	inner := "SELECT " + value + " AS v, " + owner + " AS o FROM " + i.quoted(s)
	order := i.orderOf(s)
	if order == nil {
		if s.small {
			step := max(1, s.rows/int64(i.options.Sample))
			query := fmt.Sprintf("SELECT v FROM (SELECT v, ROW_NUMBER() OVER () AS n FROM (%s) a WHERE %s) b WHERE n %% %d = 0 OR n <= 100 LIMIT %d", inner, where, step, i.options.Sample+100)
			values, err = i.texts(ctx, query, args...)
			return values, false, err
		}
		values, err = i.texts(ctx, fmt.Sprintf("SELECT v FROM (%s LIMIT %d) a WHERE %s LIMIT %d", inner, deep*(1<<rounds), where, i.options.Sample), args...)
		return values, true, err
	}
	spans, err := i.spans(ctx, s, order)
	if err != nil || len(spans) == 0 {
		return nil, false, err
	}
	each := (i.options.Sample + len(spans) - 1) / len(spans)
	for _, window := range []int{each, max(each, deep)} {
		values = nil
		for _, p := range spans {
			name := i.quote(order.Name)
			found, err := i.texts(ctx, fmt.Sprintf("SELECT v FROM (%s WHERE %s BETWEEN %d AND %d ORDER BY %s LIMIT %d) a WHERE %s LIMIT %d",
				inner, name, p.low, p.high, name, window, where, each), args...)
			if err != nil {
				return nil, false, err
			}
			values = append(values, found...)
		}
		if len(values) >= i.options.Sample/10 {
			break
		}
	}
	return values, false, nil
}

// idOf reads an id as a column may have it: a number, or its text, or its text in JSON.
func idOf(value string) (int64, bool) {
	value = strings.Trim(value, `"`)
	if whole, fraction, ok := strings.Cut(value, "."); ok && strings.Trim(fraction, "0") == "" {
		value = whole // a decimal
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil {
		return n, strconv.FormatInt(n, 10) == value
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<63 && strings.ContainsAny(value, "eE") {
		return int64(f), true
	}
	return 0, false
}

// confirm looks whether sampled values of an undeclared reference are keys of the other table, and says how sure that makes it.
func (i *inspector) confirm(ctx context.Context, c *candidate) error {
	if c.Origin == Declared {
		return nil
	}
	values, first, err := i.sample(ctx, c)
	if err != nil {
		return err
	}
	distinct := map[string]bool{}
	ids := map[int64]bool{}
	for _, v := range values {
		distinct[v] = true
		if id, ok := idOf(v); ok {
			ids[id] = true
		}
		if c.Path != "" && strings.HasPrefix(v, `"`) {
			c.Text = true
		}
	}
	found, err := i.keysAmong(ctx, c.parent, ids)
	if err != nil {
		return err
	}
	all := len(distinct)
	looked := "values that were looked at"
	if first {
		looked = "values in the first rows"
	}
	switch {
	case all == 0:
		c.Why += "; there are no values to look at"
	case found == all:
		c.Why += fmt.Sprintf("; all %s different %s are keys there", group(int64(all)), looked)
	default:
		c.Why += fmt.Sprintf("; %s of %s different %s are keys there", group(int64(found)), group(int64(all)), looked)
	}
	if c.Confidence == Certain {
		return nil
	}
	switch {
	case all == 0:
		c.Confidence = Possible
	case float64(found) < hardly*float64(all):
		c.Confidence = Unlikely
	case found < all || first:
		c.Confidence = Possible
	case c.weak:
		c.Confidence = Possible
		c.Why += ", but the name fits only in part, or fits several tables"
	default:
		c.Confidence = Likely
	}
	return nil
}

// keysAmong counts those of ids that are keys of a table.
func (i *inspector) keysAmong(ctx context.Context, s *subject, ids map[int64]bool) (int, error) {
	found := 0
	var list []string
	look := func() error {
		if len(list) == 0 {
			return nil
		}
		n, err := i.number(ctx, "SELECT COUNT(*) FROM "+i.quoted(s)+" WHERE "+i.quote(s.key.Name)+" IN ("+strings.Join(list, ", ")+")")
		found += int(n)
		list = list[:0]
		return err
	}
	for id := range ids {
		if list = append(list, decimal(id)); len(list) == inChunk {
			if err := look(); err != nil {
				return 0, err
			}
		}
	}
	return found, look()
}

// group writes a number with commas between thousands.
func group(n int64) string {
	text := decimal(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
