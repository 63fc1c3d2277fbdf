package ticket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// StoreSource is a [Buffer] of blocks of ids from a [grant.Store]: for processes that share a Redis, an etcd or a ZooKeeper, and no database.
type StoreSource struct {
	*Buffer
	blocks *storeBlocks
}

// BlocksIn returns a source that allocates blocks of ids from a store of grants, such as those of the packages redisgrant, etcdgrant and zkgrant, by one compare-and-swap
// each. Its ids increase. The sequence is a key space of its own there, "blocks." and its name. A block is the range of ticks of the space's only row, number 0.
//
// Of the configuration, Table, Increment, AllowUnsafe, Failures and Notify are for servers, and refused. The greatest id is 1<<62-2. The store's rules hold
// at each allocation: a store that may lose what it has acknowledged is an error, that of its Prepare.
//
// It does nothing yet: Setup makes the sequence. The error wraps [ErrConfig].
func BlocksIn(config BlockConfig, store grant.Store) (*StoreSource, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: no store", ErrConfig)
	}
	if config.Table != "" || config.Increment > 1 || config.AllowUnsafe || config.Failures != 0 || config.Notify != nil {
		return nil, fmt.Errorf("%w: Table, Increment, AllowUnsafe, Failures and Notify are for servers, and there are none", ErrConfig)
	}
	config, err := config.complete(1)
	if err != nil {
		return nil, err
	}
	config.Limit = min(config.Limit, grant.Forever-2)
	b := &storeBlocks{store: store, config: config, space: "blocks." + config.Sequence, name: "the store"}
	if config.Limit < config.Unit {
		return nil, fmt.Errorf("%w: limit %d, want at least a unit, %d ids", ErrConfig, config.Limit, config.Unit)
	}
	if err := grant.CheckSpace(b.space); err != nil {
		return nil, fmt.Errorf("%w: sequence %q has %d characters, at most %d in a store", ErrConfig, config.Sequence, len(config.Sequence), 64-len("blocks."))
	}
	if placed, ok := store.(interface{ Place() string }); ok {
		b.name = placed.Place()
	}
	return &StoreSource{newBuffer(config, b), b}, nil
}

// Setup makes the sequence in the store, where it is missing. It may be run at each start, and by many processes at once. The error wraps [ErrForgotten] where
// the sequence was there once, as far as the store or this source knows, and is not any more: see Restore. It wraps [ErrLayout] where the space has another use.
func (s *StoreSource) Setup(ctx context.Context) error {
	if err := s.blocks.verify(ctx); err != nil {
		return err
	}
	return s.blocks.advance(ctx, func(row grant.Row, l grant.Listing) (int64, error) {
		if row.Holder != grant.Absent {
			return row.Until, nil
		}
		if l.Gone > 0 || l.Absent > 0 {
			return 0, s.blocks.forgotten("its row is gone")
		}
		return 1, nil
	})
}

// Restore makes the sequence go on after a number: all ids that are allocated from then on are greater. It is for a table that had other keys before, and for a store that
// has forgotten the sequence, or was set back, as by a restored backup. Who calls it has to know a number that is no less than any id in use: from the
// tables that have them, and from the processes that hold blocks, which are best ended before. What this source has, and what the store remembers, is known. The sequence is never set back.
func (s *StoreSource) Restore(ctx context.Context, after int64) error {
	if c := s.blocks.config; after < 1 || after >= c.Limit || s.blocks.begin(after+1) > c.Limit-c.Unit+1 {
		return fmt.Errorf("%w: to go on after %d, want 1 or more, and %d ids after it up to the limit, %d", ErrConfig, after, c.Unit, c.Limit)
	}
	return s.blocks.advance(ctx, func(row grant.Row, l grant.Listing) (int64, error) {
		return max(row.Until, s.blocks.begin(after+1), s.blocks.known(), l.Absent), nil
	})
}

// storeBlocks is the [allocator] of a StoreSource.
type storeBlocks struct {
	store  grant.Store
	config BlockConfig
	space  string
	name   string // of the store, for errors

	mu     sync.Mutex // guards all below
	id     string     // the identity of the space, as it was read first
	next   int64      // all ids below it may be in use, as far as this source knows
	back   error      // why the store cannot be trusted until Restore
	err    error      // the latest
	warned bool       // that the ids come to their end
}

var _ allocator = (*storeBlocks)(nil)

// blocksHolder is the holder of the row.
const blocksHolder = "blocks of ids; until is the next one"

// layout is the text of the space's layout.
func (b *storeBlocks) layout() string { return fmt.Sprintf("blocks=%d", b.config.Unit) }

// begin returns where the first unit begins that does not begin before an id.
func (b *storeBlocks) begin(id int64) int64 {
	return (id+b.config.Unit-2)/b.config.Unit*b.config.Unit + 1
}

func (b *storeBlocks) known() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

func (b *storeBlocks) forgotten(why string) error {
	return fmt.Errorf("%w: %s, sequence %q: %s; end the processes that hold blocks, and call Restore with a number that is no less than any id in use",
		ErrForgotten, b.name, b.config.Sequence, why)
}

// prepare has the store examine itself, and makes the space where it is missing.
func (b *storeBlocks) prepare(ctx context.Context) error {
	layout, err := b.store.Prepare(ctx, b.space, b.layout())
	if err == nil && layout != b.layout() {
		err = fmt.Errorf("%w: the space %s of %s has the layout %s, want %s: give all processes the same Unit", ErrLayout, b.space, b.name, layout, b.layout())
	}
	return err
}

// read returns the row, which is Absent where there is none.
func (b *storeBlocks) read(ctx context.Context) (grant.Row, grant.Listing, error) {
	l, err := b.store.List(ctx, b.space, 0, 0)
	if err == nil && len(l.Rows) == 1 {
		return l.Rows[0], l, nil
	}
	return grant.Row{Holder: grant.Absent}, l, err
}

// verify reports that the sequence is not the one that this source knows, if it knows one. It makes no space.
func (b *storeBlocks) verify(ctx context.Context) error {
	b.mu.Lock()
	id := b.id
	b.mu.Unlock()
	if id == "" {
		return nil
	}
	row, l, err := b.read(ctx)
	if err == nil {
		_, err = b.recognize(row, l)
	}
	return err
}

// advance moves the row to where a function says, and takes the space as it is then for that of the sequence.
func (b *storeBlocks) advance(ctx context.Context, to func(grant.Row, grant.Listing) (int64, error)) error {
	ctx, cancel := b.config.bound(ctx, retryFactor*b.config.Timeout)
	defer cancel()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		row, l, err := b.read(ctx)
		if err != nil {
			return err
		}
		next, err := to(row, l)
		if err != nil {
			return err
		}
		done := row.Holder != grant.Absent && row.Until == next
		if !done {
			done, err = b.store.Swap(ctx, b.space, row, grant.Row{Holder: blocksHolder, From: next, Until: next})
		}
		if done {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.id, b.next, b.back = l.ID, max(b.next, next), nil
		}
		if done || err != nil {
			return err
		}
		if err := b.pause(ctx, tries); err != nil {
			return err
		}
	}
}

// pause waits after a swap that changed nothing, since others were faster, or the listing was out of date: longer each time, up to Backoff.
func (b *storeBlocks) pause(ctx context.Context, tries int) error {
	return dialect.Sleep(ctx, rand.N(min(time.Millisecond<<min(tries, 16), b.config.Backoff)+1))
}

// allocate is [allocator.allocate].
func (b *storeBlocks) allocate(ctx context.Context, count int64) (allocation, error) {
	backoff := b.config.Backoff
	for troubled := false; ; troubled = true {
		start := time.Now()
		allocated, err := b.take(ctx, (count-1)/b.config.Unit+1)
		if ctx.Err() == nil {
			b.note(err)
		}
		switch {
		case err == nil:
			return allocation{span: allocated, took: time.Since(start), troubled: troubled}, nil
		case ctx.Err() != nil:
			return allocation{}, b.unavailable(ctx.Err())
		case lasting(err):
			return allocation{}, b.unavailable(nil)
		}
		_ = dialect.Sleep(ctx, backoff+rand.N(backoff/5+1)) // an ended context ends the next attempt
		backoff = min(2*backoff, b.config.MaxBackoff)
	}
}

// note keeps the error of an attempt, and logs the first of several and that they have ended.
func (b *storeBlocks) note(err error) {
	b.mu.Lock()
	before := b.err
	b.err = err
	near := !b.warned && float64(b.next) >= nearlyUsed*float64(b.config.Limit)
	b.warned = b.warned || near
	b.mu.Unlock()
	log := b.config.Logger.With("sequence", b.config.Sequence, "store", b.name)
	switch {
	case err != nil && before == nil:
		log.Warn("snowkey: a store gives no blocks", "err", err)
	case err == nil && before != nil:
		log.Warn("snowkey: a store gives blocks again")
	}
	if near {
		log.Warn("snowkey: the blocks of a store come to their end", "limit", b.config.Limit)
	}
}

// lasting reports whether an error stays until somebody mends it.
func lasting(err error) bool {
	for _, e := range []error{ErrTable, ErrForgotten, ErrRegression, ErrLayout, ErrExhausted, grant.ErrUnsafe, grant.ErrStore, grant.ErrTable} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// take takes units, within the time for one attempt. Whatever it takes without an answer is lost.
func (b *storeBlocks) take(ctx context.Context, units int64) (span, error) {
	ctx, cancel := context.WithTimeout(ctx, b.config.ServerTimeout)
	defer cancel()
	for tries := 0; ; tries++ {
		before := b.known()
		row, l, err := b.read(ctx)
		if err != nil {
			return span{}, err
		}
		known, err := b.recognize(row, l)
		if err != nil {
			return span{}, err
		}
		if tries == 0 { // not before, since it would make the space
			if err := b.prepare(ctx); err != nil {
				return span{}, err
			}
		}
		first := b.begin(max(row.Until, known))
		units = min(units, (b.config.Limit-first+1)/b.config.Unit)
		if units < 1 {
			return span{}, &ExhaustedError{Limit: b.config.Limit}
		}
		end := first + units*b.config.Unit
		taken, err := b.store.Swap(ctx, b.space, row, grant.Row{Holder: blocksHolder, From: first, Until: end})
		if err != nil {
			return span{}, err
		}
		if taken {
			return span{first: first, unit: b.config.Unit, jump: b.config.Unit, units: units}, b.took(row, before, end)
		}
		if err := b.pause(ctx, tries); err != nil {
			return span{}, err
		}
	}
}

// recognize returns what this source knows of the sequence, or why the row is not that of it.
func (b *storeBlocks) recognize(row grant.Row, l grant.Listing) (known int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.back != nil:
		return 0, b.back
	case l.ID == "" && b.id == "":
		return 0, fmt.Errorf("%w: %s has no sequence %q; run Setup", ErrTable, b.name, b.config.Sequence)
	case l.ID == "":
		return 0, b.forgotten("it is gone")
	case b.id != "" && l.ID != b.id:
		return 0, b.forgotten("another one was made in its place")
	case row.Holder == grant.Absent && l.Mark == 0 && b.id == "": // a Setup that was cut short
		return 0, fmt.Errorf("%w: the sequence %q of %s has no row; run Setup", ErrTable, b.config.Sequence, b.name)
	case row.Holder == grant.Absent:
		return 0, b.forgotten("its row is gone")
	}
	b.id = l.ID
	return b.next, nil
}

// took notes that all ids before end are in use. A row that really was behind what this source knew before it was read, and not only read late, was set back.
func (b *storeBlocks) took(row grant.Row, before, end int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if row.Until < before {
		b.back = fmt.Errorf("%w: %s, sequence %q: the next id was %d, and was %d before; end the processes that hold blocks, and call Restore with a number that is no less than any id in use",
			ErrRegression, b.name, b.config.Sequence, row.Until, before)
	}
	b.next = max(b.next, end)
	return b.back
}

// unavailable is [allocator.unavailable].
func (b *storeBlocks) unavailable(ended error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &UnavailableError{Ended: ended}
	if b.err != nil {
		class := Next
		if lasting(b.err) {
			class = Permanent
		}
		e.Servers = []*ServerError{{Server: b.name, Class: class, Err: b.err}}
	}
	return e
}

// recheck is [allocator.recheck].
func (b *storeBlocks) recheck(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.config.ServerTimeout)
	defer cancel()
	before := b.known()
	row, l, err := b.read(ctx)
	if err != nil {
		return nil // the next look, or the next allocation, tells more
	}
	if _, err = b.recognize(row, l); err == nil && row.Until < before {
		_, err = b.take(ctx, 1) // a unit for nobody: what answers reads may be behind, and what swaps is not
	}
	if !setBack(err) {
		return nil
	}
	b.note(err)
	return err
}

func (b *storeBlocks) stats() []ServerStats { return nil }

// close is [allocator.close]: nothing is under way without the buffer.
func (b *storeBlocks) close() {}
