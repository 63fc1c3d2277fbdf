package sqltype_test

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/sqltype"
)

// A Number is exact in JSON or an error, up to the last integer that a float64 has with both its neighbours.
func TestNumberPrecision(t *testing.T) {
	for _, n := range []sqltype.Number{0, 1, -1, 1<<53 - 1, -(1<<53 - 1)} {
		out, err := json.Marshal(n)
		if err != nil || string(out) != n.String() {
			t.Errorf("%d: got %s, %v", n, out, err)
		}
		var float float64
		if err := json.Unmarshal(out, &float); err != nil || int64(float) != n.Int64() || int64(float+1) != n.Int64()+1 || int64(float-1) != n.Int64()-1 {
			t.Errorf("%d: JavaScript reads %f, %v", n, float, err)
		}
	}
	for _, n := range []sqltype.Number{1 << 53, -1 << 53, 1<<53 + 1, big, math.MaxInt64, math.MinInt64} {
		out, err := json.Marshal(struct{ ID sqltype.Number }{n})
		if !errors.Is(err, sqltype.ErrPrecision) {
			t.Fatalf("%d: got %s, %v, want ErrPrecision", n, out, err)
		}
		for _, want := range []string{n.String(), "-9007199254740991", " 9007199254740991", "2^53-1", "sqltype.ID", "js53"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d: got %q, want %s in it", n, err, want)
			}
		}
		got := sqltype.Number(7)
		if err := json.Unmarshal([]byte(n.String()), &got); !errors.Is(err, sqltype.ErrPrecision) || got != 7 {
			t.Errorf("%d as a number: got %d, %v, want ErrPrecision and nothing changed", n, got, err)
		}
		if err := json.Unmarshal([]byte(strconv.Quote(n.String())), &got); err != nil || got != n {
			t.Errorf("%d as a string: got %d, %v", n, got, err)
		}
	}
}

// The other types take any number: their sender has 64 bits, or it would have sent a string.
func TestNumberBeyondPrecision(t *testing.T) {
	var id sqltype.ID
	var key sqltype.Key[user]
	if err := errors.Join(json.Unmarshal([]byte("1541815603606036481"), &id), json.Unmarshal([]byte("1541815603606036481"), &key)); err != nil || id != big || key != big {
		t.Errorf("got %d, %d, %v", id, key, err)
	}
}
