package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/ticket"
)

// ErrSource says that a value is none that a [Monitor] reads.
var ErrSource = errors.New("monitor: not a source of metrics")

// Sample is the value of a metric now.
type Sample struct {
	Metric *Metric
	Labels []string // values, in the order of the metric's labels
	Value  float64
}

// Monitor reads the metrics of some sources. It is made by [New], and safe for concurrent use.
type Monitor struct {
	names   []string
	sources map[string]any
}

// New returns what reads the metrics of sources, by the names that the label source gets. A source is a [*gormplugin.Plugin], [*grant.Keeper],
// [*idgen.Snowflake], [*ticket.Tickets], [*ticket.BlockSource], [*ticket.StoreSource] or [*Numbers]. A plugin has the metrics of its keeper, and of a source of
// [gormplugin.From] none: give that by itself. The error wraps [ErrSource] for anything else.
func New(sources map[string]any) (*Monitor, error) {
	m := &Monitor{names: slices.Sorted(maps.Keys(sources)), sources: maps.Clone(sources)}
	for _, name := range m.names {
		switch of := sources[name].(type) {
		case *gormplugin.Plugin, *grant.Keeper, *idgen.Snowflake, *ticket.Tickets, *ticket.BlockSource, *ticket.StoreSource, *Numbers:
		default:
			return nil, fmt.Errorf("%w: %q is a %T; want a plugin, keeper, generator, source of tickets or Numbers", ErrSource, name, of)
		}
	}
	return m, nil
}

// Read returns all samples. The context bounds the reading of [Numbers].
func (m *Monitor) Read(ctx context.Context) []Sample {
	var all []Sample
	for _, name := range m.names {
		r := reader{source: name, to: &all}
		switch of := m.sources[name].(type) {
		case *gormplugin.Plugin:
			r.plugin(of)
		case *grant.Keeper:
			r.keeper(of)
		case *idgen.Snowflake:
			r.generator(of.Stats())
		case *ticket.Tickets:
			stats := of.Stats()
			r.add(ids, float64(stats.Issued))
			r.servers(stats.Servers)
		case *ticket.BlockSource:
			r.blocks(of.Stats())
		case *ticket.StoreSource:
			r.blocks(of.Stats())
		case *Numbers:
			of.samples(ctx, r)
		}
	}
	return all
}

// reader adds samples of one source.
type reader struct {
	source string
	to     *[]Sample
}

func (r reader) add(m *Metric, value float64, labels ...string) {
	*r.to = append(*r.to, Sample{Metric: m, Labels: append([]string{r.source}, labels...), Value: value})
}

func (r reader) plugin(p *gormplugin.Plugin) {
	if k := p.Keeper(); k != nil {
		r.keeper(k)
	}
	for model, n := range p.Stats().FillErrors {
		r.add(fillErrors, float64(n), model)
	}
}

func (r reader) generator(s idgen.Stats) {
	r.add(ids, float64(s.Issued))
	r.add(waits, float64(s.Waits))
	r.add(waited, s.Waited.Seconds())
	r.add(borrowed, float64(s.Borrowed))
	r.add(clockSteps, float64(s.StepsBack), "back")
	r.add(clockSteps, float64(s.StepsForward), "forward")
	r.add(refusals, float64(s.Refused.Full), "full")
	r.add(refusals, float64(s.Refused.Clock), "clock")
	r.add(refusals, float64(s.Refused.Time), "time")
	r.add(refusals, float64(s.Refused.Grant), "grant")
	r.add(refusals, float64(s.Refused.Ended), "ended")
}

func (r reader) keeper(k *grant.Keeper) {
	r.generator(k.Stats())
	s := k.State()
	r.add(grantHeld, toFloat(s.Held))
	r.add(grantLeft, s.Left.Seconds())
	r.add(grantAcquired, float64(s.Acquired))
	r.add(grantRenewals, float64(s.Renewed))
	r.add(grantFailures, float64(s.Failures))
	r.add(grantLost, float64(s.Lost))
	r.add(grantDoubts, float64(len(s.Losses)))
	r.add(grantAhead, s.Ahead.Seconds())
	r.add(grantWarnings, float64(len(s.Warnings)))
}

func (r reader) blocks(s ticket.BlockStats) {
	r.add(ids, float64(s.Issued))
	r.add(waits, float64(s.Waits))
	r.add(stock, float64(s.Buffered))
	if s.Lasts < math.MaxInt64 {
		r.add(stockLasts, s.Lasts.Seconds())
	}
	r.add(refills, float64(s.Refills))
	r.add(refillFailures, float64(s.Failures))
	r.servers(s.Servers)
}

func (r reader) servers(all []ticket.ServerStats) {
	for _, s := range all {
		for _, state := range []ticket.State{ticket.HalfOpen, ticket.Closed, ticket.Open, ticket.Quarantined} {
			r.add(serverState, toFloat(s.State == state), s.Name, state.String())
		}
		r.add(serverUsed, s.Used, s.Name)
		r.add(serverDraws, float64(s.Draws), s.Name)
		for class, n := range s.Failures {
			r.add(serverErrors, float64(n), s.Name, class.String())
		}
	}
}

func toFloat(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
