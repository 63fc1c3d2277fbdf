package publicid

import (
	"crypto/aes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// The errors of this package, to be tested with errors.Is.
var (
	// ErrKeys says that there is no key, or none that can be one.
	ErrKeys = errors.New("publicid: invalid keys")
	// ErrPrefix says that a text has not the prefix that was asked for, or that a prefix cannot be one.
	ErrPrefix = errors.New("publicid: another prefix")
	// ErrSyntax says that a text is no public id.
	ErrSyntax = errors.New("publicid: not a public id")
	// ErrForged says that a text stands for a number that nobody has made, or that its key is seen not to be there: two keys with one number between them, such as 1
	// and 3, have the same mark, so a name of the one is read by the other as a number that is as good as random, which Accept refuses as any guess.
	ErrForged = errors.New("publicid: no such id was made")
)

// Codec makes public ids and reads them. It is safe for concurrent use. The zero Codec, and a nil one, have no key: all their methods return [ErrKeys].
type Codec struct {
	keys     map[uint64]Key // by their last bit
	primary  Key
	accept   func(id int64) bool
	versions []int
	readOnly bool

	ciphers sync.Map     // purpose → *ff1 or cipher.Block
	cached  atomic.Int64 // the entries of ciphers
}

// maxCached is how many ciphers a codec keeps, of less than 1 KB each: prefixes may come from outside, and a program has a few. Others are made at each call, which takes
// 1.2 µs more.
const maxCached = 1000

// purpose is what a cipher is for.
type purpose struct {
	kind, prefix string
	generation   uint64
}

// Option is a setting of [New].
type Option func(*Codec)

// Accept has Decode refuse numbers of which the function says false, with [ErrForged]: such as [MadeBy] and [Counted]. Without it all that are not negative are read.
func Accept(made func(id int64) bool) Option { return func(c *Codec) { c.accept = made } }

// Versions has DecodeUUID refuse what is no UUID of one of the versions, such as 7, with [ErrForged]: of guesses all but 1 of 64 for each version. Versions that a call
// gives come before it. Without both all keys of 16 bytes are read.
func Versions(versions ...int) Option { return func(c *Codec) { c.versions = versions } }

// ReadOnly has a program read names of the greatest key, and make those of the one before, until all programs have both.
func ReadOnly() Option { return func(c *Codec) { c.readOnly = true } }

// MadeBy returns what accepts the numbers that one of the layouts can have made by now, and for another hour, by the clock of this machine.
func MadeBy(layouts ...idgen.Layout) func(id int64) bool {
	return func(id int64) bool {
		for _, l := range layouts {
			if parts, err := l.Decode(id); err == nil && time.Until(parts.Time) < time.Hour {
				return true
			}
		}
		return false
	}
}

// Counted returns what accepts numbers from 1 to the most, such as those of tickets.
func Counted(most int64) func(id int64) bool {
	return func(id int64) bool { return id >= 1 && id <= most }
}

// New returns a codec of one key, or of two that follow each other. The error wraps [ErrKeys].
func New(keys []Key, options ...Option) (*Codec, error) {
	c := &Codec{keys: map[uint64]Key{}}
	for _, set := range options {
		set(c)
	}
	for _, k := range keys {
		if k.generation == 0 {
			return nil, fmt.Errorf("%w: the zero Key is none", ErrKeys)
		}
		if _, there := c.keys[k.generation&1]; there {
			return nil, fmt.Errorf("%w: want one, or two that follow each other, such as 3 and 2; got %s", ErrKeys, numbers(keys))
		}
		c.keys[k.generation&1] = k
		if k.generation > c.primary.generation {
			c.primary = k
		}
	}
	other, two := c.keys[c.primary.generation&1^1]
	switch {
	case len(keys) == 0:
		return nil, fmt.Errorf("%w: there is none", ErrKeys)
	case two && other.generation+1 != c.primary.generation:
		return nil, fmt.Errorf("%w: want one, or two that follow each other, such as 3 and 2; got %s", ErrKeys, numbers(keys))
	case c.readOnly && !two:
		return nil, fmt.Errorf("%w: ReadOnly needs two, and there is number %d alone", ErrKeys, c.primary.generation)
	case c.readOnly:
		c.primary = other
	}
	return c, nil
}

// Format writes which key the codec makes names by, whatever the verb is, and no secret.
func (c *Codec) Format(f fmt.State, _ rune) {
	if c.check() != nil {
		_, _ = fmt.Fprint(f, "codec without a key")
		return
	}
	_, _ = fmt.Fprintf(f, "codec of %s", c.primary)
}

// check refuses a codec that New has not made.
func (c *Codec) check() error {
	if c == nil || c.primary.generation == 0 {
		return fmt.Errorf("%w: the codec has none, as New has not made it", ErrKeys)
	}
	return nil
}

// Encode returns the name of a number from 0 up, with the prefix and an underline before 13 digits. The error wraps [ErrPrefix] for a prefix that is not 1 to 63
// small letters, digits and underlines, a letter first and no underline last, and [ErrForged] for a negative number.
func (c *Codec) Encode(prefix string, id int64) (string, error) {
	if err := errors.Join(c.check(), checkPrefix(prefix)); err != nil {
		return "", err
	}
	if id < 0 {
		return "", fmt.Errorf("%w: %d is negative", ErrForged, id)
	}
	f, err := cipherOf(c, c.primary, "number", prefix, func(key []byte) (*ff1, error) { return newFF1(key, 2, 64) })
	if err != nil {
		return "", err
	}
	high, low := f.encrypt(uint64(id)>>32, uint64(id)&math.MaxUint32)
	return string(appendDigits(append(make([]byte, 0, len(prefix)+14), prefix+"_"...), c.primary.generation&1, high<<32|low, 13)), nil
}

// Decode returns the number of a name. The error wraps [ErrPrefix], [ErrSyntax], or [ErrForged] for a name of no number that Accept takes, or of a key that is
// seen not to be there.
func (c *Codec) Decode(prefix, text string) (int64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	parity, value, err := digitsOf(prefix, text, 13)
	if err != nil {
		return 0, err
	}
	key, there := c.keys[parity]
	if !there {
		return 0, fmt.Errorf("%w: %q is of another key", ErrForged, text)
	}
	f, err := cipherOf(c, key, "number", prefix, func(key []byte) (*ff1, error) { return newFF1(key, 2, 64) })
	if err != nil {
		return 0, err
	}
	high, low := f.decrypt(value>>32, value&math.MaxUint32)
	id := int64(high<<32 | low)
	if id < 0 || c.accept != nil && !c.accept(id) {
		return 0, fmt.Errorf("%w: %q", ErrForged, text)
	}
	return id, nil
}

// EncodeUUID is [Codec.Encode] of a UUID or another key of 16 bytes, with 26 digits.
func (c *Codec) EncodeUUID(prefix string, id [16]byte) (string, error) {
	if err := errors.Join(c.check(), checkPrefix(prefix)); err != nil {
		return "", err
	}
	block, err := cipherOf(c, c.primary, "uuid", prefix, aes.NewCipher)
	if err != nil {
		return "", err
	}
	block.Encrypt(id[:], id[:])
	high, low := binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[8:])
	text := append(make([]byte, 0, len(prefix)+27), prefix+"_"...)
	text = appendDigits(text, c.primary.generation&1, high, 13)
	return string(appendDigits(text, 0, low, 13)), nil
}

// DecodeUUID returns the 16 bytes of a name of [Codec.EncodeUUID]. The error is as of [Codec.Decode]. Where versions are given, such as 7, what is no UUID of one of them is an
// [ErrForged] too.
func (c *Codec) DecodeUUID(prefix, text string, versions ...int) (id [16]byte, err error) {
	if err := c.check(); err != nil {
		return id, err
	}
	body, found := strings.CutPrefix(text, prefix+"_")
	if !found || len(body) != 26 {
		_, _, err := digitsOf(prefix, text, 26)
		return id, err
	}
	parity, high, err := digitsOf(prefix, prefix+"_"+body[:13], 13)
	if err != nil {
		return id, err
	}
	zero, low, err := digitsOf(prefix, prefix+"_"+body[13:], 13)
	if err != nil {
		return id, err
	}
	key, there := c.keys[parity]
	if !there || zero != 0 {
		return id, fmt.Errorf("%w: %q is of another key", ErrForged, text)
	}
	block, err := cipherOf(c, key, "uuid", prefix, aes.NewCipher)
	if err != nil {
		return id, err
	}
	binary.BigEndian.PutUint64(id[:], high)
	binary.BigEndian.PutUint64(id[8:], low)
	block.Decrypt(id[:], id[:])
	if len(versions) == 0 {
		versions = c.versions
	}
	return id, checkVersion(&id, text, versions)
}

// checkVersion fails, and takes the key away, unless it is a UUID of one of the versions. Of none it takes any key.
func checkVersion(id *[16]byte, text string, versions []int) error {
	if len(versions) == 0 || id[8]>>6 == 2 && slices.Contains(versions, int(id[6]>>4)) {
		return nil
	}
	*id = [16]byte{}
	return fmt.Errorf("%w: %q", ErrForged, clipped(text))
}

// cipherOf returns the cipher of a prefix, which is made once for the first prefixes.
func cipherOf[C any](c *Codec, key Key, kind, prefix string, make func(key []byte) (C, error)) (C, error) {
	purpose := purpose{kind, prefix, key.generation}
	if found, ok := c.ciphers.Load(purpose); ok {
		return found.(C), nil
	}
	derived := hmac.New(sha256.New, key.secret())
	derived.Write([]byte("snowkey public id\x00" + kind + "\x00" + prefix))
	made, err := make(derived.Sum(nil))
	if err != nil || c.cached.Load() >= maxCached {
		return made, err
	}
	purpose.prefix = strings.Clone(prefix) // not all of the request that it may be a part of
	if _, there := c.ciphers.LoadOrStore(purpose, made); !there {
		c.cached.Add(1)
	}
	return made, nil
}
