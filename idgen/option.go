package idgen

import "fmt"

// Option is something that [New] can be told. A [Layout] and a [Preset] are options too.
type Option interface{ apply(*config) error }

type config struct {
	layout  Layout
	numbers map[Kind]int64
	clock   Clock
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

// WithNode gives the generator's node number, 0 to the layout's Max(Node). No two generators that make keys of one key space with
// one layout may have the same numbers at the same time.
func WithNode(n int64) Option { return number(Node, n) }

// WithDatacenter gives the generator's datacenter number, 0 to the layout's Max(Datacenter).
func WithDatacenter(n int64) Option { return number(Datacenter, n) }

// WithShard gives the logical shard that all of the generator's ids belong to, 0 to the layout's Max(Shard).
func WithShard(n int64) Option { return number(Shard, n) }

func number(kind Kind, n int64) Option {
	return optionFunc(func(c *config) error {
		c.numbers[kind] = n
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
