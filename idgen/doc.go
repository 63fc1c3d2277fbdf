// Package idgen makes and reads 64-bit snowflake keys: integers that carry the time they were made at, the number of the node
// that made them, and a sequence within one tick of the clock. It needs the standard library alone.
//
//	gen, err := idgen.New(idgen.WithNode(7))
//	id, err := gen.Next(ctx)
//
// # What it guarantees
//
//   - One generator never returns an id twice, and never a smaller one than before (where the layout has the time above the
//     sequence, as all presets do), from any number of goroutines, whatever the clock does.
//   - Two generators never return the same id as long as they have the same layout and different node numbers.
//   - An id is never negative and never wraps. A clock before the layout's epoch, or past its last tick, is an error.
//   - No id carries a tick that the generator's clock has not reached.
//   - Nothing is locked, nothing spins, and Next and Fill allocate nothing unless they have to wait. A wait ends with the context.
//
// # What it does not
//
//   - It does not hand out node numbers. Two processes with one number, layout and key space make equal ids sooner or later.
//   - It does not remember anything across a restart. A process that comes back while its wall clock reads earlier than it did
//     before, with the same node number, can repeat ids of the time in between.
//   - Ids of different nodes are ordered by their ticks only: within one tick the node decides, not the moment.
//   - Ids are no secret. Who sees one knows when and where it was made.
//
// # The layout
//
// A [Layout] is an epoch, a unit and bit fields from the top bit down. That of [Snowkey], the default:
//
//	 63 62                                           22 21         12 11            0
//	+--+-----------------------------------------------+-------------+---------------+
//	| 0|                time, 41 bits of 1 ms          |   node, 10  |  sequence, 12 |
//	+--+-----------------------------------------------+-------------+---------------+
//
// # The generator
//
// The whole state of a [Snowflake] is one atomic word, the tick and the sequence of the last id:
//
//	last = tick << sequenceBits | sequence
//
// Next reads the clock, takes the greater of (tick of the clock, start of the sequence) and last+1, and swaps it in; when another
// goroutine was faster it tries again. Since the word only grows, and an id is made of the word that this call swapped in, no two
// calls can have the same. Fill takes a run of sequences in one swap, one for each tick that it touches.
//
//	clock's tick > tick of last                  → a new tick begins at the start of the sequence
//	clock's tick = tick of last, sequence left   → last+1
//	clock's tick = tick of last, sequence used   → wait for the next tick, or until the context ends
//	clock's tick < tick of last                  → the same two, in the tick of last
//
// Where a new tick's sequence starts: at the sequence after the last one, modulo a quarter of the sequence's range. A generator
// that starts each tick at 0 makes even ids, and multiples of 16, and of 64, far too often at low traffic, so that id % shards
// fills few shards; carried on, the low bits are uniform at any traffic. The price is paid only by the first tick of a burst, at
// most a quarter of its room: a tick that was used up is followed by one that starts at 0, and Fill starts as low as it needs to. The
// first id of a generator starts at a sequence taken from the clock, since processes that make one id and end have the same fault.
//
// # The clock
//
// The generator's time is the wall clock when it was made plus the monotonic clock since, so a wall clock that steps back later
// changes nothing. Ten times a second it is compared with the wall clock, and moved forward to it when it lags (a machine that was
// suspended, a wall clock that was set right); it is never moved back.
package idgen
