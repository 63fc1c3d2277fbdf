package resulttest

import (
	"fmt"
	"math"

	"github.com/snowkey-go/snowkey/compare/result"
)

// kind is a strategy of the sample.
type kind struct {
	name, about, origin, needs, cost, coordination, decodes, guess string

	skipped  string  // why it is, where it is
	limit    float64 // keys a second by the layout; -1: the database makes the key in the INSERT
	ns       float64 // a key by the code alone
	drawn    float64 // nanoseconds of a round trip for a key, 0: none
	bytes    int
	text     int
	jsSafe   bool
	numeric  bool
	gap      float64 // bits
	columns  [3]string
	sample   []string
	evidence string // of failing
	skewed   bool   // to few shards at low traffic
	tenants  string // whose buckets the keys carry, "": no bucket
}

// verify has the five checks.
func (k kind) verify() result.Verify {
	checks := []result.Check{
		{Name: "unique: goroutines", State: result.Passed, Keys: 200_000},
		{Name: "unique: processes", State: result.Passed, Keys: 200_000},
		{Name: "order", State: result.Passed, Keys: 20_000},
		{Name: "round trip", State: result.Passed, Keys: 1_000},
		{Name: "clock steps back", State: result.Passed, Keys: 60_000, Detail: "3 steps of 1s, 10s and 1h: the source waited or went on by its last time"},
	}
	if k.gap > 120 {
		checks[2] = result.Check{Name: "order", State: result.NotRun, Detail: "the strategy promises no order"}
	}
	if k.limit < 0 || k.drawn > 0 || k.gap > 120 {
		checks[4] = result.Check{Name: "clock steps back", State: result.NotRun, Detail: "the keys do not go by a clock"}
	}
	if k.evidence != "" {
		checks[1].State, checks[1].Evidence = result.Failed, k.evidence
	}
	return result.Verify{Checks: checks}
}

// key describes the keys.
func (k kind) key(p place, n *noise) result.Key {
	column := k.columns[map[string]int{"sqlite": 0, "mysql": 1, "postgres": 2}[p.kind]]
	key := result.Key{
		Column: column, Bytes: k.bytes, Text: k.text, JSSafe: k.jsSafe, Numeric: k.numeric,
		Sample: append([]string(nil), k.sample...), Gap: result.Measured(k.gap),
	}
	if k.limit < 0 {
		key.Gap.Note = "of the keys of rows inserted one after the other"
	}
	return key
}

// generation has no speeds where the database makes the keys.
func (k kind) generation(n *noise) result.Generation {
	g := result.Generation{Limit: max(k.limit, 0), Floor: n.figure(38.6, 0.03, 2)}
	for _, goroutines := range []int{1, 2, 4} {
		capped := result.Speed{Goroutines: goroutines, Keys: 1}
		uncapped := capped
		many := result.Speed{Goroutines: goroutines, Keys: 1000}
		switch {
		case k.limit < 0:
			capped.Time = result.Missing("the database makes the key when a row is inserted")
			uncapped.Time, many.Time = capped.Time, capped.Time
		case k.drawn > 0:
			capped.Time = n.figure(k.drawn/math.Sqrt(float64(goroutines)), 0.08, 0)
			uncapped.Time = result.Measured(capped.Time.Samples...)
			many.Time = result.Missing("the source makes single keys only")
		default:
			code := k.ns * (1 + 0.4*math.Log2(float64(goroutines)))
			floor := code
			if k.limit > 0 {
				floor = max(code, 1e9/k.limit)
			}
			capped.Time, uncapped.Time = n.figure(floor, 0.01, 2), n.figure(code, 0.04, 2)
			many.Time = n.figure(code/6, 0.04, 2)
		}
		g.Capped, g.Uncapped, g.Batch = append(g.Capped, capped), append(g.Uncapped, uncapped), append(g.Batch, many)
	}
	return g
}

// latency has a thousand calls with a few stalls.
func (k kind) latency(n *noise) result.Latency {
	if k.limit < 0 {
		return result.Latency{Why: "the database makes the key when a row is inserted"}
	}
	l := result.Latency{Rate: 20_000, Goroutines: 2, Achieved: 20_000}
	if k.drawn > 0 {
		l.Rate, l.Achieved = 500, 499.6
	}
	for i := range 1000 {
		ns := n.around(k.ns+k.drawn+180, 0.15)
		if i%211 == 210 {
			ns *= 25
		}
		l.Samples = append(l.Samples, int64(ns))
	}
	return l
}

// shards has counts near equal ones, or of a strategy whose low bits are mostly zero.
func (k kind) shards(n *noise) result.Shards {
	s := result.Shards{Method: "key modulo n, one key every 3 to 40 ms", Keys: 4096, Counts: make([]int64, 16)}
	if !k.numeric {
		s.Method = "the last 8 bytes of the key as a number, modulo n, one key every 3 to 40 ms"
	}
	if k.limit < 0 {
		return result.Shards{Why: "the database makes the key when a row is inserted"}
	}
	for i := range s.Counts {
		s.Counts[i] = 256
	}
	for range 8 { // pairs, so that the sum stays
		by, from, to := int64(n.random.IntN(20)), n.random.IntN(16), n.random.IntN(16)
		s.Counts[from] -= by
		s.Counts[to] += by
	}
	if k.skewed {
		s.Counts = []int64{3610, 214, 98, 51, 33, 22, 15, 12, 10, 8, 7, 5, 4, 3, 2, 2}
	}
	if k.tenants != "" {
		s.Method, s.Tenants = "the bucket modulo n, one key every 3 to 40 ms", k.tenants
		s.Counts = []int64{190, 209, 186, 228, 175, 200, 217, 193, 204, 752, 190, 319, 207, 194, 182, 450}
		s.Uniform = []int64{641, 618, 625, 602, 644, 630, 611, 655, 620, 607, 633, 619, 628, 614, 637, 616}
		s.Hot = []result.Bucket{{Bucket: 9, Share: 0.1487, Tenants: 11}, {Bucket: 95, Share: 0.0703, Tenants: 8}, {Bucket: 411, Share: 0.0454, Tenants: 14}}
	}
	for shards := 2; shards <= 1024; shards *= 2 {
		c := result.Chi{Shards: shards, Value: round(n.around(float64(shards-1), 0.1), 3)}
		if k.skewed || k.tenants != "" {
			c.Value = round(float64(4096*(shards-1))*0.78, 3)
		}
		if shards == 16 {
			c.Value = chiOf(s.Counts)
		}
		c.P = round(tail(c.Value, float64(shards-1)), 4)
		s.Chi = append(s.Chi, c)
	}
	return s
}

// chiOf is the χ² of counts against equal ones.
func chiOf(counts []int64) float64 {
	var sum, value float64
	for _, c := range counts {
		sum += float64(c)
	}
	mean := sum / float64(len(counts))
	for _, c := range counts {
		value += (float64(c) - mean) * (float64(c) - mean) / mean
	}
	return round(value, 3)
}

// tail is the chance that χ² of so many degrees of freedom is at least value, by Wilson's and Hilferty's approximation.
func tail(value, degrees float64) float64 {
	v := 2 / (9 * degrees)
	z := (math.Cbrt(value/degrees) - (1 - v)) / math.Sqrt(v)
	return math.Erfc(z/math.Sqrt2) / 2
}

// numbers are keys as text.
func numbers(from int64, steps ...int64) []string {
	out := []string{fmt.Sprint(from)}
	for _, s := range steps {
		from += s
		out = append(out, fmt.Sprint(from))
	}
	return out
}
