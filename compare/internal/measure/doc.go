// Package measure has the measurements of a strategy that has been verified, each with its method. Each function takes the samples of one
// round and adds them to the document; the caller interleaves the rounds of all strategies, so that a busy minute of the machine falls on
// all of them. What cannot be measured says why, and is never 0; an error means that the measuring itself broke off, and adds nothing.
//
// # Generation
//
// [Generation] makes keys at full speed with 1, 2, 4… goroutines, up to 4 or GOMAXPROCS, whichever is more. Nanoseconds a key are those
// on the wall divided by the keys of all goroutines together, as Go's parallel benchmarks have it. The keys of a sample are a fixed number,
// found in a warm-up to last about 20 ms.
//
// What would make it dishonest: a layout with 12 bits of sequence and a millisecond makes 4,096,000 keys a second however fast its code is,
// so a figure that says whether the code is fast and one that says how many keys there are must not share a column. Capped keys are made
// with the machine's clock, and where the layout's limit is within reach a sample is a whole number of ticks, counted from a tick that is
// used up, with all ticks to come that the source borrows from: shorter ones would take the first keys of a fresh tick for the rule. Where a whole tick takes
// seconds to fill, the capped figure is the code's time or the limit's, whichever is more. Uncapped keys are made with a clock that reads the
// machine's and multiplies the time elapsed, so that the limit is at 200 million keys a second or above; a sample that comes within half of
// that is not kept. They pay for reading an injected clock, for the longer way that this module's generators then take, and for looking at
// it more often; a source whose node numbers are granted has a fixed one, without the keeper's call around it. So they are a bound from
// above and no figure of the machine's clock, and their Note says so. Batches, one call for many keys, are made with such a clock too, of
// at least 10,000 million keys a second: with the machine's they would all show the limit. Sizes that would take more than about two
// seconds a call are left out, with the reason. Floor is the cheapest reading of the clock that Go has, time.Since, in the same round: no
// source that looks at the clock for each key can be faster.
//
// # Latency
//
// [Latency] asks for keys at a fixed rate, whether those before have come or not: call i is due at i/rate, and its latency counts from
// there to its end.
//
// What would make it dishonest: a loop that calls, waits and calls again stops asking while the source stalls, and shows one slow call
// where all that came in the meantime would have waited (coordinated omission). Here each call that was due while all goroutines were held
// up counts from when it was due. The opposite is dishonest too: a goroutine that sleeps until its call is due wakes up late, by a
// millisecond on a busy machine, and this is not the source's fault. So the waiting is reckoned and not read off the clock: a call begins
// when it is due, or when the goroutine's call before it would have ended had that begun on time, and ends after as long as it really took.
// What stays is what the machine adds within a call; and where a source burns the processors that others need to wake up, that is not seen
// here but in the rate achieved. A source that falls behind for good has no percentiles: they would depend on when one stops looking. It
// gets the rate that it could not hold.
//
// # Growth
//
// [Growth] inserts rows through GORM in statements of a fixed size until the table is full. Only the INSERTs are timed; rows are made
// before each. A tenth's rate is its rows over the time of its INSERTs; its 99th percentile is that by the nearest rank, so of fewer than
// a hundred INSERTs it is the slowest.
//
// What would make it dishonest: an average over the whole table hides that it gets slower; a table that lost rows is fast, so the rows are
// counted before anything is kept ([ErrVerify]); a round cut off by its limit of time has no figures for the tenths that it did not
// fill, rather than the rate of a smaller table; a table that fits the cache says nothing of one that does not, so the size over the
// cache's stands beside it.
//
// # Writers
//
// [Writers] has several connections insert at once into a table of its own, each through a GORM of its own, and times them together: rows over the time from
// the first INSERT to the last. The connections of a fleet's strategy have a generator each, with a node number of its own. A database knows connections
// and the keys that come over them, and no processes: goroutines that share nothing but the table are to it what processes are.
//
// What would make it dishonest: one connection alone hides what rows that arrive out of the order of their keys do to pages; a table of few pages
// hides it too, as a page is split in the middle once; writers that wait for each other's keys, so that each claims its next rows when its last
// INSERT has ended, and none has a share that it is late with.
//
// # Storage
//
// What the full table weighs is asked of the database at the end of [Growth], per row. Splits are counted over the whole growth. Log bytes
// and bytes of data pages are those of a tenth as many rows more, at most 10,000, inserted into the full table right after a checkpoint:
// without it, most of what random keys cost is hidden, for a page is logged as a whole only when it is first changed after a checkpoint.
// These rows do not count as rows of the growth, and are inserted after all else has been measured. What a strategy writes to a second
// server is not counted.
//
// # Reads
//
// Ordered reads up to 100,000 rows in the order of their keys; Recent reads 1,000 of the rows inserted last, one by one by their keys, in
// an order that a seed shuffles. What would make it dishonest: a read that finds nothing is fast, so each row is compared with the one
// inserted, and the ordered ones are counted ([ErrVerify]). The cache is not cold: the growth has filled it, and counting and weighing
// the rows have gone through it since. The recent rows are read after the ordered ones.
//
// # Shards
//
// [Shards] makes keys one at a time on a quiet system, about 50 a second, and counts them by key modulo n. What would make it dishonest:
// keys made at full speed use all of their sequence and fall evenly on the shards, while with little traffic every tick begins the sequence
// anew and all keys are even; the published defect shows only so. The clock is a fake one that is moved between keys, by 20 ms give or take
// a half, so nothing waits; for a layout of fewer than 200 keys a second it is moved as far as four keys take. Sources that go by a clock
// that cannot be set, or by none, make keys one right after the other, and the Method says so. Pearson's χ² is given with the probability
// of at least that value; counters are more even than chance, with a χ² near 0 and a P near 1, which is no defect.
//
// Keys that carry the bucket of a sharding key are counted by it, modulo n: that is how their rows fall on tables. What would make it dishonest:
// tenants that all have equally many rows, as few have, or a row each. Then any good hash is even. The strategies' tenants come by Zipf(1.1), so
// Counts and χ² are uneven, and are meant to be: no hash mends a hot tenant, all of whose rows have one bucket. Uniform has the counts of tenants,
// which tell what is left when none is hot, and Hot the buckets with the most keys, with how many tenants share each.
//
// # Key
//
// The key is described by 101 keys of one INSERT at the end of the growth: keys that followed each other without a pause, so the gap is
// what a stranger who sees one has to try at the least to find the next.
package measure
