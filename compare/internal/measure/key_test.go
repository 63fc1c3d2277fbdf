package measure_test

import (
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

func TestGap(t *testing.T) {
	wide := func(top, bottom string) strategy.Key {
		return strategy.Key(top + strings.Repeat("\x00", 16-len(top)-len(bottom)) + bottom)
	}
	for _, test := range []struct {
		name string
		info strategy.Info
		keys []strategy.Key
		bits float64
	}{
		{"counter", strategy.Info{Order: strategy.Increasing}, []strategy.Key{number(1), number(2), number(3)}, 0},
		{"equal", strategy.Info{Order: strategy.Increasing}, []strategy.Key{number(1), number(1)}, 0},
		{"node below", strategy.Info{Order: strategy.Increasing}, []strategy.Key{number(5), number(5 + 1<<10), number(5 + 2<<10), number(5 + 3<<10)}, 10},
		{"an exception", strategy.Info{Order: strategy.Increasing}, []strategy.Key{number(0), number(8), number(1 << 40), number(1<<40 + 8)}, 3},
		{"downwards", strategy.Info{Order: strategy.Ticks}, []strategy.Key{number(9), number(6)}, math.Log2(3)},
		{"wide", strategy.Info{Order: strategy.Increasing, Random: 62}, []strategy.Key{wide("\x01", ""), wide("\x03", "")}, 121},
		{"wide, low", strategy.Info{Order: strategy.Increasing}, []strategy.Key{wide("\x01", "\xff"), wide("\x01", "\x01\x01")}, 1},
		{"unordered", strategy.Info{Random: 122}, []strategy.Key{wide("", "\x01"), wide("", "\x02")}, 122},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := measure.Gap(test.info, byteKeys{}, test.keys...); len(got.Samples) != 1 || math.Abs(got.Samples[0]-test.bits) > 1e-9 {
				t.Errorf("got %+v, want %v bits", got, test.bits)
			}
		})
	}
	if got := measure.Gap(strategy.Info{Order: strategy.Increasing}, byteKeys{}, number(1)); got.OK() || got.Why == "" {
		t.Errorf("one key: got %+v, want the reason why there is none", got)
	}
}

func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		name          string
		keys          []strategy.Key
		safe, numeric bool
		text          int
	}{
		{"last safe", []strategy.Key{number(1), number(1<<53 - 1)}, true, true, 8},
		{"first unsafe", []strategy.Key{number(1), number(1 << 53), number(1)}, false, true, 8},
		{"negative", []strategy.Key{number(-1 << 53)}, false, true, 8},
		{"text", []strategy.Key{"abc", "abcdefghi", "x", "y"}, true, false, 9},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := measure.Describe(strategy.Info{}, byteKeys{}, test.keys)
			if got.JSSafe != test.safe || got.Numeric != test.numeric || got.Text != test.text || len(got.Sample) != min(3, len(test.keys)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
