package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// reader reads the status of a table, on the keeper's connection.
type reader struct {
	conn *sql.Conn
	d    Dialect
	t    Table
}

// read returns the status, with the clock of the database read by a function and that of the keeper given.
func (r reader) read(ctx context.Context, clock func(context.Context, dialect.Queryer) (time.Time, error), local time.Time) (s Status, err error) {
	s = Status{Dialect: r.d, Parts: []Part{}, Detached: []Detached{}}
	found, err := r.d.Locate(ctx, r.conn, r.t.Name)
	if err != nil {
		return s, err
	}
	s.Schema, s.Name = found.At.Schema, found.At.Table
	s.Table = s.Schema + "." + s.Name
	if !found.Exists {
		return s, fmt.Errorf("%w: there is no table %s", ErrNotPartitioned, s.Table)
	}
	if s.Now, err = clock(ctx, r.conn); err != nil {
		return s, fmt.Errorf("reading the clock: %w", err)
	}
	s.Now, s.Local = s.Now.In(r.t.In), local.In(r.t.In)
	greatest, err := r.t.Layout.MaxID(s.Now)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrClock, err)
	}
	if r.d == dialect.MySQL {
		err = r.mysql(ctx, &s)
	} else {
		err = r.postgres(ctx, &s)
	}
	if err != nil {
		return s, err
	}
	newest, err := r.one(ctx, fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[1]s BETWEEN 0 AND %[3]d ORDER BY %[1]s DESC LIMIT 1", r.d.Quote(r.t.Key), r.table(s), greatest))
	if err != nil {
		return s, fmt.Errorf("reading the newest key: %w", err)
	}
	if newest.Valid {
		parts, err := r.t.Layout.Decode(newest.Int64)
		if err != nil {
			return s, err
		}
		s.Newest = parts.Time.In(r.t.In)
	}
	return s, nil
}

func (r reader) table(s Status) string {
	return r.d.QuotePlace(dialect.Place{Schema: s.Schema, Table: s.Name})
}

// one returns the number of a query's only row, none where there is no row.
func (r reader) one(ctx context.Context, query string) (n sql.NullInt64, err error) {
	if err = dialect.One(ctx, r.conn, query, nil, &n); errors.Is(err, sql.ErrNoRows) {
		return sql.NullInt64{}, nil
	}
	return n, err
}

// texts returns the texts of a query's rows.
func (r reader) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	names, err := catalog.New(r.conn, r.d)
	if err != nil {
		return nil, err
	}
	return names.Texts(ctx, query, args...)
}

// unplaced returns the rows of the default partition by their periods, from what a FROM has.
func (r reader) unplaced(ctx context.Context, from string) (all []Unplaced, err error) {
	all = []Unplaced{}
	key := r.d.Quote(r.t.Key)
	last := r.t.lastID()
	for least := int64(math.MinInt64); len(all) < fewUnplaced; {
		first, err := r.one(ctx, fmt.Sprintf("SELECT MIN(%[1]s) FROM %[2]s WHERE %[1]s >= %[3]d", key, from, least))
		if err != nil || !first.Valid {
			return all, err
		}
		u := Unplaced{Range: Range{FromID: math.MinInt64}}
		switch id := first.Int64; {
		case id >= last:
			u.Range = Range{FromID: last, ToID: math.MaxInt64}
		case id >= 0:
			parts, err := r.t.Layout.Decode(id)
			if err != nil {
				return nil, err
			}
			u.Range, _ = r.t.period(r.t.Every.start(parts.Time, r.t.In))
			if id >= u.ToID { // the tick has the first instant of the next period
				u.Range, _ = r.t.period(u.To)
			}
		}
		within := fmt.Sprintf("%[1]s >= %[2]d AND %[1]s < %[3]d", key, u.FromID, u.ToID)
		if u.ToID == math.MaxInt64 {
			within = fmt.Sprintf("%s >= %d", key, u.FromID)
		}
		count, err := r.one(ctx, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %d) AS few", from, within, r.t.Move+1))
		if err != nil {
			return nil, err
		}
		u.Rows = min(count.Int64, r.t.Move)
		u.More = count.Int64 > r.t.Move
		all = append(all, u)
		if u.ToID == math.MaxInt64 {
			return all, nil
		}
		least = u.ToID
	}
	return all, nil
}

// wordOf returns a number of a catalogue's bounds: MINVALUE and MAXVALUE are none.
func wordOf(text string) (int64, error) {
	switch text = strings.Trim(text, "'"); text {
	case "MINVALUE":
		return math.MinInt64, nil
	case "MAXVALUE":
		return math.MaxInt64, nil
	}
	var n int64
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
		return 0, fmt.Errorf("the bound %q is no number: %w", text, err)
	}
	return n, nil
}
