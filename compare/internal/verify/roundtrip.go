package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// batches are the rows of the INSERTs in turn.
var batches = []int{1, 2, 13, 1, 50}

// row is a row that was inserted, or that came back.
type row struct {
	key   strategy.Key
	order strategy.Order
}

func (r row) equal(other row) bool { return r.key == other.key && r.sameOrder(other) }

// sameOrder compares times as instants, whatever the zone that a driver gives them.
func (r row) sameOrder(other row) bool {
	a, b := r.order, other.order
	return a.CustomerID == b.CustomerID && a.Status == b.Status && a.Total == b.Total && a.CreatedAt.Equal(b.CreatedAt)
}

// wrong is what makes a check fail where no call has failed.
type wrong string

func (w wrong) Error() string { return string(w) }

// rows inserts rows and reads them back, and checks the order of keys with what was read.
func (r *run) rows(ctx context.Context) ([]result.Check, error) {
	trip := result.Check{Name: RoundTrip, State: result.Passed}
	inserted, table, err := r.insert(ctx)
	found := 0
	if err == nil {
		found, err = r.find(ctx, table, inserted)
	}
	var sorted []row
	if table != nil && len(inserted) > 0 {
		var reading error
		sorted, reading = r.read(ctx, table, inserted)
		err = errors.Join(err, reading, r.given(inserted))
	}
	trip.Keys = len(inserted)
	if table != nil {
		column, _ := table.Column()
		trip.Detail = fmt.Sprintf("%d rows by INSERTs of 1 to 50, with keys as %s, %d of them read one by one and all in order", len(inserted), column, found)
	}
	var checks []result.Check
	if r.byRow {
		checks = append(checks, r.byRows(inserted))
	}
	ordered, fatal := r.order(ctx, inserted, sorted)
	checks = append(checks, ordered)
	if err != nil && fatal == nil {
		trip, fatal = r.failed(ctx, trip, err)
	}
	if fatal != nil {
		trip.State = result.NotRun
	}
	return append(checks, trip), fatal
}

// given finds a row whose key the goroutines had been given before, or whose key is none.
func (r *run) given(inserted []row) error {
	calls := []call{asCall(inserted)}
	if none := blank(r.keys, calls); none != "" {
		return wrong(none)
	}
	if r.sound { // else their keys, and not those of rows, are what is wrong
		calls = slices.Concat(r.drawn, calls)
	}
	if twice, n := equal(r.keys, calls); n > 0 {
		return wrong(twice)
	}
	return nil
}

// byRows checks the keys that the database has made.
func (r *run) byRows(inserted []row) result.Check {
	check := result.Check{Name: Goroutines, State: result.Passed, Keys: len(inserted),
		Detail: "the database makes the keys: of rows inserted one statement after the other in one session; several at once were not tried"}
	calls := []call{asCall(inserted)}
	if twice, n := equal(r.keys, calls); n > 0 {
		check.State, check.Evidence = result.Failed, twice
	} else if none := blank(r.keys, calls); none != "" {
		check.State, check.Evidence = result.Failed, none
	}
	if len(inserted) == 0 {
		check.State, check.Detail = result.NotRun, "the database makes the keys, and took no row; see the "+RoundTrip
	}
	return check
}

// asCall takes rows for keys of one call.
func asCall(rows []row) call {
	c := call{who: "the session that inserted rows", nth: 1, fill: true}
	for _, row := range rows {
		c.keys = append(c.keys, row.key)
	}
	return c
}

// insert fills a table. It returns the rows as they should be there.
func (r *run) insert(ctx context.Context) (inserted []row, table strategy.Table, err error) {
	err = r.bounded(ctx, func(ctx context.Context) (err error) { table, err = r.tables(ctx, r.keys); return err })
	if err != nil {
		return nil, nil, fmt.Errorf("make the table: %w", err)
	}
	orders, end := strategy.NewOrders(r.o.Seed), time.Now().Add(r.o.Bound)
	for i := 0; len(inserted) < r.o.Rows && time.Now().Before(end); i++ {
		batch := orders.Make(min(batches[i%len(batches)], r.o.Rows-len(inserted)))
		given := make([]strategy.Order, len(batch))
		copy(given, batch)
		var keys []strategy.Key
		if err := r.bounded(ctx, func(ctx context.Context) (err error) { keys, err = table.Insert(ctx, given); return err }); err != nil {
			return inserted, table, fmt.Errorf("INSERT of %d rows after %d: %w", len(batch), len(inserted), err)
		}
		if len(keys) != len(batch) {
			return inserted, table, wrong(fmt.Sprintf("INSERT of %d rows after %d returned %d keys", len(batch), len(inserted), len(keys)))
		}
		for j, key := range keys {
			inserted = append(inserted, row{key, batch[j]})
		}
	}
	return inserted, table, nil
}

// bounded makes one statement.
func (r *run) bounded(ctx context.Context, statement func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Bound, errLate)
	defer cancel()
	return statement(ctx)
}

// find reads each row by its key, as many as there is time for, and returns how many it was.
func (r *run) find(ctx context.Context, table strategy.Table, inserted []row) (int, error) {
	end := time.Now().Add(r.o.Bound)
	for i, want := range inserted {
		if !time.Now().Before(end) {
			return i, nil
		}
		var got row
		err := r.bounded(ctx, func(ctx context.Context) (err error) { got.key, got.order, err = table.Find(ctx, want.key); return err })
		if err != nil {
			return i, fmt.Errorf("row %d of %d, inserted as %s, is not found: %w", i+1, len(inserted), r.show(want), err)
		}
		if !got.equal(want) {
			return i, wrong(fmt.Sprintf("row %d of %d, inserted as %s, was read by its key as %s", i+1, len(inserted), r.show(want), r.show(got)))
		}
	}
	return len(inserted), nil
}

// read reads all rows in the database's order, and compares them with those that should be there.
func (r *run) read(ctx context.Context, table strategy.Table, inserted []row) (sorted []row, err error) {
	err = r.bounded(ctx, func(ctx context.Context) error {
		return table.Ordered(ctx, len(inserted)+1, func(key strategy.Key, order strategy.Order) error {
			sorted = append(sorted, row{key, order})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read in order: %w", err)
	}
	missing := make(map[strategy.Key]row, len(inserted))
	for _, row := range inserted {
		missing[row.key] = row
	}
	for _, got := range sorted {
		want, found := missing[got.key]
		switch {
		case !found:
			return sorted, wrong(fmt.Sprintf("in order came %s, which was not inserted, or twice", r.show(got)))
		case !got.equal(want):
			return sorted, wrong(fmt.Sprintf("a row inserted as %s was read in order as %s", r.show(want), r.show(got)))
		}
		delete(missing, got.key)
	}
	for i, row := range inserted {
		if _, lost := missing[row.key]; lost {
			return sorted, wrong(fmt.Sprintf("%d of %d rows did not come back in order, the first of them row %d, inserted as %s",
				len(missing), len(inserted), i+1, r.show(row)))
		}
	}
	return sorted, nil
}

func (r *run) show(row row) string {
	o := row.order
	return fmt.Sprintf("key %s with {%d %s %d %s}", show(r.keys, row.key), o.CustomerID, o.Status, o.Total,
		o.CreatedAt.UTC().Format("2006-01-02T15:04:05.999999999Z"))
}
