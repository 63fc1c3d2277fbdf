package strategy

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// fleetSize is how many generators a fleet has.
const fleetSize = 16

// fleetOf is the strategy of a fleet of generators of a preset, whose strategy for one process is given. A range of time has the order of its nodes: a tick,
// or a band of a layout whose time stands in two places.
func fleetOf(one Strategy, preset idgen.Preset, cost string) Strategy {
	info := one.Info()
	info.Name += "-fleet16"
	info.About = "Keys of " + one.Info().Name + " from 16 generators with node numbers of their own, which take turns, a row each: what a table sees of 16 processes of " +
		"an application. Within " + preset.Band().String() + " the nodes decide about the order."
	info.Origin = "package idgen of this module; a way to measure, not one to make keys with"
	info.Needs = "16 node numbers a process, set by hand here"
	info.Cost = cost
	info.Coordination = "the node numbers, which the strategy " + one.Info().Name + " has granted by the database"
	info.Order, info.Unit = Ticks, preset.Band()
	info.Limit *= fleetSize
	info.Granted = false
	return New(info, func(_ context.Context, at Environment) (idgen.Source[int64], error) {
		if at.Clock == nil {
			clock := newSteady()
			defer clock.running.Store(true)
			at.Clock = clock
		}
		f := &fleet{}
		for i := range f.nodes {
			var err error
			if f.nodes[i], err = at.generator(preset, idgen.WithNode(int64(at.Process*fleetSize+i))); err != nil {
				return nil, fmt.Errorf("generator %d of %d: %w", i+1, fleetSize, err)
			}
		}
		return f, nil
	})
}

// fleet has its generators take turns.
type fleet struct {
	turn  atomic.Uint64
	nodes [fleetSize]idgen.Source[int64]
}

func (f *fleet) node() idgen.Source[int64] { return f.nodes[f.turn.Add(1)%fleetSize] }

func (f *fleet) Next(ctx context.Context) (int64, error) { return f.node().Next(ctx) }

// Writer returns the generator of one process: the n-th writer of several, which take turns.
func (f *fleet) Writer(n int) idgen.Source[int64] { return f.nodes[n%fleetSize] }

// Fill has each node make every sixteenth id: the order in which rows of many processes arrive.
func (f *fleet) Fill(ctx context.Context, ids []int64) error {
	for i := range ids {
		id, err := f.Next(ctx)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	return nil
}

// steady is the machine's clock since an instant, without the steps of its time of day. A generator sets its clock by the time of day when it is
// made, and in between it may have moved a little, or much where the goroutine is held up meanwhile; this one stands still until all of a fleet are
// made, which so have the same ticks.
type steady struct {
	start   time.Time
	running atomic.Bool
}

func newSteady() *steady { return &steady{start: time.Now()} }

// Wall returns the time of day at the start and the time since.
func (s *steady) Wall() time.Time { return s.start.Add(s.Elapsed()) }

// Elapsed returns the time since the start.
func (s *steady) Elapsed() time.Duration {
	if !s.running.Load() {
		return 0
	}
	return time.Since(s.start)
}
