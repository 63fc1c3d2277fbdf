package grant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// abandon gives back what a keeper that never was, or has lost its number, may have been granted. It is tried once: what is left comes
// free by itself.
func (k *Keeper) abandon(ctx context.Context, end int64) {
	if k.row.Holder == "" && len(k.asked) == 0 {
		return
	}
	_ = k.within(context.WithoutCancel(ctx), func(ctx context.Context) error {
		listing, err := k.store.List(ctx, k.rows, k.terms.least, k.terms.most)
		if err != nil {
			return err
		}
		for _, row := range listing.Rows {
			if k.owns(row) {
				if _, err := k.store.Swap(ctx, k.rows, row, k.terms.released(row, end)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// owns reports whether a row is as this keeper has left it, or asked for it to be. One with its holder that is not was changed by another
// process with the same memory, or by a restore.
func (k *Keeper) owns(row Row) bool {
	return row.Holder != "" && row == k.row || slices.Contains(k.asked, row)
}

// swap is [Store.Swap], and remembers what was asked for where there is no answer.
func (k *Keeper) swap(ctx context.Context, old, next Row) (bool, error) {
	done, err := k.store.Swap(ctx, k.rows, old, next)
	if err != nil && !slices.Contains(k.asked, next) {
		k.asked = append(k.asked, next)
	}
	return done, err
}

// acquire takes a number. At the start the clock is compared with the store's first.
func (k *Keeper) acquire(ctx context.Context, starting bool) error {
	if k.holder == "" {
		k.holder = newHolder(k.config.Name, k.generator.all[0].Layout())
	}
	for tries := 0; ; tries++ {
		before := k.generator.Now()
		listing, now, err := k.list(ctx, k.terms.least, k.terms.most)
		if err != nil {
			return err
		}
		if now < k.floor {
			return &LayoutError{Space: k.config.Space, InForce: k.phases.String(), Wanted: k.generator.Layout().Fingerprint(), phases: k.phases}
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
				if renamed, err := k.renamed(ctx); renamed || err != nil {
					if err != nil {
						return err
					}
					continue
				}
				return k.taken(listing, now)
			}
			next = k.terms.acquired(old, stamped(k.holder, old.Holder), now, max(k.generator.Used(), k.floor))
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
		k.holder, k.asked = newHolder(k.config.Name, k.generator.all[0].Layout()), nil
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
	// The swaps say that the row is another's; which one it is, the listing may say. One of rows that have moved says nothing.
	if listing, _, err = k.list(ctx, k.row.Number, k.row.Number); err != nil {
		return err
	}
	if renamed, err := k.renamed(ctx); err != nil {
		return err
	} else if renamed {
		return k.renew(ctx)
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
	k.config.Logger.Warn("snowkey: a number was lost: it has another holder since its grant ended", "space", k.config.Space, "number", number, "until", k.timeOf(k.row.Until))
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
	k.losses = append(slices.Clone(k.losses[max(0, len(k.losses)-MostLosses+1):]), doubt)
	if k.config.StopOnLoss {
		k.halted = err
	}
	k.config.Logger.Warn("snowkey: ids may exist twice: the database has forgotten a grant", "space", k.config.Space, "number", loss.Number, "from", doubt.From,
		"until", doubt.Until, "holder", loss.Holder, "why", how, "stopped", k.config.StopOnLoss, "command", doubtCommand(k.store))
	return err
}

// doubtCommand is what an operator runs to see which ids are in doubt.
func doubtCommand(store Store) string {
	if _, ok := store.(*SQLStore); ok {
		return "snowkey nodes doubt --db DSN"
	}
	return "snowkey nodes doubt --store URL --dialect DIALECT"
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
			done, err := k.store.Swap(ctx, k.rows, row, k.terms.released(row, end))
			unanswered = unanswered || err != nil
			if err != nil || done {
				return err
			}
			was := k.rows
			listing, err := k.store.List(ctx, was, row.Number, row.Number)
			if err != nil {
				return err
			}
			if _, err := k.renamed(ctx); k.rows != was || err != nil && !errors.Is(err, ErrLayout) {
				return errors.Join(err, errRenamed)
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
			return fmt.Errorf("grant: giving number %d back, which is free from %s on without that: %w", row.Number, k.timeOf(row.Until).Format(time.RFC3339), err)
		}
		_ = dialect.Sleep(ctx, wait) // the next attempt fails if it has ended
		wait *= 2
	}
}

// errRenamed says that a row is to be looked for under another name.
var errRenamed = errors.New("the rows of the space have another name since its layout changes")

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
	if l, err = k.store.List(ctx, k.rows, least, most); err != nil {
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
