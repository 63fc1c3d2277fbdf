package ddl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/shard"
)

const (
	mostShards  = 8192    // MySQL has no more partitions
	mostBuckets = 1 << 16 // of a layout whose buckets have to be listed
)

// division is a table whose declaration was checked, and its parts.
type division struct {
	Table
	form
	name  catalog.Name
	max   int64 // the greatest bucket
	shift int   // the bits of an id below the bucket's
	bits  int   // all of an id
	top   bool  // no field is above the bucket, so the ids of a part are a range
	parts []part
}

// part is a shard: a partition or a table. With the bucket on top it has the buckets first to last, else those that are first modulo step, but for
// the ones in except; a bucket that is alone has first and last the same and step 1.
type part struct {
	name        string // what is behind the name of the table; it stays when the part is split
	first, last int64
	step        int64
	except      []int64
	server      int // of Servers
}

func (p part) has(bucket int64) bool {
	return p.first <= bucket && bucket <= p.last && (bucket-p.first)%p.step == 0 && !slices.Contains(p.except, bucket)
}

// partition returns the name that a partition has where names of partitions are the table's own.
func (p part) partition() string { return "p" + p.name }

// table returns the name that a part has where it is a table.
func (d *division) table(p part) string { return d.name.Name + "_" + p.name }

// division checks the table, but for what only some engines cannot do.
func (t Table) division(e Engine) (*division, error) {
	f, err := e.form()
	if err != nil {
		return nil, err
	}
	d := &division{Table: t, form: f}
	switch d.name, err = catalog.Parse(t.Name); {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	case t.Key == "" || strings.ContainsRune(t.Key, 0):
		return nil, fmt.Errorf("%w: %q is no name of a column; Key is that of the ids", ErrTable, t.Key)
	case strings.TrimSpace(t.Columns) == "":
		return nil, fmt.Errorf("%w: %s has no columns", ErrTable, t.Name)
	case t.Layout.Bits(idgen.Shard) == 0:
		return nil, fmt.Errorf("%w: %s has no shard field; Layout is that of the ids, as idgen.Scattered or idgen.Sharded", shard.ErrLayout, t.Layout)
	}
	d.max = t.Layout.Max(idgen.Shard)
	d.bits, d.shift = t.Layout.Width(), t.Layout.Shift(idgen.Shard)
	d.top = d.shift+t.Layout.Bits(idgen.Shard) == d.bits
	if most := min(d.max+1, mostShards); t.Shards < 1 || int64(t.Shards) > most {
		return nil, fmt.Errorf("%w: %d shards, want 1 to %d", shard.ErrTables, t.Shards, most)
	}
	d.Alone = slices.Compact(slices.Sorted(slices.Values(t.Alone)))
	for _, b := range d.Alone {
		if b < 0 || b > d.max {
			return nil, fmt.Errorf("%w: bucket %d alone, the layout's are 0 to %d", shard.ErrTables, b, d.max)
		}
	}
	if d.hashed() && len(d.Alone) > 0 {
		return nil, fmt.Errorf("%w: a hash partition has all buckets of a remainder, so %s cannot have the bucket %d alone; have more shards, or the bucket on top",
			ErrTable, e, d.Alone[0])
	}
	d.divide()
	return d, nil
}

// hashed reports whether the engine divides by the operator class for the bucket.
func (d *division) hashed() bool {
	return d.engine == PostgresHash || d.engine == PostgresFDW && !d.top
}

// divide makes the parts. When the number of shards is multiplied, a part that is split keeps its name and its server for one of its halves: with
// the bucket on top a part is named by its first bucket, and else by its number.
func (d *division) divide() {
	n, digits := int64(d.Shards), len(strconv.FormatInt(d.max, 10))
	name := func(number int64) string { return fmt.Sprintf("%0*d", digits, number) }
	servers := int64(max(1, len(d.Servers)))
	if !d.top {
		for i := range n {
			p := part{name: name(i), first: i, last: d.max, step: n, server: int(i % servers)}
			for _, b := range d.Alone {
				if p.has(b) {
					p.except = append(p.except, b)
				}
			}
			d.parts = append(d.parts, p)
		}
		for _, b := range d.Alone {
			d.parts = append(d.parts, part{name: "b" + name(b), first: b, last: b, step: 1, server: int(b % n % servers)})
		}
		return
	}
	var starts []int64
	for i := range n {
		starts = append(starts, d.start(i))
	}
	for _, b := range d.Alone {
		starts = append(starts, b)
		if b < d.max {
			starts = append(starts, b+1)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	number := int64(0) // of the shard
	for i, first := range starts {
		last := d.max
		if i+1 < len(starts) {
			last = starts[i+1] - 1
		}
		for number+1 < n && d.start(number+1) <= first {
			number++
		}
		d.parts = append(d.parts, part{name: name(first), first: first, last: last, step: 1, server: int(number * servers / n)})
	}
}

// start returns the first bucket of a shard, with the bucket on top. Shard i of n begins where shard k·i of k·n does.
func (d *division) start(i int64) int64 {
	n := int64(d.Shards)
	return (d.max+1)/n*i + (d.max+1)%n*i/n
}

// split is a part of a table that grows, and the parts that it becomes: the first of them keeps its name.
type split struct {
	from part
	into []part
}

// splits returns the parts that another division splits, in their order.
func (d *division) splits(to *division) []split {
	var all []split
	for _, p := range d.parts {
		s := split{from: p}
		for _, q := range to.parts {
			if q.within(p) {
				s.into = append(s.into, q)
			}
		}
		if len(s.into) > 1 {
			all = append(all, s)
		}
	}
	return all
}

// within reports whether a part of a greater division has its buckets from a part.
func (p part) within(of part) bool {
	if p.step == 1 && p.first == p.last { // of one bucket, and perhaps alone
		return of.has(p.first)
	}
	return of.first <= p.first && p.last <= of.last && (p.first-of.first)%of.step == 0 && p.step%of.step == 0
}

// checkLists returns an error unless the engine can list the buckets of all parts, so many of each at most.
func (d *division) checkLists(most int) error {
	if d.top || d.hashed() {
		return nil
	}
	if d.max >= mostBuckets {
		return fmt.Errorf("%w: %s has %d buckets below the time, and %s lists at most %d; have the bucket on top, as in idgen.Scattered",
			shard.ErrLayout, d.Layout, d.max+1, d.engine, mostBuckets)
	}
	for _, p := range d.parts {
		switch n := len(d.listed(p)); {
		case n == 0: // all are alone
			return fmt.Errorf("%w: shard %s has no bucket left that is not alone", ErrTable, p.name)
		case n > most:
			return fmt.Errorf("%w: shard %s has %d buckets, and PostgreSQL can list %d for a partition; have more shards, or take %s",
				shard.ErrTables, p.name, n, mostListed, PostgresHash)
		}
	}
	return nil
}

// listed returns the buckets of a part.
func (d *division) listed(p part) (buckets []int64) {
	for b := p.first; b <= p.last; b += p.step {
		if p.has(b) {
			buckets = append(buckets, b)
		}
	}
	return buckets
}

// least and greatest return the bounds of the ids of a part, with the bucket on top.
func (d *division) least(p part) int64    { return p.first << d.shift }
func (d *division) greatest(p part) int64 { return (p.last+1)<<d.shift - 1 }

// bucket returns the expression for the bucket of an id, which is the name of a column, quoted, or of a parameter.
func (d *division) bucket(id string) string {
	if d.shift > 0 {
		id = "(" + id + " >> " + strconv.Itoa(d.shift) + ")"
	}
	return "(" + id + " & " + strconv.FormatInt(d.max, 10) + ")"
}

// ids returns the condition that a number is an id of the layout.
func (d *division) ids(id string) string {
	if d.bits == 63 {
		return id + " >= 0"
	}
	return id + " BETWEEN 0 AND " + strconv.FormatInt(1<<d.bits-1, 10)
}

// in returns the condition that an id is in a part.
func (d *division) in(id string, p part) string {
	switch {
	case d.top:
		return fmt.Sprintf("%s BETWEEN %d AND %d", id, d.least(p), d.greatest(p))
	case p.first == p.last:
		return fmt.Sprintf("%s = %d", d.bucket(id), p.first)
	}
	condition := fmt.Sprintf("%s %% %d = %d", d.bucket(id), p.step, p.first)
	if len(p.except) > 0 {
		condition += " AND " + d.bucket(id) + " NOT IN (" + list(p.except) + ")"
	}
	return condition
}

// constraint returns that of a table on another server, which refuses the rows of all ids but a part's, and its name.
func (d *division) constraint(of dialect.Dialect, p part) (name, text string) {
	name = of.QuoteAny(d.table(p) + "_shard")
	id := of.QuoteAny(d.Key)
	return name, "CONSTRAINT " + name + " CHECK (" + d.ids(id) + " AND " + d.in(id, p) + ")"
}

// whole returns the statement that makes the divided table, with the key as the primary key and refusing what is no id of the layout.
func (d *division) whole(of dialect.Dialect) string {
	key := of.QuoteAny(d.Key)
	return d.create(quoteIn(of, d.name.Schema, d.name.Name), primary(key), d.refusing(key))
}

// create returns a statement that makes a table of the columns, with constraints.
func (d *division) create(quotedName string, constraints ...string) string {
	// The columns may end in a comment.
	return "CREATE TABLE " + quotedName + " (\n" + d.Columns + "\n, " + strings.Join(constraints, "\n, ") + "\n)"
}

func primary(quotedKey string) string { return "PRIMARY KEY (" + quotedKey + ")" }

// refusing is the constraint that refuses what is no id of the layout.
func (d *division) refusing(quotedKey string) string { return "CHECK (" + d.ids(quotedKey) + ")" }

// resume is the note of a script whose statements are independent of each other.
const resume = "Each statement is done wholly or not at all. When one fails, mend the cause, and go on with that statement: leave out those before it, but for SET."

// patient has a session wait 5 seconds for a lock, so that nobody waits longer behind a statement that waits for somebody's transaction. There are no
// statements where there were none.
func patient(of dialect.Dialect, statements []string) []string {
	if len(statements) == 0 {
		return nil
	}
	limit := "SET lock_timeout = '5s'"
	if of == dialect.MySQL {
		limit = "SET lock_wait_timeout = 5"
	}
	return append([]string{limit}, statements...)
}

// finish adds to a script of growth how long its statements wait, and what to do when one fails.
func (s *Script) finish(of dialect.Dialect, note string) *Script {
	if len(s.Table) > 0 {
		s.Notes = append(s.Notes, note)
	}
	s.Table = patient(of, s.Table)
	for name, statements := range s.After {
		s.After[name] = patient(of, statements)
	}
	return s
}

// fits returns an error for a name that is longer than the database keeps: PostgreSQL cuts it off in silence, and the shards' numbers are at the
// end.
func fits(longest int, name string) error {
	if len(name) > longest {
		return fmt.Errorf("%w: the name %q has %d bytes, at most %d", ErrTable, name, len(name), longest)
	}
	return nil
}

// checkNames returns an error for a part whose table, with what its constraint has behind the name, has a name that is too long.
func (d *division) checkNames(longest int, behind string) error {
	for _, p := range d.parts {
		if err := fits(longest, d.table(p)+behind); err != nil {
			return err
		}
	}
	return nil
}

func list(numbers []int64) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, ",")
}

// quoteIn quotes the name of something in a schema, which is empty for the current one.
func quoteIn(d dialect.Dialect, schema, name string) string {
	return d.QuotePlace(dialect.Place{Schema: schema, Table: name})
}
