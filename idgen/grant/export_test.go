package grant

import (
	"context"
	"slices"
)

// Unstamped returns a holder's name without the marks of swaps.
var Unstamped = unstamped

// Clone returns a second keeper with the memory of the first, as a machine has that was started twice from one image: the same number, holder
// and grant. It is to be called by the first one's Notify, on its goroutine.
func Clone(ctx context.Context, k *Keeper, notify func(State)) (*Keeper, error) {
	config := k.config
	config.Notify = notify
	generator, err := newGenerators(config)
	if err != nil {
		return nil, err
	}
	generator.follow(k.phases)
	twin := &Keeper{
		store: k.store, config: config, generator: generator, terms: k.terms, rows: k.rows, phases: k.phases, demand: make(chan struct{}, 1), done: make(chan struct{}),
		row: k.row, asked: slices.Clone(k.asked), holder: k.holder, id: k.id, known: k.known, told: k.told, sent: k.sent, at: k.at,
	}
	if k.row.Holder != "" {
		if err := twin.install(k.row, k.known); err != nil {
			return nil, err
		}
	}
	twin.status.Store(&status{State: k.status.Load().State, changed: make(chan struct{})})
	ctx, twin.stop = context.WithCancel(ctx)
	go twin.run(ctx)
	return twin, nil
}

// Turn has the next layout take its turn, if its tick has come, and reports whether it has.
func Turn(k *Keeper) bool { return k.generator.turned(k.generator.current.Load()) }
