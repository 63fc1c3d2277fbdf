package idgen

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The least and the most digits of an alphabet.
const (
	minAlphabet = 2
	maxAlphabet = 64
)

// Encoding is a text form of an id: its number to the base of an alphabet, the most significant digit first. It is one of the
// package's variables or made by [NewEncoding], immutable, comparable with ==, and safe for concurrent use. Every method of the
// zero Encoding that returns an error returns [ErrEncoding].
//
// No encoding hides anything: who knows, or guesses, the alphabet reads the id and so the time and the node in it.
type Encoding struct {
	name     string
	alphabet string
	digits   [utf8.RuneSelf]uint8 // value+1 of each character, 0 where it is no digit
	length   uint8                // digits of the greatest id
	width    uint8                // least digits of a text, longer ones have no zero digits in front
}

// The encodings by name. All but Base32 write as few digits as the number needs, and 0 as one digit.
var (
	// Decimal, "dec", has the digits 0 to 9 and at most 19 of them. It is what [strconv.FormatInt] writes.
	Decimal = encoding("dec", 1, "0123456789", "", "")

	// Hex, "hex", has the digits 0-9 and a-f, at most 16, and reads A-F as well.
	Hex = encoding("hex", 1, "0123456789abcdef", "ABCDEF", "abcdef")

	// Base32, "base32", is Crockford's: the digits 0-9 and A-Z without I, L, O and U. A text always has 13 of them, zeros in front,
	// so that texts sort as their numbers do, byte by byte and in collations that take no notice of case. It reads small letters
	// too, o and O as 0, and i, I, l and L as 1, and fewer than 13 digits when the zeros were left off; it knows neither hyphens nor
	// a check symbol. Source: Douglas Crockford, "Base 32", crockford.com/base32.html.
	Base32 = encoding("base32", 13, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", "abcdefghjkmnpqrstvwxyzoOiIlL", "ABCDEFGHJKMNPQRSTVWXYZ001111")

	// Base36, "base36", has the digits 0-9 and a-z, at most 13, and reads A-Z as well. It is what [strconv.FormatInt] writes.
	Base36 = encoding("base36", 1, "0123456789abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")

	// Base58, "base58", has Bitcoin's alphabet 1-9, A-Z, a-z without 0, I, O and l, at most 11 digits; zero is 1. It is the number's
	// own text, not that of its eight bytes, where each leading zero byte would add a 1. Large and small letters are different
	// digits, see Base62. Source: Bitcoin Core, base58.cpp.
	Base58 = encoding("base58", 1, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", "", "")

	// Base62, "base62", has the digits 0-9, A-Z, a-z, at most 11, in the order of ASCII: texts of one length sort byte by byte as
	// their numbers do. Large and small letters are different digits, so a column, a file system or a cache that takes no notice of
	// case mistakes one id for another: in MariaDB and MySQL such a column needs a binary collation. Where that cannot be had, take
	// Base32 or Base36.
	Base62 = encoding("base62", 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", "")
)

// alphabetName begins the name of an encoding without one of its own.
const alphabetName = "alphabet="

// NewEncoding returns the encoding whose digits are the characters of the alphabet, that of zero first. It writes as few digits
// as a number needs, and reads no other characters than it writes. Two made of one alphabet are equal.
//
// The error wraps [ErrEncoding] when the alphabet has fewer than 2 or more than 64 characters, one that is not printable ASCII (a
// space is not), or one that comes twice.
func NewEncoding(alphabet string) (Encoding, error) {
	e := Encoding{name: alphabetName + alphabet, alphabet: alphabet, width: 1}
	for i, c := range alphabet {
		if c <= ' ' || c > '~' {
			_, size := utf8.DecodeRuneInString(alphabet[i:])
			return Encoding{}, fmt.Errorf("%w: character %d of the alphabet is %q, must be printable ASCII and no space",
				ErrEncoding, i+1, alphabet[i:i+size])
		}
		if first := e.digits[c]; first != 0 {
			return Encoding{}, fmt.Errorf("%w: characters %d and %d of the alphabet are both %q", ErrEncoding, first, i+1, c)
		}
		e.digits[c] = uint8(i + 1)
	}
	if n := len(alphabet); n < minAlphabet || n > maxAlphabet {
		return Encoding{}, fmt.Errorf("%w: the alphabet has %d characters, must be %d to %d", ErrEncoding, n, minAlphabet, maxAlphabet)
	}
	for rest := uint64(math.MaxInt64); rest > 0; rest /= e.base() {
		e.length++
	}
	return e, nil
}

// encoding returns a named encoding, which reads each character of also as the one of as at the same place. It needs no error: a
// test makes all of them again and compares.
func encoding(name string, width uint8, alphabet, also, as string) Encoding {
	e, _ := NewEncoding(alphabet)
	e.name, e.width = name, width
	for i := range min(len(also), len(as)) {
		e.digits[also[i]] = e.digits[as[i]]
	}
	return e
}

// Encodings returns all named encodings.
func Encodings() []Encoding { return []Encoding{Decimal, Hex, Base32, Base36, Base58, Base62} }

// LookupEncoding returns the encoding of a name: dec, hex, base32, base36, base58, base62, or "alphabet=" and the digits of [NewEncoding].
// The error wraps [ErrEncoding], and lists the names where there is no such one.
func LookupEncoding(name string) (Encoding, error) {
	if alphabet, ok := strings.CutPrefix(name, alphabetName); ok {
		return NewEncoding(alphabet)
	}
	names := make([]string, 0, len(Encodings()))
	for _, e := range Encodings() {
		if e.name == name {
			return e, nil
		}
		names = append(names, e.name)
	}
	return Encoding{}, fmt.Errorf("%w: no encoding is named %s; there are %s, and alphabet= with the digits", ErrEncoding, clip(name), strings.Join(names, ", "))
}

// Name returns the name that [LookupEncoding] knows, and "" for the zero Encoding.
func (e Encoding) Name() string { return e.name }

// CaseSensitive reports whether two digits differ in nothing but the case of a letter, as in Base58 and Base62.
func (e Encoding) CaseSensitive() bool {
	for small := 'a'; small <= 'z'; small++ {
		if is, other := e.digits[small], e.digits[small-'a'+'A']; is != 0 && other != 0 && is != other {
			return true
		}
	}
	return false
}

// Encode returns the text of an id. The error wraps [ErrRange] for a negative one.
func (e Encoding) Encode(id int64) (string, error) {
	var buffer [maxBits]byte
	b, err := e.AppendText(buffer[:0], id)
	return string(b), err
}

// AppendText appends the text of an id to b, at most 63 bytes, and allocates nothing when b has room for it. The error wraps
// [ErrRange] for a negative id; b is returned as it was then.
func (e Encoding) AppendText(b []byte, id int64) ([]byte, error) {
	if e.alphabet == "" {
		return b, fmt.Errorf("%w: the zero Encoding has no alphabet", ErrEncoding)
	}
	if id < 0 {
		return b, fmt.Errorf("%w: the id %d is negative", ErrRange, id)
	}
	var buffer [maxBits]byte
	first, base := len(buffer), e.base()
	for rest := uint64(id); rest > 0; rest /= base {
		first--
		buffer[first] = e.alphabet[rest%base]
	}
	for len(buffer)-first < int(e.width) {
		first--
		buffer[first] = e.alphabet[0]
	}
	return append(b, buffer[first:]...), nil
}

// Parse returns the id that a text stands for. It reads no sign, no space, no separator, and zero digits in front only up to the
// number of digits that the greatest id has.
//
// The error wraps [ErrSyntax] when the text is empty, has more digits than the greatest id, or has a character that is no digit,
// which it names with its place from 1 on. It wraps [ErrRange] when the number is above 2^63-1, the greatest id.
func (e Encoding) Parse(s string) (int64, error) {
	if e.alphabet == "" {
		return 0, fmt.Errorf("%w: the zero Encoding has no alphabet", ErrEncoding)
	}
	if n := len(s); n == 0 || n > int(e.length) {
		return 0, fmt.Errorf("%w: %s has %d bytes, must be 1 to %d to the base %d", ErrSyntax, clip(s), n, e.length, e.base())
	}
	base := e.base()
	// A text as long as that of the greatest id can stand for nearly base times 2^63, which wraps around 2^64. The loop goes on when
	// the number is too great, since a wrong character comes first.
	most, tooGreat := math.MaxInt64/base, false
	var number uint64
	for i := range len(s) {
		var digit uint8
		if s[i] < utf8.RuneSelf {
			digit = e.digits[s[i]]
		}
		if digit == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			return 0, fmt.Errorf("%w: %s has %q at place %d, which is no digit to the base %d", ErrSyntax, clip(s), s[i:i+size], i+1, base)
		}
		tooGreat = tooGreat || number > most
		number = number*base + uint64(digit-1)
	}
	if tooGreat || number > math.MaxInt64 {
		return 0, fmt.Errorf("%w: %s is above 2^63-1, the greatest id", ErrRange, clip(s))
	}
	return int64(number), nil
}

func (e Encoding) base() uint64 { return uint64(len(e.alphabet)) }

// clip quotes a text for an error, cut off where it is long.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
