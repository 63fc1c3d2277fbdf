package crockford_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/crockford"
)

// Each of the 128 bits has one digit, and comes back.
func TestAppendParse(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, digits := range []string{crockford.Capital, crockford.Small} {
		for i := range 2000 {
			var octets [16]byte
			if i < 128 {
				octets[i/8] = 1 << (i % 8)
			} else {
				for j := range octets {
					octets[j] = byte(random.Uint32())
				}
			}
			text := string(crockford.Append([]byte("x"), digits, octets))[1:]
			if got, ok := crockford.Parse(digits, text); !ok || got != octets || len(text) != crockford.Length {
				t.Fatalf("%x: got %s, which is %x, %t", octets, text, got, ok)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	zero := strings.Repeat("0", crockford.Length)
	for _, text := range []string{"", zero[1:], zero + "0", "8" + zero[1:], zero[1:] + "U", zero[1:] + "a", zero[2:] + "é", zero[1:] + "\n"} {
		if got, ok := crockford.Parse(crockford.Capital, text); ok {
			t.Errorf("%q: got %x", text, got)
		}
	}
	if _, ok := crockford.Parse(crockford.Small, zero[1:]+"A"); ok {
		t.Error("a capital letter among small digits is read")
	}
}
