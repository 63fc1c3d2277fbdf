package ticket_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/ticket"
)

func TestParseLayout(t *testing.T) {
	for text, want := range map[string][3]int64{
		"1/1": {1, 1, 1}, "1/2": {1, 2, 1}, "2/2": {2, 2, 1}, "1/2x100": {1, 2, 100}, "1024/1024x1000000": {1024, 1024, 1_000_000},
	} {
		l, err := ticket.ParseLayout(text)
		number, servers, unit := l.Parts()
		if got := [3]int64{number, servers, unit}; err != nil || got != want || l.String() != text {
			t.Errorf("%s: got %v as %s, %v, want %v", text, got, l, err, want)
		}
		for written, frozen := range map[string]bool{text: false, l.Frozen(): true} {
			if got, f, err := ticket.ParseFrozen(written); err != nil || got != l || f != frozen {
				t.Errorf("%s: got %v, frozen %t, %v", written, got, f, err)
			}
		}
	}
}

func TestParseNoLayout(t *testing.T) {
	for _, text := range []string{
		"", "1", "1/", "/1", "0/1", "1/0", "01/2", "1/02", "1/2x", "1/2x0", "1/2x01", "1/2x1", "2/1", "1/1025", "1025/1025", "1/2x1000001", "-1/2", "1/-2", "1/2x-1",
		" 1/2", "1/2 ", "1/2\n", "1 / 2", "1/2X100", "1/2x100x2", "99999999999/99999999999", "1/2x99999999999", ">1/2", ">>1/2", "１/２",
	} {
		l, err := ticket.ParseLayout(text)
		if !errors.Is(err, ticket.ErrLayout) || l != (ticket.Layout{}) {
			t.Errorf("%q: got %v, %v, want %v", text, l, err, ticket.ErrLayout)
		}
		if !strings.HasPrefix(text, ">1") {
			if _, _, err := ticket.ParseFrozen(text); !errors.Is(err, ticket.ErrLayout) {
				t.Errorf("%q: got %v, want %v", text, err, ticket.ErrLayout)
			}
		}
	}
}

// The picture in the layout's documentation: units of 3, and 2 servers.
func TestLayoutDivides(t *testing.T) {
	sellers := map[int64][]int64{1: {1, 7, 13}, 2: {4, 10, 16}}
	for number, begins := range sellers {
		l := ticket.MustLayout(map[int64]string{1: "1/2x3", 2: "2/2x3"}[number])
		at := int64(0)
		for _, want := range begins {
			got, ok := l.After(at)
			if !ok || got != want {
				t.Errorf("%s: got %d after %d, want %d", l, got, at, want)
			}
			at = got + 2
		}
	}
}

func TestSpan(t *testing.T) {
	if got, want := ticket.MustLayout("2/3x100").Span(101, 5), (ticket.Span{First: 101, Last: 1400, Count: 500}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := ticket.MustLayout("1/1").Span(math.MaxInt64, 1), (ticket.Span{First: math.MaxInt64, Last: math.MaxInt64, Count: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestLayoutAtTheEnd(t *testing.T) {
	for _, test := range []struct {
		layout string
		id     int64
		want   int64 // 0: there is none
	}{
		{"1/1", math.MinInt64, 1},
		{"2/3x100", -1, 101},
		{"2/3x100", 100, 101},
		{"2/3x100", 101, 401},
		{"1/1", math.MaxInt64 - 1, math.MaxInt64},
		{"1/1", math.MaxInt64, 0},
		{"1/2", math.MaxInt64 - 2, math.MaxInt64}, // 2^63-1 is odd
		{"2/2", math.MaxInt64 - 2, math.MaxInt64 - 1},
		{"2/2", math.MaxInt64 - 1, 0},
		{"1024/1024x1000000", math.MaxInt64, 0},
	} {
		got, ok := ticket.MustLayout(test.layout).After(test.id)
		if got != test.want || ok != (test.want != 0) {
			t.Errorf("%s after %d: got %d, %t, want %d", test.layout, test.id, got, ok, test.want)
		}
	}
}

// FuzzLayout holds the arithmetic against one that is slow and does not overflow.
func FuzzLayout(f *testing.F) {
	f.Add("1/2", int64(0))
	f.Add("2/3x100", int64(9000))
	f.Add("1/1", int64(math.MaxInt64))
	f.Add("1024/1024x1000000", int64(math.MaxInt64-1023_999_999))
	f.Add("1000/1024x999983", int64(math.MinInt64))
	f.Add(">1/2", int64(-1))
	f.Fuzz(func(t *testing.T, text string, id int64) {
		l, frozen, err := ticket.ParseFrozen(text)
		if err != nil {
			if !errors.Is(err, ticket.ErrLayout) || l != (ticket.Layout{}) {
				t.Fatalf("got %v, %v", l, err)
			}
			return
		}
		written := l.String()
		if frozen {
			written = l.Frozen()
		}
		if written != text {
			t.Fatalf("%q is written %q", text, written)
		}
		number, servers, unit := l.Parts()
		// allocator is whose unit begins at the id, 0 where none does.
		allocator := func(id *big.Int) int64 {
			before := new(big.Int).Sub(id, big.NewInt(1))
			units, within := new(big.Int).DivMod(before, big.NewInt(unit), new(big.Int))
			if before.Sign() < 0 || within.Sign() != 0 {
				return 0
			}
			return new(big.Int).Mod(units, big.NewInt(servers)).Int64() + 1
		}
		if got, want := l.Begins(id), allocator(big.NewInt(id)) == number; got != want {
			t.Fatalf("%s begins at %d: got %t, want %t", l, id, got, want)
		}
		got, ok := l.After(id)
		// The unit that begins last at or before the id is one jump before, or there is none.
		reference := new(big.Int).SetInt64(max(id, 0))
		reference.Sub(reference, big.NewInt((number-1)*unit+1))
		if reference.Sign() < 0 {
			reference.SetInt64((number-1)*unit + 1)
		} else {
			reference.Div(reference, big.NewInt(servers*unit)).Add(reference, big.NewInt(1))
			reference.Mul(reference, big.NewInt(servers*unit)).Add(reference, big.NewInt((number-1)*unit+1))
		}
		if !reference.IsInt64() {
			if ok || got != 0 {
				t.Fatalf("%s after %d: got %d, %t, want none below 2^63", l, id, got, ok)
			}
			return
		}
		if !ok || got != reference.Int64() || got <= id || allocator(big.NewInt(got)) != number {
			t.Fatalf("%s after %d: got %d, %t, want %v", l, id, got, ok, reference)
		}
	})
}
