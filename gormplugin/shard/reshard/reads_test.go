package reshard_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// meter is a database whose rows are counted as they are read; not those of statements with parameters, which some drivers prepare.
type meter struct {
	place *place
	rows  atomic.Int64
}

func (m *meter) Driver() driver.Driver { return m.place.db.Driver() }

func (m *meter) Connect(context.Context) (driver.Conn, error) {
	conn, err := m.Driver().Open(m.place.DriverDSN)
	return &meteredConn{conn, &m.rows}, err
}

type meteredConn struct {
	driver.Conn
	rows *atomic.Int64
}

func (c *meteredConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *meteredConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &meteredRows{rows, c.rows}, nil
}

func (c *meteredConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c *meteredConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type meteredRows struct {
	driver.Rows
	rows *atomic.Int64
}

func (r *meteredRows) Next(into []driver.Value) error {
	err := r.Rows.Next(into)
	if err == nil {
		r.rows.Add(1)
	}
	return err
}

// TestReadsBehindFence wants a move to read no more rows while they cannot be written than were noted, and a hundred others, on each side; and all of them
// when it is asked to.
func TestReadsBehindFence(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		m := &meter{place: own}
		db := sql.OpenDB(m)
		t.Cleanup(func() { _ = db.Close() })
		const all, noted, others = 600, 30, 100
		b := newBucketful(t, own, all)
		b.w.Own.DB = db
		move := func(fenced bool) int64 {
			p := plan(t, b.w, b.next)
			before, read := int64(-1), int64(-1)
			if err := reshard.Move(t.Context(), b.w, p, reshard.Options{VerifyFenced: fenced, Batch: 100, Progress: func(at reshard.Progress) {
				switch {
				case fencing(at):
					for i := range noted {
						b.write(b.ids[i*20], fmt.Sprintf("noted %d %v", i, fenced))
					}
					before = m.rows.Load()
				case at.State == "flip" && read < 0:
					read = m.rows.Load() - before
				}
			}}); err != nil {
				t.Fatal(err)
			}
			check(t, b.ledger, b.next, own)
			return read
		}
		const catalogs = 100                                       // rows about tables, columns and indexes, of the journal and of counts
		got, most := move(false), int64(3*noted+2*others+catalogs) // a note, its row and the copy
		if got < 3*noted || got > most {
			t.Errorf("got %d rows read behind the fence, want %d to %d", got, 3*noted, most)
		}
		t.Logf("%d rows of %d read behind the fence", got, all)
		b.m, b.from, b.to = b.next, b.to, b.from // and back
		var err error
		if b.next, err = b.m.Move(b.to.Name, b.bucket); err != nil {
			t.Fatal(err)
		}
		if got = move(true); got < 2*all {
			t.Errorf("got %d rows read behind the fence, want %d at least", got, 2*all)
		}
	})
}
