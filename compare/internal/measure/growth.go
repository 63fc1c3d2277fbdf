package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

const (
	tenths  = 10
	recent  = 1000    // rows read one by one
	ordered = 100_000 // rows read in order, at most
)

// Plan says how a table grows. All strategies and rounds that are compared have the same.
type Plan struct {
	Rows  int    // at least 10
	Batch int    // rows an INSERT, at least 1; the last of a tenth may be smaller
	Seed  uint64 // of the rows, and of the order of the rows read
	// Limit is how long the INSERTs may take, 0: for ever. When it is over the growth ends after the INSERT at work, and the tenths that
	// it did not fill have no figures.
	Limit time.Duration
	// Progress is told after each INSERT how many rows there are, from the goroutine of [Growth]; nil: nobody is.
	Progress func(rows int)
}

// Figures are what one growing table is measured for.
type Figures struct {
	Growth  result.Growth
	Storage result.Storage
	Read    result.Read
	Key     result.Key
}

// Growth makes a table of a name, lets it grow, and measures it: one round, whose samples it adds to those before. It does not drop the
// table, which holds up to 10,101 rows more than planned when it returns. The keys are the strategy's, of the store's database.
//
// The error wraps [ErrVerify] or [ErrOption], or is the database's or the context's; no figure of the round is kept then.
func Growth(ctx context.Context, store *database.Database, info strategy.Info, keys strategy.Keys, name string, plan Plan, to *Figures) error {
	if plan.Rows < tenths || plan.Batch < 1 || plan.Limit < 0 {
		return fmt.Errorf("%w: %d rows, %d an INSERT, within %s; want at least %d and 1", ErrOption, plan.Rows, plan.Batch, plan.Limit, tenths)
	}
	if plan.Progress == nil {
		plan.Progress = func(int) {}
	}
	g := growth{store: store, info: info, keys: keys, name: name, plan: plan, orders: strategy.NewOrders(plan.Seed)}
	if err := g.grow(ctx); err != nil {
		return fmt.Errorf("insert into %s: %w", name, err)
	}
	if err := g.verify(ctx); err != nil {
		return err
	}
	weight, err := store.Size(ctx, name, g.rows)
	if err != nil {
		return err
	}
	reads, err := g.read(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	writes, err := g.log(ctx)
	if err != nil {
		return fmt.Errorf("insert into %s: %w", name, err)
	}
	key, err := g.key(ctx)
	if err != nil {
		return fmt.Errorf("insert into %s: %w", name, err)
	}
	g.report(&to.Growth)
	weight.Splits, weight.Log, weight.Pages = g.splits, writes.Log, writes.Pages
	addStorage(&to.Storage, weight)
	addRead(&to.Read, reads)
	addKey(&to.Key, key)
	return nil
}

// growth is one round.
type growth struct {
	store  *database.Database
	info   strategy.Info
	keys   strategy.Keys
	name   string
	plan   Plan
	orders *strategy.Orders

	db     *gorm.DB
	table  strategy.Table
	rows   int           // inserted
	took   time.Duration // by all INSERTs
	micros []int64       // of each INSERT
	ends   [tenths]int   // of each tenth that is full, how many INSERTs there were
	full   int           // tenths
	tenth  [tenths]time.Duration
	last   []inserted // at most recent
	splits result.Figure
}

// inserted is a row and the key that it was given.
type inserted struct {
	key   strategy.Key
	order strategy.Order
}

func (g *growth) grow(ctx context.Context) (err error) {
	if g.db, err = g.store.Session(ctx); err != nil {
		return err
	}
	if g.table, err = g.keys.Table(ctx, g.db, g.name); err != nil {
		return err
	}
	if err := g.store.Settle(ctx); err != nil {
		return err
	}
	meter, err := g.store.Meter(ctx, database.Splits)
	if err != nil {
		return err
	}
	defer func() {
		counted, stopErr := stop(ctx, meter, g.rows)
		g.splits = counted.Splits
		err = errors.Join(err, stopErr)
	}()
	for g.full < tenths {
		end := g.plan.Rows * (g.full + 1) / tenths
		for g.rows < end {
			if g.plan.Limit > 0 && g.took >= g.plan.Limit {
				return nil
			}
			took, err := g.insert(ctx, min(g.plan.Batch, end-g.rows))
			if err != nil {
				return err
			}
			g.took += took
			g.tenth[g.full] += took
			g.micros = append(g.micros, took.Microseconds())
			g.plan.Progress(g.rows)
		}
		g.ends[g.full] = len(g.micros)
		g.full++
	}
	return nil
}

// insert inserts the next n rows, and keeps the last ones.
func (g *growth) insert(ctx context.Context, n int) (time.Duration, error) {
	orders := g.orders.Make(n)
	start := time.Now()
	keys, err := g.table.Insert(ctx, orders)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if len(keys) != n {
		return 0, fmt.Errorf("%w: %d keys came back for %d rows", ErrVerify, len(keys), n)
	}
	g.rows += n
	for i, key := range keys {
		g.last = append(g.last, inserted{key, orders[i]})
	}
	if over := len(g.last) - recent; over > 0 {
		g.last = slices.Delete(g.last, 0, over)
	}
	return took, nil
}

// verify counts the rows, which the primary key makes different ones.
func (g *growth) verify(ctx context.Context) error {
	var rows int64
	if err := g.db.WithContext(ctx).Table(g.name).Count(&rows).Error; err != nil {
		return fmt.Errorf("count the rows of %s: %w", g.name, err)
	}
	if rows != int64(g.rows) {
		return fmt.Errorf("%w: %s holds %d of %d", ErrVerify, g.name, rows, g.rows)
	}
	return nil
}

// report adds the round to those before.
func (g *growth) report(to *result.Growth) {
	if len(to.Tenths) == 0 {
		to.Tenths, to.Rows = make([]result.Tenth, tenths), g.rows
	}
	to.Rows = min(to.Rows, g.rows)
	to.Batches = append(to.Batches, g.micros)
	begin := 0
	for i := range to.Tenths {
		tenth := &to.Tenths[i]
		if i >= g.full {
			why := fmt.Sprintf("%s were over at row %d of %d", g.plan.Limit, g.rows, g.plan.Rows)
			tenth.RowsPerSecond.Why, tenth.P99.Why = why, why
			continue
		}
		inserts := slices.Sorted(slices.Values(g.micros[begin:g.ends[i]]))
		begin = g.ends[i]
		rows := g.plan.Rows*(i+1)/tenths - g.plan.Rows*i/tenths
		tenth.RowsPerSecond.Add(float64(rows) / max(g.tenth[i], 1).Seconds())
		tenth.P99.Add(float64(inserts[int(math.Ceil(0.99*float64(len(inserts))))-1]))
		if len(inserts) < 100 {
			tenth.P99.Note = fmt.Sprintf("the slowest of %d INSERTs", len(inserts))
		}
	}
}
