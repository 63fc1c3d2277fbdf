package measure

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// Writers makes a table of a name, has the connections of to fill it at once, and adds a sample to its figures. It does not drop the table. The plan's Batch
// is that of to. Where the limit is over before the rows are there, the figures are those of fewer rows, and the last tenth has none.
//
// The error wraps [ErrVerify] or [ErrOption], or is the database's or the context's; no figure of the round is kept then.
func Writers(ctx context.Context, store *database.Database, keys strategy.Keys, name string, plan Plan, to *result.Writers) (err error) {
	if plan.Rows < tenths || to.Connections < 1 || to.Batch < 1 || plan.Limit < 0 {
		return fmt.Errorf("%w: %d rows by %d connections, %d an INSERT, within %s; want at least %d, 1 and 1", ErrOption,
			plan.Rows, to.Connections, to.Batch, plan.Limit, tenths)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("insert into %s by %d connections: %w", name, to.Connections, err)
		}
	}()
	session, err := store.Session(ctx)
	if err != nil {
		return err
	}
	made, err := keys.Table(ctx, session, name)
	if err != nil {
		return err
	}
	sessions, end, err := store.Sessions(ctx, to.Connections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	w := writers{plan: plan, batch: int64(to.Batch)}
	w.plan.Batch = to.Batch
	for i, session := range sessions {
		table, err := made.Beside(ctx, session, i+1)
		if err != nil {
			return err
		}
		w.tables = append(w.tables, table)
	}
	if err := store.Settle(ctx); err != nil {
		return err
	}
	if err := w.insert(ctx); err != nil {
		return err
	}
	g := growth{db: session, name: name, rows: int(w.done.Load())}
	if err := g.verify(ctx); err != nil {
		return err
	}
	weight, err := store.Size(ctx, name, g.rows)
	if err != nil {
		return err
	}
	w.report(to)
	add(&to.Table, weight.Table)
	add(&to.Index, weight.Index)
	return nil
}

// writers insert at once.
type writers struct {
	plan   Plan
	batch  int64
	tables []strategy.Table

	taken, done atomic.Int64 // rows
	took        time.Duration
	ninth       atomic.Int64 // nanoseconds until nine tenths of the rows were there, 0: they were not
}

func (w *writers) insert(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i, table := range w.tables {
		orders := strategy.NewOrders(w.plan.Seed + uint64(i))
		group.Go(func() error {
			for w.plan.Limit == 0 || time.Since(start) < w.plan.Limit {
				n := min(w.batch, int64(w.plan.Rows)-w.taken.Add(w.batch)+w.batch)
				if n <= 0 {
					return nil
				}
				if keys, err := table.Insert(ctx, orders.Make(int(n))); err != nil {
					return err
				} else if int64(len(keys)) != n {
					return fmt.Errorf("%w: %d keys came back for %d rows", ErrVerify, len(keys), n)
				}
				if done, mark := w.done.Add(n), w.mark(); done >= mark && done-n < mark {
					w.ninth.Store(int64(time.Since(start)))
				}
			}
			return nil
		})
	}
	err := group.Wait()
	w.took = time.Since(start)
	return err
}

// mark is the row that the last tenth begins after.
func (w *writers) mark() int64 { return int64(w.plan.Rows) * (tenths - 1) / tenths }

// report adds the round to those before.
func (w *writers) report(to *result.Writers) {
	rows := int(w.done.Load())
	to.RowsPerSecond.Add(float64(rows) / max(w.took, 1).Seconds())
	if to.Rows == 0 {
		to.Rows = rows
	}
	to.Rows = min(to.Rows, rows)
	if rows < w.plan.Rows {
		to.Last.Why = fmt.Sprintf("%s were over at row %d of %d", w.plan.Limit, rows, w.plan.Rows)
		return
	}
	to.Last.Add(float64(int64(rows)-w.mark()) / max(w.took-time.Duration(w.ninth.Load()), 1).Seconds())
}
