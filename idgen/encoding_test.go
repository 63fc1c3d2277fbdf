package idgen_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
)

const shuffled62 = "ohrfjdgPzp3T2XkNulQBFas9eJDmW7VKSC51cbUL8tRiOqIwZn406YEMyGxHAv"

// testedEncoding is an encoding with what a test needs to check it by other means.
type testedEncoding struct {
	idgen.Encoding
	label    string
	alphabet string
	width    int // least digits of a text
	most     int // digits of 2^63-1
}

// testedEncodings returns all encodings by name and some of other alphabets.
func testedEncodings(t testing.TB) []testedEncoding {
	t.Helper()
	list := []testedEncoding{
		{idgen.Decimal, "dec", "0123456789", 1, 19},
		{idgen.Hex, "hex", "0123456789abcdef", 1, 16},
		{idgen.Base32, "base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13, 13},
		{idgen.Base36, "base36", "0123456789abcdefghijklmnopqrstuvwxyz", 1, 13},
		{idgen.Base58, "base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 1, 11},
		{idgen.Base62, "base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 1, 11},
	}
	for _, custom := range []struct {
		label, alphabet string
		most            int
	}{
		{"two digits", "01", 63},
		{"three digits", "+-.", 40},
		{"64 digits", shuffled62 + "-_", 11},
		{"shuffled 62", shuffled62, 11},
		{"backwards", "9876543210", 19},
		{"all punctuation", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 13},
	} {
		e, err := idgen.NewEncoding(custom.alphabet)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, testedEncoding{e, custom.label, custom.alphabet, 1, custom.most})
	}
	return list
}

// text is what an id should look like, worked out apart from the package with big numbers.
func (e testedEncoding) text(n *big.Int) string {
	base, digit, rest := big.NewInt(int64(len(e.alphabet))), new(big.Int), new(big.Int).Set(n)
	var b []byte
	for rest.Sign() > 0 {
		rest.DivMod(rest, base, digit)
		b = append(b, e.alphabet[digit.Int64()])
	}
	for len(b) < e.width {
		b = append(b, e.alphabet[0])
	}
	slices.Reverse(b)
	return string(b)
}

func boundaryIDs(base int64) []int64 {
	ids := []int64{0, 1, 2, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<53 - 1, 1 << 53, 1541815603606036480, 1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	for power := base; ; power *= base {
		ids = append(ids, power-1, power, power+1)
		if power > math.MaxInt64/base {
			return ids
		}
	}
}

func TestEncodingRoundTrip(t *testing.T) {
	for _, e := range testedEncodings(t) {
		t.Run(e.label, func(t *testing.T) {
			ids := boundaryIDs(int64(len(e.alphabet)))
			r := rand.New(rand.NewPCG(3, 4))
			for range 2000 {
				ids = append(ids, r.Int64()>>r.IntN(63))
			}
			for _, id := range ids {
				got, err := e.Encode(id)
				if want := e.text(big.NewInt(id)); err != nil || got != want {
					t.Fatalf("Encode(%d): got %q, %v, want %q", id, got, err, want)
				}
				if back, err := e.Parse(got); err != nil || back != id {
					t.Fatalf("Parse(%q): got %d, %v, want %d", got, back, err, id)
				}
			}
			if text, _ := e.Encode(math.MaxInt64); len(text) != e.most {
				t.Errorf("the greatest id: got %d digits in %q, want %d", len(text), text, e.most)
			}
		})
	}
}

func TestEncodingAgreesWithStrconv(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for base, e := range map[int]idgen.Encoding{10: idgen.Decimal, 16: idgen.Hex, 36: idgen.Base36} {
		for range 2000 {
			id := r.Int64() >> r.IntN(63)
			if got, err := e.Encode(id); err != nil || got != strconv.FormatInt(id, base) {
				t.Fatalf("%s, Encode(%d): got %q, %v, want %q", e.Name(), id, got, err, strconv.FormatInt(id, base))
			}
		}
	}
}

// What others write for a number.
func TestEncodingPublishedTexts(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    idgen.Encoding
		id   int64
		text string
	}{
		{"time of the ULID specification's example 01ARYZ6S41TSV4RRFFQ69G5FAV", idgen.Base32, 1469918176385, "00001ARYZ6S41"},
		{"greatest time of a ULID, 7ZZZZZZZZZ", idgen.Base32, 1<<48 - 1, "0007ZZZZZZZZZ"},
		{"Bitcoin Core's base58_encode_decode.json, 61", idgen.Base58, 0x61, "2g"},
		{"Bitcoin Core's base58_encode_decode.json, 626262", idgen.Base58, 0x626262, "a3gV"},
		{"Bitcoin Core's base58_encode_decode.json, 636363", idgen.Base58, 0x636363, "aPEr"},
		{"Bitcoin Core's base58_encode_decode.json, 516b6fcd0f", idgen.Base58, 0x516b6fcd0f, "ABnLTmg"},
		{"Bitcoin Core's base58_encode_decode.json, 572e4794", idgen.Base58, 0x572e4794, "3EFU7m"},
		{"Bitcoin Core's base58_encode_decode.json, 10c8511e", idgen.Base58, 0x10c8511e, "Rt5zm"},
		{"draft-msporny-base58, 287fb4cd without its leading zero bytes", idgen.Base58, 0x287fb4cd, "233QC4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := tt.e.Encode(tt.id); err != nil || got != tt.text {
				t.Errorf("Encode(%d): got %q, %v, want %q", tt.id, got, err, tt.text)
			}
			if got, err := tt.e.Parse(tt.text); err != nil || got != tt.id {
				t.Errorf("Parse(%q): got %d, %v, want %d", tt.text, got, err, tt.id)
			}
		})
	}
}

// Crockford's table of symbols: those that are read for each value, the one that is written first.
func TestBase32Symbols(t *testing.T) {
	symbols := []string{
		"0oO", "1iIlL", "2", "3", "4", "5", "6", "7", "8", "9", "Aa", "Bb", "Cc", "Dd", "Ee", "Ff",
		"Gg", "Hh", "Jj", "Kk", "Mm", "Nn", "Pp", "Qq", "Rr", "Ss", "Tt", "Vv", "Ww", "Xx", "Yy", "Zz",
	}
	read := map[byte]bool{}
	for value, list := range symbols {
		written := strings.Repeat("0", 12) + list[:1]
		if got, err := idgen.Base32.Encode(int64(value)); err != nil || got != written {
			t.Errorf("Encode(%d): got %q, %v, want %q", value, got, err, written)
		}
		for _, symbol := range list {
			read[byte(symbol)] = true
			if got, err := idgen.Base32.Parse(string(symbol)); err != nil || got != int64(value) {
				t.Errorf("Parse(%q): got %d, %v, want %d", symbol, got, err, value)
			}
		}
	}
	for c := range 256 {
		if _, err := idgen.Base32.Parse(string([]byte{byte(c)})); (err == nil) != read[byte(c)] {
			t.Errorf("Parse of the byte %#02x: got error %v", c, err)
		}
	}
}

func TestEncodingReadsEitherCase(t *testing.T) {
	for _, e := range []idgen.Encoding{idgen.Hex, idgen.Base32, idgen.Base36} {
		for _, id := range []int64{0, 10, 35, 1541815603606036480, math.MaxInt64} {
			text, err := e.Encode(id)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{strings.ToUpper(text), strings.ToLower(text)} {
				if got, err := e.Parse(s); err != nil || got != id {
					t.Errorf("%s, Parse(%q): got %d, %v, want %d", e.Name(), s, got, err, id)
				}
			}
		}
	}
	for _, e := range []idgen.Encoding{idgen.Base58, idgen.Base62} {
		small, errSmall := e.Parse("z")
		large, errLarge := e.Parse("Z")
		if errSmall != nil || errLarge != nil || small == large {
			t.Errorf("%s: got %d, %v for z and %d, %v for Z, want two digits", e.Name(), small, errSmall, large, errLarge)
		}
	}
	custom, err := idgen.NewEncoding("abcdef")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := custom.Parse("A"); !errors.Is(err, idgen.ErrSyntax) {
		t.Errorf("alphabet without capitals, Parse(\"A\"): got %d, %v, want ErrSyntax", got, err)
	}
}

// Base32 texts sort as their ids do, those of the alphabets in the order of ASCII do among texts of one length.
func TestEncodingSorts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	random := func() int64 { return r.Int64() >> r.IntN(63) }
	for _, e := range testedEncodings(t) {
		if !slices.IsSorted([]byte(e.alphabet)) {
			continue
		}
		for range 5000 {
			a, b := random(), random()
			if r.IntN(2) == 0 {
				b = a + r.Int64N(100) - 50
				b = max(b, 0)
			}
			textA, errA := e.Encode(a)
			textB, errB := e.Encode(b)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if len(textA) != len(textB) {
				if e.label == "base32" {
					t.Fatalf("base32: %q and %q are of different lengths", textA, textB)
				}
				continue
			}
			if got, want := strings.Compare(textA, textB), cmp.Compare(a, b); got != want {
				t.Fatalf("%s: %q against %q: got %d, want %d as for %d against %d", e.label, textA, textB, got, want, a, b)
			}
		}
	}
}

func TestEncodingParseAboveTheGreatestID(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 63)
	for _, e := range testedEncodings(t) {
		t.Run(e.label, func(t *testing.T) {
			greatest := e.text(new(big.Int).Sub(limit, big.NewInt(1)))
			if got, err := e.Parse(greatest); err != nil || got != math.MaxInt64 {
				t.Errorf("Parse(%q): got %d, %v, want 2^63-1", greatest, got, err)
			}
			// From 2^63 up to the greatest number of that many digits; in a large base that is far above 2^64.
			top := new(big.Int).Exp(big.NewInt(int64(len(e.alphabet))), big.NewInt(int64(e.most)), nil)
			r := rand.New(rand.NewPCG(9, 10))
			above := []*big.Int{limit, new(big.Int).Add(limit, big.NewInt(1)), new(big.Int).Sub(top, big.NewInt(1))}
			if room := new(big.Int).Sub(top, limit); room.Sign() > 0 {
				for range 1000 {
					n := new(big.Int).SetUint64(r.Uint64())
					n.Mul(n, new(big.Int).SetUint64(r.Uint64())).Mod(n, room)
					above = append(above, n.Add(n, limit))
				}
			}
			for shift := range uint(6) {
				above = append(above, new(big.Int).Lsh(big.NewInt(1), 64+shift), new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64+shift), big.NewInt(7)))
			}
			for _, n := range above {
				want, text := idgen.ErrRange, e.text(n)
				if len(text) > e.most {
					want = idgen.ErrSyntax
				}
				if n.Cmp(limit) < 0 {
					continue // the greatest number of 63 binary digits is an id
				}
				if got, err := e.Parse(text); got != 0 || !errors.Is(err, want) {
					t.Errorf("Parse(%q), which is %s: got %d, %v, want %v", text, n, got, err, want)
				}
			}
		})
	}
}

func TestEncodingParseLeadingZeros(t *testing.T) {
	for _, e := range testedEncodings(t) {
		zero := e.alphabet[:1]
		for n := 1; n <= e.most; n++ {
			text := strings.Repeat(zero, n-1) + e.alphabet[1:2]
			if got, err := e.Parse(text); err != nil || got != 1 {
				t.Errorf("%s, Parse(%q): got %d, %v, want 1", e.label, text, got, err)
			}
		}
		long := strings.Repeat(zero, e.most+1)
		want := fmt.Sprintf("has %d bytes, must be 1 to %d", e.most+1, e.most)
		if got, err := e.Parse(long); got != 0 || !errors.Is(err, idgen.ErrSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, Parse(%q): got %d, %v, want ErrSyntax with %q", e.label, long, got, err, want)
		}
	}
}

func TestEncodingParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    idgen.Encoding
		text string
		want string
	}{
		{"empty", idgen.Decimal, "", `"" has 0 bytes, must be 1 to 19 to the base 10`},
		{"sign", idgen.Decimal, "-1", `"-1" has "-" at place 1`},
		{"plus", idgen.Decimal, "+1", `has "+" at place 1`},
		{"space", idgen.Decimal, " 1", `has " " at place 1`},
		{"line end", idgen.Base62, "1\n", `has "\n" at place 2`},
		{"underscore", idgen.Decimal, "1_000", `has "_" at place 2`},
		{"point", idgen.Decimal, "1.5", `has "." at place 2`},
		{"exponent", idgen.Decimal, "1e3", `has "e" at place 2, which is no digit to the base 10`},
		{"prefix", idgen.Hex, "0x1f", `has "x" at place 2, which is no digit to the base 16`},
		{"first of two", idgen.Hex, "12g4z", `has "g" at place 3`},
		{"Crockford's U", idgen.Base32, "0U", `has "U" at place 2`},
		{"Crockford's hyphen", idgen.Base32, "0-1", `has "-" at place 2`},
		{"Bitcoin's 0", idgen.Base58, "10", `has "0" at place 2`},
		{"Bitcoin's l", idgen.Base58, "1l", `has "l" at place 2`},
		{"letter of two bytes", idgen.Base62, "12é", `has "é" at place 3`},
		{"digit of another script", idgen.Decimal, "1٣", `has "٣" at place 2`},
		{"full-width digit", idgen.Hex, "\uff11", "has \"\uff11\" at place 1"},
		{"not UTF-8", idgen.Base62, "1\xff2", `has "\xff" at place 2`},
		{"cut off", idgen.Base62, "1\xc3", `has "\xc3" at place 2`},
		{"NUL", idgen.Base62, "\x00", `has "\x00" at place 1`},
		{"DEL", idgen.Base62, "1\x7f", `has "\x7f" at place 2`},
		{"too great and wrong at the end", idgen.Base62, "zzzzzzzzzz!", `has "!" at place 11`},
		{"2^64 in decimal, a digit too many", idgen.Decimal, "18446744073709551616", "has 20 bytes, must be 1 to 19"},
		{"very long", idgen.Decimal, strings.Repeat("9", 1<<20), "has 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.e.Parse(tt.text)
			if got != 0 || !errors.Is(err, idgen.ErrSyntax) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %d, %v, want ErrSyntax with %q", got, err, tt.want)
			}
			if n := len(err.Error()); n > 300 {
				t.Errorf("the error has %d bytes", n)
			}
		})
	}
}

func TestEncodingRefusesNegativeIDs(t *testing.T) {
	for _, e := range testedEncodings(t) {
		for _, id := range []int64{-1, math.MinInt64} {
			if text, err := e.Encode(id); text != "" || !errors.Is(err, idgen.ErrRange) || !strings.Contains(err.Error(), strconv.FormatInt(id, 10)) {
				t.Errorf("%s, Encode(%d): got %q, %v, want ErrRange with the id", e.label, id, text, err)
			}
			if b, err := e.AppendText([]byte("id="), id); string(b) != "id=" || !errors.Is(err, idgen.ErrRange) {
				t.Errorf("%s, AppendText(%d): got %q, %v, want the slice as it was and ErrRange", e.label, id, b, err)
			}
		}
	}
}

func TestEncodingAppendText(t *testing.T) {
	for _, e := range testedEncodings(t) {
		for _, id := range []int64{0, 1, math.MaxInt64} {
			b := append(make([]byte, 0, 80), "id="...)
			got, err := e.AppendText(b, id)
			if want := "id=" + e.text(big.NewInt(id)); err != nil || string(got) != want {
				t.Errorf("%s, AppendText(%d): got %q, %v, want %q", e.label, id, got, err, want)
			}
			if &got[0] != &b[0] {
				t.Errorf("%s, AppendText(%d): made a new slice though there was room", e.label, id)
			}
			if allocs := testing.AllocsPerRun(100, func() { got, err = e.AppendText(b, id) }); allocs != 0 {
				t.Errorf("%s, AppendText(%d): got %v allocations, want 0", e.label, id, allocs)
			}
			text := string(got[3:])
			if allocs := testing.AllocsPerRun(100, func() { _, err = e.Parse(text) }); allocs != 0 {
				t.Errorf("%s, Parse(%q): got %v allocations, want 0", e.label, text, allocs)
			}
		}
		if got, err := e.AppendText(nil, 5); err != nil || string(got) != e.text(big.NewInt(5)) {
			t.Errorf("%s, AppendText to nil: got %q, %v", e.label, got, err)
		}
	}
}

func TestNewEncodingRefuses(t *testing.T) {
	ascii := func(n int) string {
		var b strings.Builder
		for c := range n {
			b.WriteByte('!' + byte(c))
		}
		return b.String()
	}
	for _, tt := range []struct{ name, alphabet, want string }{
		{"empty", "", "the alphabet has 0 characters, must be 2 to 64"},
		{"one", "0", "the alphabet has 1 characters, must be 2 to 64"},
		{"65", ascii(65), "the alphabet has 65 characters, must be 2 to 64"},
		{"all of ASCII", ascii(94), "the alphabet has 94 characters, must be 2 to 64"},
		{"twice", "0123a56a", "characters 5 and 8 of the alphabet are both 'a'"},
		{"very long", strings.Repeat("ab", 1<<20), "characters 1 and 3 of the alphabet are both 'a'"},
		{"space", "01 ", `character 3 of the alphabet is " "`},
		{"tab", "01\t", `character 3 of the alphabet is "\t"`},
		{"NUL", "\x0001", `character 1 of the alphabet is "\x00"`},
		{"DEL", "01\x7f", `character 3 of the alphabet is "\x7f"`},
		{"two bytes", "01é2", `character 3 of the alphabet is "é"`},
		{"not UTF-8", "01\xff2", `character 3 of the alphabet is "\xff"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := idgen.NewEncoding(tt.alphabet)
			if e != (idgen.Encoding{}) || !errors.Is(err, idgen.ErrEncoding) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want the zero Encoding and ErrEncoding with %q", err, tt.want)
			}
		})
	}
	for _, alphabet := range []string{"01", ascii(64), shuffled62} {
		if _, err := idgen.NewEncoding(alphabet); err != nil {
			t.Errorf("alphabet %q: %v", alphabet, err)
		}
	}
}

func TestNewEncodingTwiceIsEqual(t *testing.T) {
	a, errA := idgen.NewEncoding(shuffled62)
	b, errB := idgen.NewEncoding(shuffled62)
	if errA != nil || errB != nil || a != b {
		t.Errorf("got different encodings of one alphabet; %v, %v", errA, errB)
	}
	if c, err := idgen.NewEncoding("0123456789"); err != nil || c == idgen.Decimal || c.Name() != "alphabet=0123456789" {
		t.Errorf("got %v and the name %q, want an encoding with the alphabet as its name", err, c.Name())
	}
}

// The encodings by name are made without a look at the error, so each is made again here.
func TestEncodings(t *testing.T) {
	want := testedEncodings(t)
	var names []string
	for i, e := range idgen.Encodings() {
		names = append(names, e.Name())
		if e.Name() != want[i].label || e != want[i].Encoding {
			t.Errorf("Encodings()[%d]: got %s, want %s", i, e.Name(), want[i].label)
		}
		own, err := idgen.NewEncoding(want[i].alphabet)
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
		if found, err := idgen.LookupEncoding("alphabet=" + want[i].alphabet); err != nil || found != own || found.Name() != "alphabet="+want[i].alphabet {
			t.Errorf("got %q, %v, want the encoding of the alphabet of %s", found.Name(), err, e.Name())
		}
		if sensitive := e == idgen.Base58 || e == idgen.Base62; e.CaseSensitive() != sensitive {
			t.Errorf("%s: got %t, want %t", e.Name(), !sensitive, sensitive)
		}
		if found, err := idgen.LookupEncoding(e.Name()); err != nil || found != e {
			t.Errorf("LookupEncoding(%q): got %q, %v", e.Name(), found.Name(), err)
		}
	}
	if _, err := idgen.LookupEncoding("alphabet=aba"); !errors.Is(err, idgen.ErrEncoding) || !strings.Contains(err.Error(), "1 and 3") {
		t.Errorf("got %v, want ErrEncoding and the digit that comes twice", err)
	}
	for _, name := range []string{"", "base64", "Hex", "hex ", strings.Repeat("x", 1<<16)} {
		_, err := idgen.LookupEncoding(name)
		if !errors.Is(err, idgen.ErrEncoding) || !strings.Contains(err.Error(), strings.Join(names, ", ")) || len(err.Error()) > 300 {
			t.Errorf("LookupEncoding(%.20q): got %v, want ErrEncoding and the names there are", name, err)
		}
	}
}

func TestZeroEncoding(t *testing.T) {
	var zero idgen.Encoding
	if _, err := zero.Encode(1); !errors.Is(err, idgen.ErrEncoding) {
		t.Errorf("Encode: got %v, want ErrEncoding", err)
	}
	if b, err := zero.AppendText([]byte("x"), 1); string(b) != "x" || !errors.Is(err, idgen.ErrEncoding) {
		t.Errorf("Append: got %q, %v, want the slice as it was and ErrEncoding", b, err)
	}
	for _, text := range []string{"", "1", strings.Repeat("1", 100)} {
		if _, err := zero.Parse(text); !errors.Is(err, idgen.ErrEncoding) {
			t.Errorf("Parse(%q): got %v, want ErrEncoding", text, err)
		}
	}
	if zero.Name() != "" {
		t.Errorf("Name: got %q", zero.Name())
	}
}

func TestEncodingConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for id := range int64(1000) {
				text, err := idgen.Base62.Encode(id << 40)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := idgen.Base62.Parse(text); err != nil || got != id<<40 {
					t.Errorf("Parse(%q): got %d, %v", text, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
