package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Validate tells whether whoever reads the result, a report first of all, can rely on it:
//
//   - the schema is [Schema], the kinds and states are of those that there are, and the plan has a profile, rows, rounds and strategies;
//   - strategies have names of their own on their database, and are in the plan;
//   - samples are finite, and neither they nor counts, sizes, rates and durations are negative;
//   - a growth has no tenths or ten; with batches it has rows and at most a round of batches for each round of the plan;
//     no tenth has more samples than there are rounds;
//   - speeds have goroutines and keys; the counts of shards are none or 16, the χ² go by ascending numbers of shards, and the hot buckets by
//     descending shares.
//
// The error wraps [ErrDocument] or [ErrSchema], and names the first place that is wrong by the names of the fields in JSON.
func (r Result) Validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("%w: schema %d, not %d", ErrSchema, r.Schema, Schema)
	}
	v := &validator{rounds: r.Plan.Rounds}
	v.within("plan", func() {
		v.check(r.Plan.Profile != "", "profile", "it has no name")
		v.check(len(r.Plan.Strategies) > 0, "strategies", "there are none")
		v.check(r.Plan.Rows > 0, "rows", "%d is below 1", r.Plan.Rows)
		v.check(r.Plan.Batch > 0, "batch", "%d is below 1", r.Plan.Batch)
		v.check(r.Plan.Rounds > 0, "rounds", "%d is below 1", r.Plan.Rounds)
		v.amount("budget_seconds", r.Plan.Budget)
	})
	v.amount("seconds", r.Seconds)
	v.within("machine", func() {
		v.amount("cpus", float64(r.Machine.CPUs))
		v.amount("memory_bytes", float64(r.Machine.Memory))
	})
	for i, d := range r.Databases {
		v.within(fmt.Sprintf("databases[%d]", i), func() { v.database(d, r.Plan) })
	}
	return v.err
}

// validator keeps the first thing that is wrong, and where it is.
type validator struct {
	path   string
	err    error
	rounds int // of the plan
}

// within looks into a field.
func (v *validator) within(field string, look func()) {
	outer := v.path
	v.path += field + "."
	look()
	v.path = outer
}

// check keeps what is wrong with a field unless it is ok.
func (v *validator) check(ok bool, field, format string, args ...any) {
	if !ok && v.err == nil {
		v.err = fmt.Errorf("%w: %s%s: %s", ErrDocument, v.path, field, fmt.Sprintf(format, args...))
	}
}

func (v *validator) oneOf(field, value string, values ...string) {
	v.check(slices.Contains(values, value), field, "%q is none of %q", value, values)
}

// amount is of something that cannot be negative.
func (v *validator) amount(field string, x float64) {
	v.check(x >= 0 && !math.IsInf(x, 0), field, "%v is no amount", x)
}

// figure has numbers, or a reason for having none.
func (v *validator) figure(field string, f Figure) {
	for i, s := range f.Samples {
		v.check(!math.IsNaN(s) && !math.IsInf(s, 0), field, "sample %d is %v", i, s)
		v.check(s >= 0, field, "sample %d is negative: %v", i, s)
	}
}

// figures are a structure's.
func (v *validator) figures(fields map[string]Figure) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v.figure(name, fields[name])
	}
}
