package grant

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// generators are those of a keeper: one, or one for each of the two layouts that it knows. They take turns at the ticks at which the space changes its
// layout. A grant is given to all of them, each has the ticks of its phases.
type generators struct {
	all     []*generator              // of Config.Generator, and of Config.Before
	current atomic.Pointer[generator] // that makes the keys

	mu     sync.Mutex
	phases idgen.Phases // of the space, from the current one on; guarded by mu, as are those below
	begun  bool         // there was a grant: the phase is no more to be chosen
	rest   idgen.Grant  // of the grant, the ticks of the next phase; no ticks, nothing
}

// generator is one of them, by its place.
type generator struct {
	*idgen.Snowflake
	place int64
}

// newGenerators returns the generators of a configuration.
func newGenerators(config Config) (*generators, error) {
	g := &generators{}
	for i, options := range [][]idgen.Option{config.Generator, config.Before} {
		if i > 0 && len(options) == 0 {
			break
		}
		made, err := idgen.New(append(options[:len(options):len(options)], idgen.WithGrants())...)
		if err != nil {
			return nil, err
		}
		g.all = append(g.all, &generator{made, int64(i)})
	}
	g.current.Store(g.all[0])
	if len(g.all) == 1 {
		return g, nil
	}
	return g, g.check()
}

// check reports whether a space can go from the layout of the second to that of the first while a keeper has one number.
func (g *generators) check() error {
	next, before := g.all[0], g.all[1]
	if err := before.Layout().CheckNext(next.Layout()); err != nil {
		return fmt.Errorf("%w: Before: %w", ErrConfig, err)
	}
	least, most := next.Grantable()
	if low, high := before.Grantable(); low != least || high != most {
		return fmt.Errorf("%w: Before has the numbers %d to %d, and Generator %d to %d; both need the same, since a grant is of both layouts", ErrConfig, low, high, least, most)
	}
	if next.Shards() > 0 || before.Shards() > 0 {
		return fmt.Errorf("%w: Before with idgen.WithShards; a space whose generators make keys for all shards keeps its layout", ErrConfig)
	}
	return nil
}

// of returns the generator of a layout, nil for none.
func (g *generators) of(l idgen.Layout) *generator {
	for _, one := range g.all {
		if one.Layout() == l {
			return one
		}
	}
	return nil
}

// follow takes note of the layouts of the space, and returns the first tick that the keeper may have of it. It reports false when the keeper does not know
// the last one, or would have to go back to a former one: then nothing has changed.
func (g *generators) follow(p idgen.Phases) (floor int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	least := len(p)
	for least > 0 && g.of(p[least-1].Layout) != nil {
		least--
	}
	if p = p[least:]; len(p) == 0 {
		return 0, false
	}
	if !g.begun {
		g.phases = p
		g.current.Store(g.of(p[0].Layout))
		return p[0].From, true
	}
	for i := range p {
		if p[i] == g.phases[0] {
			g.phases = p[i:]
			return p[i].From, true
		}
	}
	// A space that was restored to before a change, which was announced again: the number is lost, and there are none before the new time.
	if last := p[len(p)-1]; last.Layout == g.phases[0].Layout {
		g.phases = p[len(p)-1:]
		return last.From, true
	}
	return 0, false
}

// end returns the tick at which a generator that does not know all layouts ends, by the phases of its space; 0 when these are not its own.
func (g *generators) end(p idgen.Phases) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range p {
		if len(g.phases) > 0 && p[i] == g.phases[0] && i+1 < len(p) {
			return p[i+1].From
		}
	}
	return 0
}

// SetGrant gives a grant to the generators, see [idgen.Snowflake.SetGrant].
func (g *generators) SetGrant(grant idgen.Grant) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun, g.rest = true, idgen.Grant{}
	for len(g.phases) > 1 && (grant.From >= g.phases[1].From || grant.Until > g.phases[1].From && g.tick(grant) >= g.phases[1].From-1) {
		g.phases = g.phases[1:]
	}
	return g.give(grant)
}

// give gives the current phase its ticks of a grant, which has some of them, and keeps the rest for the next one.
func (g *generators) give(grant idgen.Grant) error {
	grant.From, g.rest = max(grant.From, g.phases[0].From), idgen.Grant{}
	rest := grant
	if len(g.phases) > 1 && grant.Until > g.phases[1].From {
		grant.Until, rest.From = g.phases[1].From, g.phases[1].From
	} else {
		rest = idgen.Grant{}
	}
	next := g.of(g.phases[0].Layout)
	if err := next.SetGrant(grant); err != nil {
		return err
	}
	g.rest = rest
	g.current.Store(next)
	return nil
}

// tick returns the tick of a grant's time.
func (g *generators) tick(grant idgen.Grant) int64 {
	layout := g.all[0].Layout()
	return int64(grant.Now.Sub(layout.Epoch()) / layout.Unit())
}

// turned reports whether a call that a generator has refused, since it has no ticks left, may try again: the next one has taken its turn.
func (g *generators) turned(refused *generator) bool {
	if g.current.Load() != refused {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current.Load() != refused {
		return true
	}
	rest := g.rest
	rest.Now = refused.Now()
	if rest.Until == 0 || g.tick(rest) < rest.From-1 { // the tick before may be full already
		return false
	}
	g.phases = g.phases[1:]
	return g.give(rest) == nil
}

// Suspend takes the grant away from all.
func (g *generators) Suspend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest = idgen.Grant{}
	for _, one := range g.all {
		one.Suspend()
	}
}

// Seal ends all, and returns the tick after the last one that any has used.
func (g *generators) Seal() (end int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rest = idgen.Grant{}
	for _, one := range g.all {
		end = max(end, one.Seal())
	}
	return end
}

// Used returns the tick after the last one that any has used.
func (g *generators) Used() (used int64) {
	for _, one := range g.all {
		used = max(used, one.Used())
	}
	return used
}

// Lead returns how many ticks ahead of the clock any makes ids at most.
func (g *generators) Lead() (lead int64) {
	for _, one := range g.all {
		lead = max(lead, one.Lead())
	}
	return lead
}

// Streams returns the most streams that any has.
func (g *generators) Streams() (streams int) {
	for _, one := range g.all {
		streams = max(streams, one.Streams())
	}
	return streams
}

// Stats returns the counters of all together.
func (g *generators) Stats() (sum idgen.Stats) {
	for _, one := range g.all {
		sum = sum.Add(one.Stats())
	}
	return sum
}

// Layout returns the layout of the current one.
func (g *generators) Layout() idgen.Layout { return g.current.Load().Layout() }

// Now returns the time by the clock of the current one.
func (g *generators) Now() time.Time { return g.current.Load().Now() }
