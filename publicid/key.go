package publicid

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Key is a secret with its number. The zero Key is none. It prints as its number alone.
type Key struct {
	generation uint64
	secret     func() []byte // of 32; fmt prints a function as its address also where it may not call Format, in fields that are not exported
}

// ParseKeys returns the keys of a text: each a number from 1 up, a colon and 64 hexadecimal digits, with commas, spaces or lines between. The error wraps [ErrKeys] and
// has no secret in it.
func ParseKeys(text string) (keys []Key, err error) {
	for i, field := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		number, digits, _ := strings.Cut(field, ":")
		var k Key
		if k.generation, err = strconv.ParseUint(number, 10, 32); err != nil || k.generation == 0 {
			return nil, fmt.Errorf("%w: key %d does not begin with a number from 1 up and a colon", ErrKeys, i+1)
		}
		secret, err := hex.DecodeString(digits)
		if err != nil || len(secret) != 32 {
			return nil, fmt.Errorf("%w: key %d, of number %d, has not 64 hexadecimal digits after the colon", ErrKeys, i+1, k.generation)
		}
		k.secret = func() []byte { return secret }
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrKeys)
	}
	return keys, nil
}

// FromEnv is [ParseKeys] of an environment variable. One that is not set or empty is an [ErrKeys].
func FromEnv(name string) ([]Key, error) {
	keys, err := ParseKeys(os.Getenv(name))
	if err != nil {
		return nil, fmt.Errorf("environment variable %s: %w", name, err)
	}
	return keys, nil
}

// FromFile is [ParseKeys] of a file. The error wraps [ErrKeys] or that of reading the file.
func FromFile(path string) ([]Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// NewKey returns the text of a random key with a number from 1 up, for [ParseKeys].
func NewKey(number uint32) string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	return fmt.Sprintf("%d:%x", number, secret)
}

// Number returns the number, from 1 up, and 0 of the zero Key.
func (k Key) Number() uint32 { return uint32(k.generation) } // ParseKeys reads 32 bits

// String returns the number.
func (k Key) String() string { return fmt.Sprintf("key %d", k.generation) }

// GoString returns the number.
func (k Key) GoString() string { return k.String() }

// Format writes the number, whatever the verb is.
func (k Key) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, k.String()) }

func numbers(keys []Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, strconv.FormatUint(k.generation, 10))
	}
	return strings.Join(all, ", ")
}
