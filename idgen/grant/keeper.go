package grant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Keeper is a source of keys that acquires the number they are made with, and renews the grant of it in the background. It is made by
// [Open], and safe for concurrent use.
type Keeper struct {
	store     Store
	config    Config
	generator *idgen.Snowflake
	terms     terms

	status atomic.Pointer[status]
	demand chan struct{} // has an element when a call waits for a grant
	force  atomic.Bool   // the next renewal is to change the row
	stop   context.CancelFunc
	done   chan struct{} // closed when the keeper's goroutine has ended
	failed error         // of the release; to be read when done is closed

	// Of the keeper's goroutine, and of Open before that runs.
	row      Row       // as the last swap that succeeded left it; no holder while there is none
	asked    []Row     // what swaps have asked for that were not answered since: of the row, or of the acquisition that is tried
	holder   string    // that the next acquisition is tried with, again and again until it succeeds
	id       string    // the space's
	known    int64     // the tick in which the store last knew the grant
	told     time.Time // by the store's clock
	sent, at time.Time // when it was asked for that, and had answered, by the monotonic clock
	lost     int64     // numbers
	losses   []Doubt   // the last ones
	untold   []Loss    // that the store does not know of yet
	halted   error     // of [Config.StopOnLoss]
}

var _ idgen.Source[int64] = (*Keeper)(nil)

const (
	firstWait = 50 * time.Millisecond
	longWait  = 5 * time.Second // most between two attempts while they fail
	attempts  = 5               // of Open and of Close, when the store fails
)

// Open acquires a number in the store and returns a keeper, which renews it until the context ends or [Keeper.Close] is called, and then
// gives it back. Open itself tries a few times when the store fails, and waits when all numbers are held and one comes free within the
// configuration's Wait; it takes its Timeout and Wait together at most.
//
// The error wraps [ErrConfig] or one of package idgen for a wrong configuration, [ErrLayout] when the space has another layout, [ErrSkew]
// when the clock is too far from the store's, [ErrTaken] when all numbers are held, or the store's error.
func Open(ctx context.Context, store Store, config Config) (*Keeper, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: no store", ErrConfig)
	}
	generator, err := idgen.New(append(config.Generator[:len(config.Generator):len(config.Generator)], idgen.WithGrants())...)
	if err != nil {
		return nil, err
	}
	layout := generator.Layout()
	config, err = config.complete(layout)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		store: store, config: config, generator: generator,
		terms: terms{
			first: int64(config.First / layout.Unit()), length: int64(config.For / layout.Unit()), lead: generator.Lead(),
			skew: int64(config.MaxSkew / layout.Unit()), end: layout.Max(idgen.Time),
		},
		demand: make(chan struct{}, 1), done: make(chan struct{}),
	}
	k.terms.least, k.terms.most = generator.Grantable()
	if err := k.start(ctx); err != nil {
		k.abandon(ctx, generator.Seal())
		return nil, err
	}
	ctx, k.stop = context.WithCancel(ctx)
	go k.run(ctx)
	return k, nil
}

// start prepares the space and acquires the first number.
func (k *Keeper) start(ctx context.Context) error {
	wait, deadline := firstWait, time.Now().Add(k.config.Wait)
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout+k.config.Wait)
	defer cancel()
	for try := 1; ; try++ {
		err := k.within(ctx, func(ctx context.Context) error {
			if err := k.prepare(ctx); err != nil {
				return err
			}
			if err := k.probe(ctx); err != nil {
				return err
			}
			if err := k.acquire(ctx, true); err != nil {
				return err
			}
			return k.check(ctx)
		})
		var taken *TakenError
		switch {
		case errors.As(err, &taken) && taken.NextFree < time.Until(deadline):
			wait = max(taken.NextFree, time.Millisecond)
		case err == nil || try >= attempts || k.row.Holder != "" || errors.Is(err, ErrLayout) || errors.Is(err, ErrSkew) || errors.Is(err, ErrTaken):
			k.publish(err)
			return err
		}
		if ended := dialect.Sleep(ctx, wait); ended != nil {
			return fmt.Errorf("grant: %w, after: %w", ended, err)
		}
		wait *= 2
	}
}

// prepare makes the space ready, and refuses one of another layout.
func (k *Keeper) prepare(ctx context.Context) error {
	layout := k.generator.Layout().Fingerprint()
	inForce, err := k.store.Prepare(ctx, k.config.Space, layout)
	if err == nil && inForce != layout {
		err = &LayoutError{Space: k.config.Space, InForce: inForce, Wanted: layout}
	}
	return err
}

// probe asks for a change of a row that nobody has, so that a missing right to change rows is noticed before it is needed.
func (k *Keeper) probe(ctx context.Context) error {
	nobody := Row{Number: k.terms.least, Holder: newHolder("nobody")}
	_, err := k.store.Swap(ctx, k.config.Space, nobody, Row{Number: nobody.Number, Holder: nobody.Holder, Until: 1})
	return err
}

// check reads the row of the first grant, so that a store which changes what is written to it is noticed.
func (k *Keeper) check(ctx context.Context) error {
	listing, err := k.store.List(ctx, k.config.Space, k.row.Number, k.row.Number)
	if err == nil && (len(listing.Rows) != 1 || listing.Rows[0] != k.row) {
		err = fmt.Errorf("%w: wrote the row %+v, and read %+v", ErrStore, k.row, listing.Rows)
	}
	return err
}

// within bounds an attempt.
func (k *Keeper) within(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout)
	defer cancel()
	return attempt(ctx)
}

// run keeps the grant, until the context ends.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		timer := time.NewTimer(k.pause())
		select {
		case <-ctx.Done():
		case <-k.demand:
		case <-k.generator.Stepped():
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() == nil {
			err := k.within(ctx, k.keep)
			if ctx.Err() == nil {
				k.publish(err)
			}
		}
	}
	end := k.generator.Seal()
	k.publish(ErrClosed)
	if k.row.Holder != "" {
		k.failed = k.release(context.WithoutCancel(ctx), end)
	} else {
		k.abandon(ctx, end)
	}
	if len(k.untold) > 0 {
		_ = k.within(context.WithoutCancel(ctx), func(ctx context.Context) error {
			k.tell(ctx)
			return nil
		})
		k.publish(ErrClosed)
	}
}

// abandon gives back what a keeper that never was, or has lost its number, may have been granted. It is tried once: what is left comes
// free by itself.
func (k *Keeper) abandon(ctx context.Context, end int64) {
	if k.row.Holder == "" && len(k.asked) == 0 {
		return
	}
	_ = k.within(context.WithoutCancel(ctx), func(ctx context.Context) error {
		listing, err := k.store.List(ctx, k.config.Space, k.terms.least, k.terms.most)
		if err != nil {
			return err
		}
		for _, row := range listing.Rows {
			if k.owns(row) {
				if _, err := k.store.Swap(ctx, k.config.Space, row, k.terms.released(row, end)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// owns tells whether a row is as this keeper has left it, or asked for it to be. One with its holder that is not was changed by another
// process with the same memory, or by a restore.
func (k *Keeper) owns(row Row) bool {
	return row.Holder != "" && row == k.row || slices.Contains(k.asked, row)
}

// swap is [Store.Swap], and remembers what was asked for where there is no answer.
func (k *Keeper) swap(ctx context.Context, old, next Row) (bool, error) {
	done, err := k.store.Swap(ctx, k.config.Space, old, next)
	if err != nil && !slices.Contains(k.asked, next) {
		k.asked = append(k.asked, next)
	}
	return done, err
}

// pause returns how long to wait for the next attempt.
func (k *Keeper) pause() time.Duration {
	wait := k.config.Every
	if length := k.row.Until - k.known; k.row.Holder != "" && length < k.terms.length {
		// The product of a time and ticks is beyond an int64 for grants of some hours.
		wait = max(time.Duration(float64(wait)*float64(length)/float64(k.terms.length)), time.Millisecond)
	}
	if failures := k.status.Load().Failures; failures > 0 {
		wait = min(firstWait<<min(failures-1, 16), longWait, wait)
	}
	return wait*9/10 + rand.N(wait/5+1)
}

// keep renews the grant, or acquires another number when there is none. It prepares the space each time: of a store that has lost
// everything another layout may have taken possession, which numbers do not protect from.
func (k *Keeper) keep(ctx context.Context) error {
	defer k.tell(ctx)
	if k.halted != nil {
		return k.halted
	}
	if err := k.prepare(ctx); err != nil {
		if (errors.Is(err, ErrLayout) || errors.Is(err, ErrMoved)) && k.row.Holder != "" {
			return errors.Join(k.forget("the space is another one", k.known), err)
		}
		return err
	}
	err := k.renew(ctx)
	if errors.Is(err, ErrLost) && k.halted == nil {
		err = k.acquire(ctx, false)
	}
	return err
}

// tell has the store know of losses. It is tried again with the next renewal.
func (k *Keeper) tell(ctx context.Context) {
	for len(k.untold) > 0 && k.store.Record(ctx, k.config.Space, k.untold[0]) == nil {
		k.untold = k.untold[1:]
	}
}

// acquire takes a number. At the start the clock is compared with the store's first.
func (k *Keeper) acquire(ctx context.Context, starting bool) error {
	if k.holder == "" {
		k.holder = newHolder(k.config.Name)
	}
	for tries := 0; ; tries++ {
		before := k.generator.Now()
		listing, now, err := k.list(ctx, k.terms.least, k.terms.most)
		if err != nil {
			return err
		}
		if starting {
			if err := k.compare(before, listing.Now, k.generator.Now()); err != nil {
				return err
			}
		}
		old, next, err := k.find(listing, now)
		if err != nil {
			return err
		}
		if next.Holder == "" {
			var found bool
			if old, found = k.terms.choose(listing, now, tries); !found {
				return k.taken(listing, now)
			}
			next = k.terms.acquired(old, stamped(k.holder, old.Holder), now, k.generator.Used())
		}
		if next.From >= k.terms.end {
			return fmt.Errorf("%w: number %d has no ticks left", idgen.ErrExhausted, next.Number)
		}
		done, err := k.swap(ctx, old, next)
		if err != nil {
			return err
		}
		if done {
			k.holder, k.id = "", listing.ID
			return k.install(next, now)
		}
		if ended := dialect.Sleep(ctx, rand.N(min(firstWait, time.Millisecond<<min(tries, 10)))); ended != nil {
			return fmt.Errorf("grant: acquiring a number, %d were taken by others meanwhile: %w", tries+1, ended)
		}
	}
}

// find returns the row that an earlier attempt has acquired without being answered, and that row renewed.
func (k *Keeper) find(l Listing, now int64) (old, next Row, err error) {
	for _, row := range l.Rows {
		if unstamped(row.Holder) != k.holder {
			continue
		}
		if next := k.terms.renewed(row, max(now, k.reached())); k.owns(row) && next.Until > row.Until {
			next.Holder = stamped(row.Holder, row.Holder)
			return row, next, nil
		}
		// Another process with the same memory has it, and will renew it.
		k.holder, k.asked = newHolder(k.config.Name), nil
		return row, next, fmt.Errorf("%w: number %d was acquired by another process with the memory of this one", ErrLost, row.Number)
	}
	return Row{}, Row{}, nil
}

// taken returns the error for a listing of which no number is free.
func (k *Keeper) taken(l Listing, now int64) error {
	held, silent, missing, next := k.terms.taken(l, now)
	return &TakenError{Held: held, Silent: silent, Missing: missing, Of: k.terms.most - k.terms.least + 1, NextFree: k.duration(next - now)}
}

// renew extends the grant. The error wraps [ErrLost] when there is none, the number has another holder, or the store knows nothing of the
// grant.
func (k *Keeper) renew(ctx context.Context) error {
	if k.row.Holder == "" {
		return ErrLost
	}
	listing, tick, err := k.list(ctx, k.row.Number, k.row.Number)
	if err != nil {
		return err
	}
	if listing.ID != k.id {
		return k.forget(fmt.Sprintf("the space has the identity %q, not %q as before", listing.ID, k.id), k.known)
	}
	now, force := max(tick, k.reached()), k.force.Swap(false)
	// The row is as this keeper has left it, or as a swap has that was not answered. The listing may be an old one, so a swap tells.
	mine := append([]Row{k.row}, k.asked...)
	if len(listing.Rows) == 1 && k.owns(listing.Rows[0]) {
		mine = append(listing.Rows[:1:1], mine...)
	}
	if mine[0] == k.row && len(listing.Rows) == 1 && listing.Rows[0] == k.row && k.terms.enough(k.row, now) && !force {
		// Nothing to add, where ticks are longer than the time between renewals, or the layout ends. A reading alone tells nothing of clones.
		return k.install(k.row, k.known)
	}
	for _, row := range mine {
		next := k.terms.renewed(row, now)
		next.Holder = stamped(row.Holder, row.Holder)
		if next.Until == row.Until {
			return fmt.Errorf("%w: number %d has no more ticks", idgen.ErrExhausted, row.Number)
		}
		done, err := k.swap(ctx, row, next)
		if err != nil {
			return err
		}
		if done {
			return k.install(next, tick)
		}
	}
	// The swaps say that the row is another's; which one it is, the listing may say.
	if listing, _, err = k.list(ctx, k.row.Number, k.row.Number); err != nil {
		return err
	}
	if len(listing.Rows) == 1 && k.owns(listing.Rows[0]) {
		return fmt.Errorf("grant: renewing number %d: its row is not the one that the store lists; are reads answered by a replica?", k.row.Number)
	}
	return k.lose(listing)
}

// lose gives the number up. What is left of the grant may be used up where the number's next grant begins after it, as it always does,
// unless the store has forgotten the grant.
func (k *Keeper) lose(l Listing) error {
	switch {
	case l.ID != k.id:
		return k.forget("the space is another one", k.known)
	case len(l.Rows) != 1:
		return k.forget("its row is gone", k.known)
	case unstamped(l.Rows[0].Holder) == unstamped(k.row.Holder):
		return k.forget("its row was changed, by another process with the memory of this one or by a restore", k.known)
	case l.Rows[0].From < k.row.Until:
		return k.forget("its row was set back", min(k.known, l.Rows[0].From))
	}
	_, _, before := parseHolder(l.Rows[0].Holder)
	if !slices.ContainsFunc(append(k.asked, k.row), func(mine Row) bool { _, stamp, _ := parseHolder(mine.Holder); return stamp == before }) {
		return k.forget("others have had it since, perhaps from before its grant ended", k.known)
	}
	number := k.row.Number
	k.row, k.asked, k.lost = Row{}, nil, k.lost+1
	return fmt.Errorf("%w: number %d has another holder since its grant ended", ErrLost, number)
}

// forget gives up a number of which the store has forgotten the grant, at once: what was made since the tick given is in doubt.
func (k *Keeper) forget(how string, since int64) error {
	k.generator.Suspend()
	// A call that is under way may still make an id, at the tick that its clock is in.
	until := max(since, k.generator.Used()+1, k.ticks(k.generator.Now())+1+k.terms.lead)
	loss := Loss{Number: k.row.Number, Holder: unstamped(k.row.Holder), From: since, Until: until}
	doubt := Doubt{Loss: loss, From: k.timeOf(loss.From), Until: k.timeOf(loss.Until)}
	err := fmt.Errorf("%w: number %d: %s; ids that it made from %s until %s may exist twice", ErrLost, loss.Number, how,
		doubt.From.Format(time.RFC3339Nano), doubt.Until.Format(time.RFC3339Nano))
	k.row, k.asked, k.lost = Row{}, nil, k.lost+1
	k.untold = append(k.untold, loss)
	k.losses = append(slices.Clone(k.losses[max(0, len(k.losses)-mostLosses+1):]), doubt)
	if k.config.StopOnLoss {
		k.halted = err
	}
	k.config.Logger.Warn("snowkey: ids may exist twice: the database has forgotten a grant", "space", k.config.Space, "number", loss.Number, "from", doubt.From,
		"until", doubt.Until, "holder", loss.Holder, "why", how, "stopped", k.config.StopOnLoss)
	return err
}

// release gives the unused ticks of the grant back. The error wraps [ErrLost] when the store has forgotten the grant.
func (k *Keeper) release(ctx context.Context, end int64) error {
	row, wait := k.row, firstWait
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout)
	defer cancel()
	var lost error
	unanswered := false // the row may have been released
	for try := 1; ; try++ {
		err := func() error {
			done, err := k.store.Swap(ctx, k.config.Space, row, k.terms.released(row, end))
			unanswered = unanswered || err != nil
			if err != nil || done {
				return err
			}
			listing, err := k.store.List(ctx, k.config.Space, row.Number, row.Number)
			if err != nil {
				return err
			}
			if len(listing.Rows) == 1 && k.owns(listing.Rows[0]) {
				row = listing.Rows[0]
				return errors.New("its row has changed")
			}
			if known := len(k.untold); !unanswered {
				if err := k.lose(listing); len(k.untold) > known {
					lost = err
				}
			}
			return nil
		}()
		if err == nil {
			return lost
		}
		if try >= attempts || ctx.Err() != nil {
			return fmt.Errorf("grant: giving number %d back, which comes free by itself at %s: %w", row.Number, k.timeOf(row.Until).Format(time.RFC3339), err)
		}
		_ = dialect.Sleep(ctx, wait) // the next attempt fails if it has ended
		wait *= 2
	}
}

// install gives the generator a row that a swap has made the keeper's, in the tick now of the store's clock.
func (k *Keeper) install(row Row, now int64) error {
	grant := idgen.Grant{Number: row.Number, From: row.From, Until: row.Until, Now: k.now()}
	k.row, k.asked, k.known = row, nil, now
	return k.generator.SetGrant(grant)
}

// compare refuses a clock, read before and after the store's, that is too far from it.
func (k *Keeper) compare(before, store, after time.Time) error {
	limit := k.config.MaxSkew
	if by := before.Sub(store); by > limit {
		return &SkewError{By: by, Limit: limit}
	}
	if by := after.Sub(store); by < -limit {
		return &SkewError{By: by, Limit: limit}
	}
	return nil
}

// list is [Store.List], and takes note of what the store's clock says. It returns that in ticks.
func (k *Keeper) list(ctx context.Context, least, most int64) (l Listing, now int64, err error) {
	sent := time.Now()
	if l, err = k.store.List(ctx, k.config.Space, least, most); err != nil {
		return l, 0, err
	}
	k.told, k.sent, k.at = l.Now, sent, time.Now()
	if layout := k.generator.Layout(); l.Now.Before(layout.Epoch()) {
		return l, 0, fmt.Errorf("%w: the store's clock is at %s, the layout begins at %s", idgen.ErrBeforeEpoch,
			l.Now.UTC().Format(time.RFC3339), layout.Epoch().Format(time.RFC3339))
	}
	return l, k.ticks(l.Now), nil
}

// now returns the store's time: at least what it has told and the time since its answer, at most that and the time since it was asked. In
// between a generator's clock that was told the time before stays as it is.
func (k *Keeper) now() time.Time {
	least, most, own := k.told.Add(time.Since(k.at)), k.told.Add(time.Since(k.sent)), k.generator.Now()
	switch {
	case k.known == 0 || own.Before(least):
		return least
	case own.After(most):
		return most
	}
	return own
}

// reached returns the tick that the generator's clock cannot go back before: the store's clock may have.
func (k *Keeper) reached() int64 { return k.generator.Used() - 1 - k.terms.lead }

func (k *Keeper) ticks(t time.Time) int64 {
	layout := k.generator.Layout()
	return int64(t.Sub(layout.Epoch()) / layout.Unit())
}

func (k *Keeper) timeOf(tick int64) time.Time {
	return k.generator.Layout().Epoch().Add(k.duration(tick))
}

// duration returns how long a number of ticks is, at most the longest there is.
func (k *Keeper) duration(ticks int64) time.Duration {
	unit := k.generator.Layout().Unit()
	if ticks > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	return time.Duration(ticks) * unit
}

// publish makes known how an attempt went.
func (k *Keeper) publish(err error) {
	next := &status{changed: make(chan struct{})}
	old := k.status.Load()
	if old != nil {
		next.State = old.State
	}
	next.Lost, next.Losses, next.Space, next.ID = k.lost, k.losses, k.config.Space, k.id
	if store, ok := k.store.(interface {
		Place() string
		Warnings() []string
	}); ok {
		next.Table, next.Warnings = store.Place(), store.Warnings()
	}
	for _, w := range next.Warnings { // those of the start can be read, and are no news
		if old != nil && !slices.Contains(old.Warnings, w) {
			k.config.Logger.Warn("snowkey: the database of the grants is not what it was", "space", k.config.Space, "warning", w)
		}
	}
	next.Err, next.Held = err, k.row.Holder != "" && !errors.Is(err, ErrClosed)
	if next.Held {
		if next.Holder != unstamped(k.row.Holder) {
			next.Acquired++
		} else if err == nil {
			next.Renewed++
		}
		next.Number, next.Holder, next.From, next.Until = k.row.Number, unstamped(k.row.Holder), k.timeOf(k.row.From), k.timeOf(k.row.Until)
	}
	next.Failures++
	if err == nil {
		next.Failures = 0
		next.Ahead = k.generator.Now().Sub(k.told.Add(time.Since(k.at)))
	}
	next.row = k.row
	k.status.Store(next)
	if old != nil {
		close(old.changed)
	}
	if k.config.Notify != nil {
		k.config.Notify(next.State)
	}
}

// Next returns a new key. When the grant has ended, as it has after the process was suspended, it waits for one attempt to renew it, or
// until the context ends. The error is an [EndedError] when that has failed, wraps [ErrClosed] after the keeper's end, and is one of
// [idgen.Snowflake.Next] otherwise.
func (k *Keeper) Next(ctx context.Context) (int64, error) {
	id, err := k.generator.Next(ctx)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return 0, err
		}
		id, err = k.generator.Next(ctx)
	}
	return id, nil
}

// Fill sets every element of keys to a new key, all or none. It waits and fails as Next does.
func (k *Keeper) Fill(ctx context.Context, keys []int64) error {
	err := k.generator.Fill(ctx, keys)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return err
		}
		err = k.generator.Fill(ctx, keys)
	}
	return nil
}

// Shards returns how many shards NextFor and FillFor make keys of, 0 for a keeper whose [Config.Generator] has no [idgen.WithShards].
func (k *Keeper) Shards() int { return k.generator.Shards() }

// NextFor returns a new key of a shard, of a keeper whose [Config.Generator] has [idgen.WithShards]. It waits and fails as Next does; the
// error is otherwise one of [idgen.Snowflake.NextFor].
func (k *Keeper) NextFor(ctx context.Context, shard int64) (int64, error) {
	id, err := k.generator.NextFor(ctx, shard)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return 0, err
		}
		id, err = k.generator.NextFor(ctx, shard)
	}
	return id, nil
}

// FillFor sets every element of keys to a new key of a shard, all or none. It waits and fails as NextFor does.
func (k *Keeper) FillFor(ctx context.Context, shard int64, keys []int64) error {
	err := k.generator.FillFor(ctx, shard, keys)
	for err != nil {
		if err := k.await(ctx, err); err != nil {
			return err
		}
		err = k.generator.FillFor(ctx, shard, keys)
	}
	return nil
}

// hurry has the grant renewed now.
func (k *Keeper) hurry() {
	select {
	case k.demand <- struct{}{}:
	default: // another call has asked already
	}
}

// await returns nil when it is worth trying again after an error of the generator.
func (k *Keeper) await(ctx context.Context, err error) error {
	if !errors.Is(err, idgen.ErrGrant) {
		return err
	}
	status := k.status.Load()
	if errors.Is(status.Err, ErrClosed) {
		return status.Err
	}
	if status.Err != nil {
		return &EndedError{Number: status.Number, Until: status.Until, Cause: status.Err}
	}
	k.hurry()
	for {
		// A call that holds a connection of the store's pool must not wait for one that waits for it.
		if store, ok := k.store.(interface{ Starved() bool }); ok && store.Starved() {
			return &EndedError{Number: status.Number, Until: status.Until, Cause: errStarved}
		}
		timer := time.NewTimer(starvation)
		select {
		case <-status.changed:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("grant: waiting for a grant of number %d: %w", status.Number, ctx.Err())
		case <-timer.C:
		}
	}
}

// errStarved is why a call does not wait for a renewal that waits for a connection.
var errStarved = errors.New("the renewal waits for a connection or a lock that statements have which wait for a key; this one makes way for it")

// State returns what is known of the grant. It may be called at any time.
func (k *Keeper) State() State {
	s := k.status.Load().State
	s.Held = s.Held && k.generator.Now().Before(s.Until)
	return s
}

// IsOf tells whether a database is the one that the number is granted in, as another connection reaches it: the grant is renewed, and has to be
// there as renewed. A copy of the database has an older row. So has a replica that has not followed yet, which is asked again until the
// context ends. The error is that of a database, of a renewal that did not come about by then, or [ErrClosed].
func (k *Keeper) IsOf(ctx context.Context, store *SQLStore) (bool, error) {
	if err := store.Locate(ctx); errors.Is(err, ErrTable) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	before := k.status.Load().row
	k.force.Store(true)
	k.hurry()
	for {
		s := k.status.Load()
		switch {
		case errors.Is(s.Err, ErrClosed):
			return false, ErrClosed
		case s.row != before && s.row.Holder != "":
			l, err := store.List(ctx, s.Space, s.row.Number, s.row.Number)
			if err != nil || l.ID != s.ID {
				return false, err
			}
			if slices.Contains(l.Rows, s.row) {
				return true, nil
			}
		}
		if ended := dialect.Sleep(ctx, firstWait); ended != nil {
			if s.row == before {
				return false, fmt.Errorf("grant: the grant was not renewed: %w", errors.Join(s.Err, ended))
			}
			return false, nil
		}
	}
}

// Layout returns the layout of the keys.
func (k *Keeper) Layout() idgen.Layout { return k.generator.Layout() }

// Stats returns the counters of the generator.
func (k *Keeper) Stats() idgen.Stats { return k.generator.Stats() }

// Number returns the number that keys are made with now, in the field of a node or a datacenter.
func (k *Keeper) Number(kind idgen.Kind) idgen.NodeNumber { return k.generator.Number(kind) }

// Close ends the keeper and gives the number back, with the ticks that no key was made at. Calls fail from then on. It takes the
// configuration's Timeout at most, when the store cannot be reached, and is safe to call again. The error is that of giving back: the
// number comes free by itself then, when the grant ends; or it wraps [ErrLost] when the store has forgotten the grant.
func (k *Keeper) Close() error {
	k.stop()
	<-k.done
	return k.failed
}
