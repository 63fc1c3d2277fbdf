package verify

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// pageRows is how many rows one query reads.
const pageRows = 5_000

// sum is a digest of rows that no order of them changes: the four words of each row's SHA-256, added up modulo 2^64, and the number of rows. Two rows that
// are equal count twice, as they do not where the words are XORed.
type sum struct {
	words [4]uint64
	rows  int64
	row   []byte
}

// add adds a row. NULL, the empty text, and two columns whose values are one column's value, differ: each value has its length before it.
func (s *sum) add(id int64, values []sql.RawBytes) {
	s.row = binary.LittleEndian.AppendUint64(s.row[:0], uint64(id))
	for _, v := range values {
		if v == nil {
			s.row = append(s.row, 0)
			continue
		}
		s.row = append(s.row, 1)
		s.row = binary.AppendUvarint(s.row, uint64(len(v)))
		s.row = append(s.row, v...)
	}
	hash := sha256.Sum256(s.row)
	for i := range s.words {
		s.words[i] += binary.LittleEndian.Uint64(hash[8*i:])
	}
	s.rows++
}

// String returns the number of rows, a colon, and the words in hexadecimal.
func (s *sum) String() string {
	return fmt.Sprintf("%d:%016x%016x%016x%016x", s.rows, s.words[0], s.words[1], s.words[2], s.words[3])
}

// Digest returns a digest of a table's rows that no order of rows changes: of all columns but the key's value, which its old id stands for, references
// that the plan rewrites, documents that it rewrites ids in, columns that are computed, and those in mode shadow that it adds. Rows that are not old are
// not in it, where the plan has the table's key; else all rows are. It is the same before and after a rekey, and does not depend on the connection's
// settings. It begins with the number of rows and a colon. The error says so when there is no such table, or is the database's.
func Digest(ctx context.Context, db *sql.DB, p *plan.Plan, table string) (string, error) {
	d, err := newDatabase(db, p)
	if err != nil {
		return "", err
	}
	return d.digest(ctx, table)
}

func (d *database) digest(ctx context.Context, table string) (string, error) {
	t, err := d.table(ctx, table)
	if err != nil {
		return "", err
	}
	r := &reading{database: d, of: t, columns: d.columns(t, table)}
	if r.columns == nil {
		r.columns = []string{"NULL"}
	}
	k := d.plan.Key(table)
	if k == nil {
		if err := r.all(ctx); err != nil {
			return "", err
		}
		return r.sum.String(), nil
	}
	r.keyed = true
	id := "t." + d.catalog.Quote(k.Column)
	head := " FROM " + d.catalog.Quoted(t.Name) + " t"
	if err := r.pages(ctx, id, head, " AND "+id+" < "+strconv.FormatInt(k.Below, 10)); err != nil {
		return "", err
	}
	if k.Map == "" {
		return r.sum.String(), nil
	}
	m, err := d.find(ctx, k.Map)
	if err != nil || m == nil {
		return r.sum.String(), err // before the map is made, and after it was dropped
	}
	// Rows that have their new ids: none of these is below Below.
	err = r.pages(ctx, "m.old_id", " FROM "+d.catalog.Quoted(m.Name)+" m JOIN "+d.catalog.Quoted(t.Name)+" t ON "+id+" = m.new_id",
		" AND m.new_id >= "+strconv.FormatInt(k.Below, 10))
	return r.sum.String(), err
}

// reading reads the rows of one table.
type reading struct {
	*database
	of      *catalog.Table
	keyed   bool     // the rows have old ids
	columns []string // expressions whose values are texts, or NULL
	sum     sum
	values  []sql.RawBytes
	targets []any
	id      int64
}

// all reads a table that has no key by which it can be read in pages: by SQLite's number of a row where it has one, so that no reader is in the
// way of writers, and else by one query.
func (r *reading) all(ctx context.Context) error {
	head := " FROM " + r.catalog.Quoted(r.of.Name) + " t"
	if r.dialect == dialect.SQLite && !r.of.Rowless {
		return r.pages(ctx, "t._rowid_", head, "")
	}
	_, err := r.read(ctx, "SELECT 0, "+strings.Join(r.columns, ", ")+head)
	return err
}

// pages reads rows in the order of a number.
func (r *reading) pages(ctx context.Context, id, from, where string) error {
	number := id
	if r.dialect == dialect.Postgres {
		number += "::bigint" // whatever the key's type: clients keep statements, and fail where a result's type has changed
	}
	for after, more := int64(math.MinInt64), true; more; after = r.id {
		n, err := r.read(ctx, "SELECT "+number+", "+strings.Join(r.columns, ", ")+from+" WHERE "+id+" > "+r.number(after)+where+
			" ORDER BY "+id+" LIMIT "+strconv.Itoa(pageRows))
		if err != nil {
			return err
		}
		more = n == pageRows
	}
	return nil
}

// read adds the rows of a query, and returns how many there were.
func (r *reading) read(ctx context.Context, query string) (n int, err error) {
	err = r.database.read(ctx, query, func(rows *sql.Rows) error {
		if r.targets == nil {
			r.values = make([]sql.RawBytes, len(r.columns))
			r.targets = []any{&r.id}
			for i := range r.values {
				r.targets = append(r.targets, &r.values[i])
			}
		}
		if err := rows.Scan(r.targets...); err != nil {
			return err
		}
		n++
		if r.keyed {
			r.sum.add(r.id, r.values)
		} else {
			r.sum.add(0, r.values)
		}
		return nil
	})
	return n, err
}

// columns returns what gives the values of the columns that a digest is of, in the order of their names: a swap changes the order that they have in the table.
func (d *database) columns(t *catalog.Table, name string) (expressions []string) {
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
	for _, r := range d.plan.References {
		if k := d.plan.Key(r.To); r.Table == name && (k != nil && k.Map != "" || r.Shadow != "") {
			leave(r.Column, r.Shadow, r.Old)
		}
	}
	columns := slices.Clone(t.Columns)
	slices.SortFunc(columns, func(a, b *catalog.Column) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range columns {
		if !out[c.Name] && c.Generated == "" {
			expressions = append(expressions, d.expression(c))
		}
	}
	return expressions
}

// expression returns what gives a column's value as a text or bytes, the same whatever the connection's zone, character set and formats.
func (d *database) expression(c *catalog.Column) string {
	column := "t." + d.catalog.Quote(c.Name)
	switch d.dialect {
	case dialect.SQLite: // a value's type is part of it; quote cuts a text at its first NUL
		return "CASE typeof(" + column + ") WHEN 'null' THEN NULL WHEN 'text' THEN 't' || hex(" + column + ") ELSE quote(" + column + ") END"
	case dialect.Postgres:
		return column + "::text" // of a session that read sets up
	}
	switch {
	case strings.HasPrefix(strings.ToLower(c.Type), "timestamp"):
		return "UNIX_TIMESTAMP(" + column + ")"
	case c.Class == catalog.Floating:
		return "CAST(" + column + " + 0e0 AS CHAR)"
	case c.Class == catalog.JSON:
		return "CAST(" + column + " AS CHAR)"
	}
	return "CAST(" + column + " AS BINARY)"
}
