package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// pageRows is how many rows one query reads.
const pageRows = 5_000

// mostSets bounds how many sets the old rows of a table are divided into: a digest has 100 bytes for each, and is kept in the journal.
const mostSets = 512

// digest is what is noted of the old rows of a table, before the first one changes. Rows are in sets by their old ids: the set of a row is its old id
// divided by 2^Shift, rounded down, so that a difference is found in some rows, and not in a table. Rows whose old id is above Top came later, and are in no set.
type digest struct {
	Top   int64 `json:"top"`   // the greatest old id
	Shift int   `json:"shift"` // 0 to 63
	Sets  []set `json:"sets"`  // in the order of their numbers; those without rows are left out

	Latest string `json:"latest,omitempty"` // the greatest of the column that tells when a row was changed, where there is one; see tableReader.latest
}

// set is some old rows of a table.
type set struct {
	Number int64  `json:"n"`
	Rows   int64  `json:"rows"`
	Sum    string `json:"sum"` // of the rows' old ids and columns, in hexadecimal; no order of rows changes it
}

// readDigest reads what the journal keeps.
func readDigest(text string) (d digest, err error) {
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Shift < 0 || d.Shift > 63 {
		return digest{}, fmt.Errorf("verify: the journal has no digest, or one of another version: %.40q: %w", text, err)
	}
	return d, nil
}

// rows returns how many rows there are in all sets.
func (d *digest) rows() (n int64) {
	for _, s := range d.Sets {
		n += s.Rows
	}
	return n
}

// sum is a digest of rows that no order of them changes: the four words of each row's SHA-256, added up modulo 2^64, and the number of rows; on PostgreSQL the two
// halves of a hash of 64 bits, see [tableReader.hashed]. Two rows that are equal count twice, as they do not where the words are XORed.
type sum struct {
	words [4]uint64
	rows  int64
}

// Digest returns a digest of a table's old rows as text: of all columns but the key's value, which its old id stands for, references that the plan
// rewrites and that are no plain integers, documents that it rewrites ids in, columns that are computed, and those in mode shadow that it adds. Of a
// reference that is an integer it has the old id. It is the same before and after a rekey, and does not depend on the connection's settings.
//
// Old are the rows whose key is below the plan's Below, and those that the map has. Where the plan does not have the table's key, all rows there are
// now are old, and are in sets by the table's own key when that is an integer, else by a reference to a key of the plan.
//
// The error says so when there is no such table, or is the database's.
func Digest(ctx context.Context, db *sql.DB, p *plan.Plan, table string) (string, error) {
	d, err := newDatabase(db, p)
	if err != nil {
		return "", err
	}
	r, err := d.readerOf(ctx, table)
	if err != nil {
		return "", err
	}
	least, top, err := r.ends(ctx)
	if err != nil {
		return "", err
	}
	now := digest{Top: top}
	if now.Latest, err = r.latest(ctx); err != nil { // before the rows are read, so that it is not later than what a row has in the digest
		return "", err
	}
	for uint64(top>>now.Shift)-uint64(least>>now.Shift) >= mostSets {
		now.Shift++
	}
	if err := r.digest(ctx, &now); err != nil {
		return "", err
	}
	text, err := json.Marshal(now)
	return string(text), err
}

// tableReader is how the old rows of one table are read.
type tableReader struct {
	*database
	table     string     // as statements have it
	changedAt *changedAt // nil when no column tells when a row was changed
	columns   []string   // expressions whose values are texts, or NULL
	parts     []part
	anchor    string // what the sets are by, for people; empty when all rows are in one set
}

// part is some rows of a table, which is called t.
type part struct {
	old   string // the expression for a row's old id, or what stands for it
	page  string // a number that no two rows have, along which they are read; empty to read all by one query
	from  string // beginning with FROM
	where string // beginning with AND, or empty
}

// readerOf finds out how a table is read.
func (d *database) readerOf(ctx context.Context, table string) (*tableReader, error) {
	t, err := d.table(ctx, table)
	if err != nil {
		return nil, err
	}
	r := &tableReader{database: d, table: d.catalog.Quoted(t.Name)}
	if r.changedAt, err = d.findChangedAt(ctx, t); err != nil {
		return nil, err
	}
	if r.columns, err = d.columns(ctx, t, table); err != nil {
		return nil, err
	}
	from := " FROM " + r.table + " t"
	if k := d.plan.Key(table); k != nil {
		id := "t." + d.catalog.Quote(k.Column)
		r.anchor = k.Column
		r.parts = []part{{id, id, from, " AND " + id + " < " + d.number(k.Below)}}
		m, err := d.mapOf(ctx, k)
		if err != nil || m == "" {
			return r, err
		}
		// Rows that have their new ids: none of these is below Below.
		r.parts = append(r.parts, part{"m.old_id", "m.old_id", " FROM " + m + " m JOIN" + strings.TrimPrefix(from, " FROM") + " ON " + id + " = m.new_id", " AND m.new_id >= " + d.number(k.Below)})
		return r, nil
	}
	if c := d.ownKey(t, table); c != "" {
		r.anchor = c
		r.parts = []part{{"t." + d.catalog.Quote(c), "t." + d.catalog.Quote(c), from, ""}}
		return r, nil
	}
	all := part{old: "0", from: from}
	if d.dialect == dialect.SQLite && !t.Rowless { // so that no reader is in the way of writers
		all.page = "t._rowid_"
	}
	for _, ref := range d.plan.References {
		k := d.plan.Key(ref.To)
		if ref.Table != table || k == nil || k.Column != ref.ToColumn || !d.plain(t, ref) {
			continue
		}
		old, err := d.oldOf(ctx, k, "t."+d.catalog.Quote(ref.Column))
		if err != nil {
			return nil, err
		}
		r.anchor, all.old = ref.Column, "COALESCE("+old+", 0)"
		all.where = " AND " + all.old + " < " + d.number(k.Below) // what refers to rows that came since came since itself
		break
	}
	r.parts = []part{all}
	return r, nil
}

// mapOf returns a key's map as statements have it, empty before it is made and after it was dropped.
func (d *database) mapOf(ctx context.Context, k *plan.Key) (string, error) {
	if k.Map == "" {
		return "", nil
	}
	m, err := d.find(ctx, k.Map)
	if err != nil || m == nil {
		return "", err
	}
	return d.catalog.Quoted(m.Name), nil
}

// oldOf returns the expression for the old id that an id of a key stands for.
func (d *database) oldOf(ctx context.Context, k *plan.Key, value string) (string, error) {
	m, err := d.mapOf(ctx, k)
	if err != nil || m == "" {
		return value, err
	}
	return "COALESCE((SELECT m.old_id FROM " + m + " m WHERE m.new_id = " + value + "), " + value + ")", nil
}

// plain reports whether a reference is an integer column of which each value is an id.
func (d *database) plain(t *catalog.Table, r plan.Reference) bool {
	c := t.Column(r.Column, false)
	return c != nil && c.Class == catalog.Integer && r.Path == "" && r.OwnerType == "" && !r.Text
}

// ownKey returns the column of a table that is its whole key, an integer, and that the plan does not change.
func (d *database) ownKey(t *catalog.Table, table string) string {
	for _, i := range t.Indexes {
		if !i.Primary || len(i.Columns) != 1 {
			continue
		}
		c := t.Column(i.Columns[0], false)
		if c == nil || c.Class != catalog.Integer || c.Unsigned && c.Bits >= 64 ||
			slices.ContainsFunc(d.plan.References, func(r plan.Reference) bool { return r.Table == table && r.Column == c.Name }) {
			continue
		}
		return c.Name
	}
	return ""
}

// wide makes an expression one of 64 bits on PostgreSQL, whatever the key's type: clients keep statements, and fail where a result's type has changed.
func (d *database) wide(expression string) string {
	if d.dialect == dialect.Postgres {
		return "CAST(" + expression + " AS bigint)"
	}
	return expression
}

// ends returns the least and the greatest old id; the greatest is the least number of 64 bits when there are no rows.
func (r *tableReader) ends(ctx context.Context) (least, top int64, err error) {
	least, top = 0, math.MinInt64
	for i, p := range r.parts {
		var from, upto sql.NullInt64
		query := "SELECT " + r.wide("MIN("+p.old+")") + ", " + r.wide("MAX("+p.old+")") + p.from + " WHERE 1 = 1" + p.where
		if err := r.database.read(ctx, query, func(rows *sql.Rows) error { return rows.Scan(&from, &upto) }); err != nil {
			return 0, 0, err
		}
		if !upto.Valid {
			continue
		}
		if i == 0 || top == math.MinInt64 {
			least = from.Int64
		}
		least, top = min(least, from.Int64), max(top, upto.Int64)
	}
	if top == math.MinInt64 {
		least = top
	}
	return least, top, nil
}

// digest fills the sets of a digest, whose Top and Shift are given.
func (r *tableReader) digest(ctx context.Context, d *digest) error {
	sums := map[int64]*sum{}
	pages := r.pages
	if r.dialect == dialect.Postgres {
		pages = r.hashed
	}
	for _, p := range r.parts {
		if err := pages(ctx, p, d, sums); err != nil {
			return err
		}
	}
	d.Sets = make([]set, 0, len(sums))
	for n, s := range sums {
		d.Sets = append(d.Sets, set{n, s.rows, fmt.Sprintf("%016x%016x%016x%016x", s.words[0], s.words[1], s.words[2], s.words[3])})
	}
	slices.SortFunc(d.Sets, func(x, y set) int { return cmp.Compare(x.Number, y.Number) })
	return nil
}

// pages reads the rows of a part in the order of a number, or all by one query where there is none.
func (r *tableReader) pages(ctx context.Context, p part, d *digest, sums map[int64]*sum) error {
	var id, old int64
	var row []byte
	values := make([]sql.RawBytes, len(r.columns))
	targets := []any{&id, &old}
	for i := range values {
		targets = append(targets, &values[i])
	}
	for after, more := int64(math.MinInt64), true; more; after = id {
		query := "SELECT " + strings.Join(append([]string{"0", r.wide(p.old)}, r.columns...), ", ") + p.from + " WHERE 1 = 1" + p.where
		if p.page != "" {
			where := " WHERE " + p.page + " > " + r.number(after) + p.where
			if p.page == p.old {
				where += " AND " + p.page + " <= " + r.number(d.Top)
			}
			query = "SELECT " + strings.Join(append([]string{r.wide(p.page), r.wide(p.old)}, r.columns...), ", ") + p.from + where + " ORDER BY " + p.page + " LIMIT " + strconv.Itoa(pageRows)
		}
		n := 0
		err := r.database.read(ctx, query, func(rows *sql.Rows) error {
			if err := rows.Scan(targets...); err != nil {
				return err
			}
			n++
			if old > d.Top {
				return nil
			}
			s := sums[old>>d.Shift]
			if s == nil {
				s = &sum{}
				sums[old>>d.Shift] = s
			}
			row = s.add(row[:0], old, values)
			return nil
		})
		if err != nil {
			return err
		}
		more = p.page != "" && n == pageRows
	}
	return nil
}

// hashedRows is how many rows PostgreSQL adds up by one query: it holds no old version of a row for longer than that takes.
const hashedRows = 200_000

// hashed has PostgreSQL add up the rows of a part, which takes a third of the time that reading them does. A row's hash begins with its old id, and each column's text
// is hashed with that of the columns before it as the seed.
func (r *tableReader) hashed(ctx context.Context, p part, d *digest, sums map[int64]*sum) error {
	old, page, limit := r.wide(p.old), "0", ""
	if p.page != "" {
		page, limit = r.wide(p.page), " ORDER BY "+p.page+" LIMIT "+strconv.Itoa(hashedRows)
	}
	hash := old
	for _, c := range r.columns {
		hash = "hashtextextended(COALESCE('1' || " + c + ", '0') COLLATE \"C\", " + hash + ")"
	}
	for after, more := int64(math.MinInt64), true; more; {
		where := " WHERE 1 = 1" + p.where
		if p.page != "" {
			where = " WHERE " + p.page + " > " + r.number(after) + " AND " + p.page + " <= " + r.number(d.Top) + p.where
		}
		query := fmt.Sprintf("SELECT MAX(page), old >> %d, COUNT(*), CAST(SUM(hash >> 32) AS bigint), CAST(SUM(hash & 4294967295) AS bigint) FROM (SELECT %s AS page, %s AS old, %s AS hash%s%s%s) r WHERE old <= %s GROUP BY 2",
			d.Shift, page, old, hash, p.from, where, limit, r.number(d.Top))
		read := int64(0)
		err := r.database.read(ctx, query, func(rows *sql.Rows) error {
			var last, number, n, high, low int64
			if err := rows.Scan(&last, &number, &n, &high, &low); err != nil {
				return err
			}
			s := sums[number]
			if s == nil {
				s = &sum{}
				sums[number] = s
			}
			s.words[0], s.words[1], s.rows = s.words[0]+uint64(high), s.words[1]+uint64(low), s.rows+n
			after, read = max(after, last), read+n
			return nil
		})
		if err != nil {
			return err
		}
		more = p.page != "" && read == hashedRows
	}
	return nil
}

// add adds a row, and returns what it was made to. NULL, the empty text, and two columns whose values are one column's value, differ: each value has its
// length before it.
func (s *sum) add(row []byte, id int64, values []sql.RawBytes) []byte {
	row = binary.LittleEndian.AppendUint64(row, uint64(id))
	for _, v := range values {
		if v == nil {
			row = append(row, 0)
			continue
		}
		row = append(row, 1)
		row = binary.AppendUvarint(row, uint64(len(v)))
		row = append(row, v...)
	}
	hash := sha256.Sum256(row)
	for i := range s.words {
		s.words[i] += binary.LittleEndian.Uint64(hash[8*i:])
	}
	s.rows++
	return row
}

// columns returns what gives the values of the columns that a digest is of, in the order of their names: a swap changes the order that they have in the table.
func (d *database) columns(ctx context.Context, t *catalog.Table, name string) (expressions []string, err error) {
	out := map[string]bool{}
	leave := func(columns ...string) {
		for _, c := range columns {
			out[c] = true // an empty name is no column's
		}
	}
	for _, k := range d.plan.Keys {
		if k.Table == name {
			leave(k.Column, k.Shadow, k.Old)
		}
	}
	olds := map[string]string{}
	for _, r := range d.plan.References {
		k := d.plan.Key(r.To)
		if r.Table != name || !(k != nil && k.Map != "" || r.Shadow != "") {
			continue
		}
		if k != nil && k.Column == r.ToColumn && d.plain(t, r) && !out[r.Column] {
			if olds[r.Column], err = d.oldOf(ctx, k, "t."+d.catalog.Quote(r.Column)); err != nil {
				return nil, err
			}
		}
		leave(r.Column, r.Shadow, r.Old)
	}
	columns := slices.Clone(t.Columns)
	slices.SortFunc(columns, func(a, b *catalog.Column) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range columns {
		switch {
		case olds[c.Name] != "":
			expressions = append(expressions, d.expression(c, olds[c.Name]))
		case !out[c.Name] && c.Generated == "":
			expressions = append(expressions, d.expression(c, "t."+d.catalog.Quote(c.Name)))
		}
	}
	return expressions, nil
}

// expression returns what gives a column's value as a text or bytes, the same whatever the connection's zone, character set and formats.
func (d *database) expression(c *catalog.Column, value string) string {
	switch d.dialect {
	case dialect.SQLite: // a value's type is part of it; quote cuts a text at its first NUL
		return "CASE typeof(" + value + ") WHEN 'null' THEN NULL WHEN 'text' THEN 't' || hex(" + value + ") ELSE quote(" + value + ") END"
	case dialect.Postgres:
		return "CAST(" + value + " AS text)" // of a session that read sets up
	}
	switch {
	case strings.HasPrefix(strings.ToLower(c.Type), "timestamp"):
		return "UNIX_TIMESTAMP(" + value + ")"
	case c.Class == catalog.Floating:
		return "CAST(" + value + " + 0e0 AS CHAR)"
	case c.Class == catalog.JSON:
		return "CAST(" + value + " AS CHAR)"
	}
	return "CAST(" + value + " AS BINARY)"
}
