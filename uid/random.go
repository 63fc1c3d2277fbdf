package uid

import (
	crypto "crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Option is a setting of a source.
type Option func(*config)

type config struct {
	clock  idgen.Clock // nil: the machine's
	random io.Reader   // nil: generators
}

// WithClock sets the clock whose Wall the keys' times are. Nil is the machine's. V4 and NanoID have no time.
func WithClock(clock idgen.Clock) Option { return func(c *config) { c.clock = clock } }

// WithRandom sets where random bits come from; Next and Fill return the errors of its reads. It must be safe for concurrent use.
// Nil stands for the generators of the package.
func WithRandom(random io.Reader) Option { return func(c *config) { c.random = random } }

func newConfig(options []Option) (c config) {
	for _, set := range options {
		set(&c)
	}
	return c
}

func (c *config) now() time.Time {
	if c.clock == nil {
		return time.Now()
	}
	return c.clock.Wall()
}

// generators are those that no call uses at the moment.
var generators = sync.Pool{New: func() any {
	var seed [32]byte
	_, _ = crypto.Read(seed[:]) // never fails: it ends the program when there are no random bits to be had
	return rand.NewChaCha8(seed)
}}

// words sets all elements to random bits.
func (c *config) words(words []uint64) error {
	if c.random == nil {
		generator := generators.Get().(*rand.ChaCha8)
		for i := range words {
			words[i] = generator.Uint64()
		}
		generators.Put(generator)
		return nil
	}
	octets := make([]byte, 8*len(words))
	if _, err := io.ReadFull(c.random, octets); err != nil {
		return fmt.Errorf("uid: read random bits: %w", err)
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(octets[8*i:])
	}
	return nil
}
