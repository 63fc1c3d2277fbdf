// Package result is the document that a comparison ends in: what was measured, where, with every raw sample, and what the samples say.
//
// # The document
//
// A [Document] is one run. [Write] writes it as JSON and [Load] reads it: the same result is always the same bytes, and a document that is read
// and written again is what it was, so that reports can be rendered from it at any time, byte for byte. [SchemaJSON] describes every field with
// its unit, as a JSON Schema (draft 2020-12). Load refuses documents of another schema, fields that the schema has not, what is cut off, and
// what contradicts itself, with an error that says what to do; a report that gets its result from Load, or from a run whose result passes
// [Document.Validate], can rely on what Validate says.
//
// # Figures
//
// Whatever was measured more than once is a [Figure]: its samples, one a round, in the order they were taken. The rounds are interleaved: in
// each, every strategy has its turn once, in another order, so that what slows the machine for a while slows all alike.
//
// What was not measured is never 0. Its figure has no samples, and Why says the reason: the database does not count page splits, the server is
// not the run's own to kill, the database makes the key itself. A Why beside samples is the reason why there are fewer of them than rounds. A
// figure with neither belongs to a strategy that was skipped, that failed its checks, or that an interrupted run had not come to; then the
// strategy's Skipped, its Verify, or the result's Interrupted says why.
//
// # Confidence
//
// A figure is told by the median of its samples, with an interval for the median of all samples that there could be. The interval is between
// two of the samples themselves, by their order, and assumes nothing of their distribution: durations have long tails, and a mean with a
// deviation would be wrong for them. Of six samples or more it has a confidence of at least 0.95; of the five of a usual full run it is their
// range, with 0.9375. [Figure.Interval] tells the confidence along with the interval.
//
// # No difference
//
// [Differ] compares two figures by the Mann-Whitney U test, which goes by the order of the samples as well. "No difference" ([Same]) means that
// samples which lie as far apart as these would come by chance at least once in twenty times. It does not mean that the two are equal: a
// difference smaller than the scatter of the samples shows only in more rounds. Where there are so few samples that no outcome could
// be told from chance, below four each, the verdict is [Unknown], which is something else. A difference that is told may still be too small to
// matter; its ratio says how large it is.
//
// All functions and methods here change nothing that they are given. A value may be used by several goroutines at once while none changes it.
package result
