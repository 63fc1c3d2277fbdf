package result

import "cmp"

// Overall is the rows a second over the INSERTs of a round, a sample a round: the rows over the sum of the durations, so that what lay between
// INSERTs does not count, and over as many rows in each round. It is missing where there are none, with the reason.
func (g Growth) Overall() Figure {
	if len(g.Batches) == 0 || g.Rows <= 0 {
		return Missing(cmp.Or(g.Why, "no rows were inserted"))
	}
	shortest := len(g.Batches[0]) // has Rows; the others have more where there was time for more
	for _, round := range g.Batches {
		shortest = min(shortest, len(round))
	}
	var f Figure
	for _, round := range g.Batches {
		var us int64
		for _, d := range round[:shortest] {
			us += d
		}
		if us <= 0 {
			return Missing("a round's INSERTs have no durations")
		}
		f.Add(float64(g.Rows) / float64(us) * 1e6)
	}
	return f
}

// Slowdown is the rows a second of the last tenth over those of the first tenth of the same round, a sample a round: 1 is a table that is as
// fast when it is full as when it was empty, 0.2 one that has become five times slower. It is missing where one of the two tenths is, with the
// reason.
func (g Growth) Slowdown() Figure {
	if len(g.Tenths) == 0 {
		return Missing(cmp.Or(g.Why, "no rows were inserted"))
	}
	first, last := g.Tenths[0].RowsPerSecond, g.Tenths[len(g.Tenths)-1].RowsPerSecond
	for _, f := range []Figure{first, last} {
		if !f.OK() {
			return Missing(cmp.Or(f.Why, g.Why, "a tenth was not measured"))
		}
	}
	if len(first.Samples) != len(last.Samples) {
		return Missing("not all rounds reached the last tenth")
	}
	var f Figure
	for i, sample := range first.Samples {
		if sample <= 0 {
			return Missing("the first tenth of a round has no rate")
		}
		f.Add(last.Samples[i] / sample)
	}
	return f
}
