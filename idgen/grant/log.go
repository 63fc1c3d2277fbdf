package grant

import (
	"errors"
	"slices"

	"github.com/snowkey-go/snowkey/idgen"
)

// What a keeper logs, each line once for each event and at the level of warnings, so that a log of warnings alone also has the end of a trouble. A
// loss of a number is logged where it is found, see lose and forget.

// logged is what the log was told. It belongs to the keeper's goroutine.
type logged struct {
	ending    bool  // the grant is about to end
	borrowed  int64 // ticks that the generator had borrowed at the last renewal
	borrowing bool  // it borrows all the time
}

// announce takes note of the layouts of the space, and logs a change that was announced since.
func (k *Keeper) announce(phases idgen.Phases) {
	if next := phases[len(phases)-1]; k.phases != nil && len(phases) > len(k.phases) {
		k.config.Logger.Warn("snowkey: the key space changes its layout", "space", k.config.Space, "at", next.Begin(), "to", next.Layout.String())
	}
	k.phases = phases
}

// warn logs what the store warns of and has not before.
func (k *Keeper) warn(old, now []string) {
	for _, w := range now {
		if !slices.Contains(old, w) {
			k.config.Logger.Warn("snowkey: the store of the grants has a warning", "space", k.config.Space, "warning", w)
		}
	}
}

// report logs what is new since the attempt before.
func (k *Keeper) report(old, now *State) {
	if k.halted != nil || errors.Is(now.Err, ErrClosed) {
		return
	}
	k.warn(old.Warnings, now.Warnings)
	log := k.config.Logger.With("space", k.config.Space, "number", now.Number)
	if now.Err != nil {
		if old.Failures == 0 {
			log.Warn("snowkey: renewing the grant failed", "until", now.Until, "err", now.Err)
		}
		// A quarter is left of what the last renewal had granted.
		if left := now.Until.Sub(k.generator.Now()); now.Held && !k.logged.ending && left < k.duration(k.row.Until-k.known)/4 {
			k.logged.ending = true
			log.Warn("snowkey: the grant is about to end, and calls fail from then on", "until", now.Until, "err", now.Err)
		}
		return
	}
	if old.Failures > 0 {
		log.Warn("snowkey: the grant is renewed again", "until", now.Until, "failures", old.Failures)
	}
	k.logged.ending = false
	// More than the generator may be ahead at one time: it does not catch up.
	total := k.generator.Stats().Borrowed
	ticks := total - k.logged.borrowed
	was := k.logged.borrowing
	k.logged.borrowed, k.logged.borrowing = total, ticks > k.terms.lead
	if k.logged.borrowing && !was {
		log.Warn("snowkey: the generator borrows ticks faster than they come", "ticks", ticks, "bound", k.terms.lead)
	}
}
