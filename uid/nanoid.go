package uid

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// ErrNanoID says that an alphabet and a length make no keys.
var ErrNanoID = errors.New("uid: no NanoIDs")

// NanoIDAlphabet has 64 characters that need no escape in a URL. 21 of them have 126 random bits, a little more than [V4].
const NanoIDAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// leastNanoID is how many random bits keys must have: 1e-9 for two equal ones among 400 billion.
const leastNanoID = 108

// NanoID returns a source of random texts of an alphabet of printable ASCII and of a length. The error wraps [ErrNanoID] for an alphabet of fewer than 2
// characters or with one twice, and for keys of less than 108 random bits, which come to repeat: 18 characters of 64, 22 of 32. Source: github.com/ai/nanoid.
func NanoID(alphabet string, length int, options ...Option) (idgen.Source[string], error) {
	for i, c := range alphabet {
		if c <= ' ' || c > '~' || strings.IndexRune(alphabet, c) < i {
			return nil, fmt.Errorf("%w: character %d of the alphabet is %q, want printable ASCII, no space, each once", ErrNanoID, i+1, c)
		}
	}
	if len(alphabet) < 2 {
		return nil, fmt.Errorf("%w: the alphabet has %d characters, want 2 to 94", ErrNanoID, len(alphabet))
	}
	if each := math.Log2(float64(len(alphabet))); float64(length)*each < leastNanoID-1e-9 {
		return nil, fmt.Errorf("%w: %d characters of %d have %.1f random bits, want %d: a length of %d", ErrNanoID, length, len(alphabet),
			float64(length)*each, leastNanoID, int(math.Ceil(leastNanoID/each-1e-9)))
	}
	return &nanoIDs{newConfig(options), alphabet, length}, nil
}

type nanoIDs struct {
	config
	alphabet string
	length   int
}

// Next takes characters by as many random bits as the alphabet needs, and drops those that are no character of it.
func (s *nanoIDs) Next(ctx context.Context) (string, error) {
	text, width := make([]byte, 0, s.length), bits.Len(uint(len(s.alphabet)-1))
	var random [4]uint64
	for {
		if ctx.Err() != nil { // random bits that are not random might never be characters
			return "", fmt.Errorf("uid: %w", context.Cause(ctx))
		}
		if err := s.words(random[:]); err != nil {
			return "", err
		}
		for _, word := range random {
			for left := 64; left >= width; left -= width {
				if i := int(word & (1<<width - 1)); i < len(s.alphabet) {
					if text = append(text, s.alphabet[i]); len(text) == s.length {
						return string(text), nil
					}
				}
				word >>= width
			}
		}
	}
}

func (s *nanoIDs) Fill(ctx context.Context, keys []string) (err error) {
	for i := range keys {
		if keys[i], err = s.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}
