package idgen

import (
	"fmt"
	"time"
)

// Option is something that [New] can be told. A [Layout] and a [Preset] are options too: a Layout leaves the policies as they are, a
// Preset sets its maker's. Options apply in their order, so that one after a Preset changes a policy of it.
type Option interface{ apply(*config) error }

type config struct {
	layout    Layout
	policy    policy
	numbers   map[Kind]func(bits int) (NodeNumber, error)
	spare     []int64 // more node numbers, ascending
	granted   bool    // the node's and the datacenter's number come with grants
	sharded   bool    // the shard's number comes with each id
	floored   bool
	floor     int64 // the id that all of the generator's are to be greater than
	clock     Clock
	random    func() uint64
	exhausted func(time.Time)
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

func (l Layout) apply(c *config) error {
	if l.unit == 0 {
		return fmt.Errorf("%w: the zero Layout has no fields", ErrLayout)
	}
	c.layout = l
	return nil
}

func (p Preset) apply(c *config) error {
	c.policy = p.policy
	return p.Layout.apply(c)
}

// WithNode gives the generator's node number, 0 to the layout's Max(Node). No two generators that make keys of one key space with
// one layout may have the same numbers at the same time.
func WithNode(n int64) Option { return number(Node, n) }

// WithNodeFrom takes the generator's node number from a source, for instance [EnvNode].
func WithNodeFrom(source NodeSource) Option { return numberFrom(Node, source) }

// WithDatacenter gives the generator's datacenter number, 0 to the layout's Max(Datacenter).
func WithDatacenter(n int64) Option { return number(Datacenter, n) }

// WithDatacenterFrom takes the generator's datacenter number from a source, for instance [EnvNode].
func WithDatacenterFrom(source NodeSource) Option { return numberFrom(Datacenter, source) }

// WithShard gives the logical shard that all of the generator's ids belong to, 0 to the layout's Max(Shard). [WithShards] makes a
// generator for all shards.
func WithShard(n int64) Option { return number(Shard, n) }

func number(kind Kind, n int64) Option {
	return numberFrom(kind, func(int) (NodeNumber, error) { return NodeNumber{Value: n, Origin: "given"}, nil })
}

func numberFrom(kind Kind, source NodeSource) Option {
	return optionFunc(func(c *config) error {
		if source == nil {
			return fmt.Errorf("%w: the source of the %s number is nil", ErrNode, kind)
		}
		c.numbers[kind] = source
		return nil
	})
}

// WithClock makes the generator read its time from the clock given, for tests and simulations.
func WithClock(clock Clock) Option {
	return optionFunc(func(c *config) error {
		if clock == nil {
			return fmt.Errorf("%w: the clock is nil", ErrRange)
		}
		c.clock = clock
		return nil
	})
}

// WithRandom makes [StartRandom] take its numbers from a function, which must be safe for concurrent use.
func WithRandom(random func() uint64) Option {
	return optionFunc(func(c *config) error {
		if random == nil {
			return fmt.Errorf("%w: the source of random numbers is nil", ErrRange)
		}
		c.random = random
		return nil
	})
}

// WithExhaustion has a function called once, when less than a year of the layout is left, with the instant at which it runs out. It is
// called on the goroutine of the call that notices, New or Next or Fill, which goes on when it returns.
func WithExhaustion(warn func(at time.Time)) Option {
	return optionFunc(func(c *config) error {
		c.exhausted = warn
		return nil
	})
}
