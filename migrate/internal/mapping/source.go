package mapping

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// form says how a query gives times.
type form uint8

const (
	texts    form = iota // as the database writes them, or whole numbers by size
	instants             // microseconds since 2000, in 8 bytes
	locals               // the same, had the zone been UTC; or days in 4 bytes
	seconds              // since 1970, with a fraction
	fixed                // all rows have one
)

// source reads the old rows of a key: their ids, and when they were made.
type source struct {
	dialect dialect.Dialect
	catalog *catalog.Catalog
	key     plan.Key
	table   string // quoted, as all names here
	id      string // the key's column, of t
	maps    string
	joined  string // the join of the table that has the time, where it is another
	created string // what gives the time
	form    form
	calendar
	instant timestamp
}

// row is one old row.
type row struct {
	id        int64
	timestamp timestamp
}

// newSource returns the source of a key. It asks the database for the type of the column that has the time.
func newSource(ctx context.Context, db *sql.DB, p *plan.Plan, k plan.Key, s *nodeSlots) (*source, error) {
	d, ok := dialect.Lookup(p.Database.Kind)
	if !ok {
		return nil, fmt.Errorf("mapping: %w: %q", catalog.ErrDialect, p.Database.Kind)
	}
	c, err := catalog.New(db, d)
	if err != nil {
		return nil, err
	}
	r := &source{dialect: d, catalog: c, key: k, id: "t." + c.Quote(k.Column), form: fixed, created: "0"}
	if r.table, err = c.QuotedText(k.Table); err != nil {
		return nil, err
	}
	if k.Map != "" {
		if r.maps, err = c.QuotedText(k.Map); err != nil {
			return nil, err
		}
	}
	if k.Zone != "" {
		r.zone = s.zone
	}
	epoch := s.layout.Epoch()
	r.earliest, r.earliestNano = epoch.Unix(), int64(epoch.Nanosecond())
	r.now = time.Now().Unix()
	if k.Instant != nil {
		r.instant = r.judge(k.Instant.Unix(), int64(k.Instant.Nanosecond()))
		return r, nil
	}
	holder, alias := r.table, "t"
	if k.Parent != "" {
		if holder, err = r.join(p, k); err != nil {
			return nil, err
		}
		alias = "q"
	}
	if k.Created == "" {
		return nil, fmt.Errorf("mapping: the plan's key of %s has neither a column nor an instant that new ids can have their time from", k.Table)
	}
	name, err := r.probe(ctx, db, holder, c.Quote(k.Created))
	if err != nil {
		return nil, err
	}
	r.read(name, alias+"."+c.Quote(k.Created))
	return r, nil
}

// join adds the table that has the time of a key's rows.
func (r *source) join(p *plan.Plan, k plan.Key) (parent string, err error) {
	if parent, err = r.catalog.QuotedText(k.Parent); err != nil {
		return "", err
	}
	column := ""
	for _, ref := range p.References {
		if ref.Table == k.Table && ref.Column == k.Through && ref.To == k.Parent {
			column = ref.ToColumn
		}
	}
	for _, other := range p.Keys {
		if column == "" && other.Table == k.Parent {
			column = other.Column
		}
	}
	if column == "" || k.Through == "" {
		return "", fmt.Errorf("mapping: the plan does not say what column of %s the column %q of %s refers to", k.Parent, k.Through, k.Table)
	}
	r.joined = " LEFT JOIN " + parent + " q ON q." + r.catalog.Quote(column) + " = t." + r.catalog.Quote(k.Through)
	return parent, nil
}

// probe asks for the type of the column with the time, and chooses what reads it exactly. Nothing depends on the session's zone or on how the driver makes
// times: what is asked for is a text or a number.
func (r *source) probe(ctx context.Context, db *sql.DB, table, column string) (name string, err error) {
	switch r.dialect {
	case dialect.Postgres:
		// Not the type of a result: PostgreSQL's clients keep statements, and fail where the type has changed since.
		const text = "SELECT CAST(CASE WHEN t.typbasetype <> 0 THEN t.typbasetype ELSE t.oid END AS regtype)::text " +
			"FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = CAST($1 AS regclass) AND a.attname = $2"
		err = each(ctx, db, text, []any{table, r.key.Created}, func(rows *sql.Rows) error { return rows.Scan(&name) })
		if err == nil && name == "" {
			err = fmt.Errorf("mapping: %s has no column %q", table, r.key.Created)
		}
		return name, err
	case dialect.MySQL:
		text := "SELECT t." + column + " FROM " + table + " t WHERE 1 = 0"
		rows, err := db.QueryContext(ctx, text)
		if err != nil {
			return "", fmt.Errorf("mapping: %s: %w", text, err)
		}
		defer func() { _ = rows.Close() }() // the second time, where nothing failed
		types, err := rows.ColumnTypes()
		if err != nil {
			return "", fmt.Errorf("mapping: %s: %w", text, err)
		}
		if err := rows.Err(); err != nil {
			return "", fmt.Errorf("mapping: %s: %w", text, err)
		}
		return types[0].DatabaseTypeName(), rows.Close()
	}
	return "", nil // SQLite's values have types of their own
}

// read chooses what gives the times of a column. Of PostgreSQL's it is what is stored: extract makes a numeric, which takes nine times as long.
func (r *source) read(name, column string) {
	switch {
	case r.dialect == dialect.MySQL && name == "TIMESTAMP":
		r.form, r.created = seconds, "UNIX_TIMESTAMP("+column+")" // of a column of this type it is the stored number, without any zone
	case r.dialect == dialect.MySQL:
		r.form, r.created = texts, "CAST("+column+" AS CHAR)"
	case r.dialect == dialect.Postgres && name == "timestamp with time zone":
		r.form, r.created = instants, "timestamptz_send("+column+")"
	case r.dialect == dialect.Postgres && name == "timestamp without time zone":
		r.form, r.created = locals, "timestamp_send("+column+")"
	case r.dialect == dialect.Postgres && name == "date":
		r.form, r.created = locals, "date_send("+column+")"
	default:
		r.form, r.created = texts, "CAST("+column+" AS TEXT)"
	}
}

// big makes a selected key one of 64 bits on PostgreSQL, whose clients keep statements and fail where a result's type has changed: a key's does, in a
// migration.
func (r *source) big(column string) string {
	if r.dialect == dialect.Postgres {
		return column + "::bigint"
	}
	return column
}

// page returns up to limit old rows after a cursor, in the order of their ids. It appends them to list.
func (r *source) page(ctx context.Context, db dialect.Queryer, list []row, after int64, limit int) ([]row, error) {
	s := statement{dialect: r.dialect}
	text := "SELECT " + r.big(r.id) + ", " + r.created + " FROM " + r.table + " t" + r.joined + " WHERE " + r.id + " > " + s.number(after) + " AND " + r.id + " < " +
		s.number(r.key.Below) + " ORDER BY " + r.id + " LIMIT " + s.number(int64(limit))
	var raw sql.RawBytes
	err := each(ctx, db, text, s.args, func(rows *sql.Rows) error {
		var next row
		if err := rows.Scan(&next.id, &raw); err != nil {
			return err
		}
		next.timestamp = r.timestamp(raw)
		list = append(list, next)
		return nil
	})
	return list, err
}

// timestamp reads a time that the query gave.
func (r *source) timestamp(raw []byte) timestamp {
	if r.form == fixed {
		return r.instant
	}
	if raw == nil {
		return timestamp{state: null}
	}
	if r.form == texts {
		return r.text(raw)
	}
	if r.form == seconds {
		return r.decimal(raw)
	}
	seconds, nanoseconds, ok := sent(raw)
	switch {
	case !ok:
		return timestamp{state: unreadable}
	case r.form == instants:
		return r.judge(seconds, nanoseconds)
	}
	return r.local(seconds, nanoseconds)
}

// sent reads a time of PostgreSQL as its binary protocol has it, as seconds since 1970; false for one that is infinite.
func sent(raw []byte) (seconds, nanoseconds int64, finite bool) {
	const year2000 = 946684800
	switch len(raw) {
	case 4:
		days := int32(binary.BigEndian.Uint32(raw))
		return year2000 + int64(days)*86400, 0, days != math.MinInt32 && days != math.MaxInt32
	case 8:
		micros := int64(binary.BigEndian.Uint64(raw))
		seconds, nanoseconds = split(micros, 1e6)
		return year2000 + seconds, nanoseconds, micros != math.MinInt64 && micros != math.MaxInt64
	}
	return 0, 0, false
}

// decimal reads seconds since 1970 with up to nine digits of a fraction. 0 is MySQL's 0000-00-00, which a TIMESTAMP stores so.
func (c *calendar) decimal(b []byte) timestamp {
	whole, fraction, _ := strings.Cut(string(b), ".")
	n, ok := wholeNumber([]byte(whole))
	nano := int64(0)
	if ok && fraction != "" {
		nano, ok = wholeNumber([]byte((fraction + "000000000")[:max(9, len(fraction))]))
	}
	switch {
	case !ok || len(fraction) > 9 || n < 0:
		return timestamp{state: unreadable}
	case n == 0 && nano == 0:
		return timestamp{state: zero}
	}
	return c.judge(n, nano)
}
