package sqltype_test

import (
	"encoding/json"
	"errors"
	"log/slog"
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

// A log has every Number, also one that JSON has not.
func TestNumberInLogs(t *testing.T) {
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "n", sqltype.Number(big))
	if want := `"n":"1541815603606036481"`; !strings.Contains(log.String(), want) {
		t.Errorf("got %s, want %s in it", log.String(), want)
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

// Go asks for quotes where ",string" is, and writes none for what has a MarshalJSON. When this fails the page of Number is old.
func TestNumberWithOptionString(t *testing.T) {
	var number struct {
		N sqltype.Number `json:",string"`
	}
	if out, err := json.Marshal(number); err != nil || string(out) != `{"N":0}` {
		t.Errorf("Number: got %s, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"N":0}`), &number); err == nil {
		t.Error("Number: got no error for what was written")
	}
	if err := json.Unmarshal([]byte(`{"N":"12"}`), &number); err != nil || number.N != 12 {
		t.Errorf("Number: got %d, %v, want 12", number.N, err)
	}
	var id, back struct {
		ID  sqltype.ID        `json:",string"`
		Key sqltype.Key[user] `json:",string"`
	}
	id.ID, id.Key = big, -1
	out, err := json.Marshal(id)
	if err != nil || string(out) != `{"ID":"1541815603606036481","Key":"-1"}` {
		t.Errorf("ID: got %s, %v", out, err)
	}
	if err := json.Unmarshal(out, &back); err != nil || back != id {
		t.Errorf("ID: got %v, %v back", back, err)
	}
}
