package publicid

import (
	"encoding/hex"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// The sample of NIST for FF1 without a tweak: SP 800-38G, examples with intermediate values, FF1-AES128, FF1-AES192 and FF1-AES256, sample 1, 4 and 7.
func TestFF1Samples(t *testing.T) {
	for key, want := range map[string][2]uint64{
		"2b7e151628aed2a6abf7158809cf4f3c":                                 {24334, 77484},
		"2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f":                 {28306, 68132},
		"2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94": {66576, 67009},
	} {
		octets, err := hex.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFF1(octets, 10, 10)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := f.encrypt(1234, 56789); a != want[0] || b != want[1] {
			t.Errorf("key of %d bytes: got %05d%05d, want %05d%05d", len(octets), a, b, want[0], want[1])
		}
		if a, b := f.decrypt(want[0], want[1]); a != 1234 || b != 56789 {
			t.Errorf("key of %d bytes: got %05d%05d back", len(octets), a, b)
		}
	}
}

// All numbers of 20 bits are there once, and come back.
func TestFF1Bijection(t *testing.T) {
	f, err := newFF1(make([]byte, 32), 2, 20)
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]bool, 1<<20)
	for n := range uint64(1 << 20) {
		a, b := f.encrypt(n>>10, n&1023)
		if seen[a<<10|b] {
			t.Fatalf("%x comes twice", a<<10|b)
		}
		seen[a<<10|b] = true
		if a, b := f.decrypt(a, b); a<<10|b != n {
			t.Fatalf("got %x back, want %x", a<<10|b, n)
		}
	}
}

// A bit of 64 changes half of all bits.
func TestFF1Avalanche(t *testing.T) {
	f, err := newFF1([]byte("0123456789abcdef0123456789abcdef"), 2, 64)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for bit := range 64 {
		changed, times := 0, 500
		for range times {
			n := random.Uint64()
			a, b := f.encrypt(n>>32, n&(1<<32-1))
			if x, y := f.decrypt(a, b); x<<32|y != n {
				t.Fatalf("got %x back, want %x", x<<32|y, n)
			}
			n ^= 1 << bit
			c, d := f.encrypt(n>>32, n&(1<<32-1))
			changed += bits.OnesCount64(a<<32 | b ^ (c<<32 | d))
		}
		if mean := float64(changed) / float64(times); mean < 31 || mean > 33 {
			t.Errorf("bit %d changes %.2f bits, want 32 ± 1", bit, mean)
		}
	}
}
