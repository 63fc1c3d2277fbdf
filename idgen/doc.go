// Package idgen makes and reads 64-bit snowflake keys: integers that carry the time they were made at, the number of the node
// that made them, and a sequence within one tick of the clock. It needs the standard library alone.
//
//	gen, err := idgen.New(idgen.WithNode(7))
//	id, err := gen.Next(ctx)
//
// # What it guarantees
//
//   - One generator never returns an id twice, from any number of goroutines, whatever the clock does and whatever the policies. Its ids
//     increase if the layout has the time in one place, above the sequence, and no shard above it. Ids of a stream increase, see below.
//   - Two generators with the same layout and different numbers never return the same id. Generators with numbers of package grant have
//     different numbers at every tick.
//   - A generator for all shards, see [WithShards], promises both for each shard by itself. A busy shard takes nothing from the others.
//   - A generator with grants, see [WithGrants], makes ids at the ticks that were granted and at no other, whatever its clock says.
//   - An id is never negative and never wraps. A clock before the layout's epoch, or past its last tick, is an error.
//   - No id carries a tick that the generator's clock has not reached, except under [BorrowFull].
//   - Calls that do not have to wait lock nothing, spin on nothing and allocate nothing. A wait ends with the context, at most a
//     millisecond or so late.
//   - Waiting calls are served in the order they came, see below: later calls cannot overtake them.
//
// # What it does not
//
//   - It does not hand out node numbers; package idgen/grant does. Two processes that share a number, a layout and a
//     key space make equal ids sooner or later. Each node source of this package documents what it protects from, which is less than grants do.
//   - It remembers nothing across a restart, unless it has grants or a floor ([WithFloor]). A process that restarts with the same node number
//     while its wall clock reads earlier than before can repeat ids of the time in between.
//   - Ids of different nodes are ordered by their ticks only: within one tick the node decides, not the time.
//   - Ids are no secret. An id shows when and where it was made. Two ids show how many the generator made between them,
//     since sequences carry on; under [StartRandom] only two ids of the same tick do.
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
// [NewLayout] makes others, [ParseLayout] reads them from text, and the presets are those that their makers published.
//
// # Streams
//
// InnoDB keeps rows in the order of their keys, and fills a page only where rows arrive in that order: one row that arrives a place too early splits the
// page in the middle, and the left half is never filled. Keys of many connections, and of many processes, arrive out of order by some places. A packed
// layout has the time in two places, and gives each writer a run of its own in between. That of [Packed]:
//
//	 63 62                         40 39        30 29     26 25               8 7           0
//	+--+-----------------------------+------------+---------+------------------+-------------+
//	| 0| time, 23 bits of 262.144 s  |  node, 10  | stream,4| time, 18 of 1 ms | sequence, 8 |
//	+--+-----------------------------+------------+---------+------------------+-------------+
//
// A writer takes a stream ([Snowflake.TakeStream]), makes its ids in it, and returns it when its INSERT has ended. So the rows of a stream arrive in the
// order of their keys, each writer appends to pages of its own, and pages are full but for the last one of a run. Writers take the lowest free stream, so
// that runs are long at low traffic too. Where there are more writers than streams, some share one. That costs packing and nothing else: ids of a
// stream are made by one atomic word, as those of a shard are.
//
// What a packed layout gives up: rows of one band, the ticks with the same upper bits, are in the order of their writers, not of time. The exact
// tick still decodes. [Layout.MinID] and [Layout.MaxID] enclose the ids of a tick, and with them some of earlier and later ticks of the same band.
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
//	clock's tick = tick of last, sequence used   → the policy for a full tick
//	clock's tick < tick of last                  → wait until the clock is there (it was, or the tick is borrowed)
//	tick outside of the grant                    → ErrGrant
//
// A call that has to wait takes nothing before its tick has come, so one that gives up costs the others nothing.
//
// # The line
//
// Calls that have to wait stand in the queue. Whoever opens a tick takes a run of it for all of them, and for itself at the end, with the one
// swap that opens it, and hands each its part in the order they came. Calls that come when the tick has come, and need not wait, take
// what the queue leaves. So beside callers who take all there is, a call that comes now and then has its id at the beginning of the next tick.
//
//	the queue, its head on the left            the next tick, opened by anyone
//	+------+------+-----------+------+        +---+---+---------+---+------------------+
//	| Next | Next | Fill of 3 | Next |   →    | 0 | 1 | 2  3  4 | 5 | 6 … whoever comes|
//	+------+------+-----------+------+        +---+---+---------+---+------------------+
//	 sleeps   the others wait to be woken
//
// When a tick has not room for all in the queue, each call gets an equal share of it, and those in front get what others leave of theirs. A
// Fill that got a part goes to the end of the queue for the rest, so a Fill of many ticks takes turns with the others. Beside such Fills a
// call for one id waits for one tick, as long as no more calls are in the queue than a tick has ids. Where more are in the queue, a tick serves as
// many as it has ids, in their order.
//
// A call whose context ends leaves the queue. If it was handed ids at the same moment it returns these, so that none are lost. Calls in the queue
// notice a change of the grant when the tick comes, or within 0.1 s: they get ids of the new number, or the error. Ids that a call was
// handed before the change are of the number that they were taken under. A clock that steps back is waited for or refused as the policy
// says, with the bound of WaitBack for each call by itself.
//
// The head reads the clock and sleeps until the tick comes, so that waiting takes one thread. A sequencer has a line only while calls wait,
// and a call that opens a tick looks at one pointer for it. The order has one exception: a call that joins the queue in the same moment in
// which a tick is opened comes after the one who opens it, and after those who are faster to take what is left of that tick.
//
// # Sequencers
//
// A generator for all shards, see [WithShards], has such a word for each of them, a sequencer, and everything else once:
//
//	sequencers[0] … sequencers[1023]   a word, the count of ids and a line each, 64 bytes apart
//	held                     number and range of ticks, of all: SetGrant, Suspend and Seal are
//	clock, policies, waits   of all
//
// NextFor does with the word of its shard what Next does with the only one, so ids of a shard are unique and increase by the same argument,
// and those of two shards differ in the shard. A sequencer that borrows ticks goes ahead by itself, and the others stay with the clock. Sequencers
// are 64 bytes apart, a cache line, so that calls for different shards on different cores do not wait for each other's: 64 KiB for 1,024
// of them, where 8 KiB would do, and no sequencer needs memory later.
//
// Seal swaps a last word into each sequencer, and the tick that it returns is after the greatest of any, borrowed ones included; so is where
// the ids of another number begin. Sequencers begin at different sequences, since the first ids of all shards would else have the same.
//
// # Grants
//
// What an id is made with beside the word, the numbers of the generator, is behind one pointer, with the range of ticks that they may be
// used at. A call loads it first, and takes no word of a tick outside of the range. [Snowflake.SetGrant] replaces the pointer: calls
// that go on with the old one make ids of its range, which nobody else has. [Snowflake.Seal] also swaps in a last word, after which none
// comes, so that what is left of the range can be given away. Where ticks were borrowed, that begins ahead of the clock. The generator which
// it is given to takes its first ids there, as if it had borrowed the ticks itself, and leads the clock no further than the one before.
//
// Counters, see [Stats], are changed only where a tick begins and where a call waits, so they cost an id in a tick that has begun nothing.
//
// # Policies
//
// Three things are choices, each an [Option]; a [Preset] brings its maker's:
//
//	when the wall clock steps back     IgnoreBack, WaitBack, RefuseBack, SwitchBack, WaitSwitchBack
//	when a tick's sequence is used up  WaitFull, BorrowFull, RefuseFull
//	where a tick's sequence starts     StartSpread, StartRandom, StartZero
//
//	preset         steps back       full   start             where its maker's code differs
//	snowkey        IgnoreBack         wait   StartSpread(0)
//	twitter        RefuseBack       wait   StartZero         it spins while it waits
//	leaf           WaitBack(5 ms)   wait   StartRandom(100)  it waits twice the step; starts a tick after a full one at random too
//	shardingjdbc   RefuseBack       wait   StartSpread(2)    it alternates 0 and 1 whatever the last id was; newer ones wait 10 ms
//	sonyflake      IgnoreBack         wait   StartZero         its time stands still until the wall clock has caught up
//	baidu          RefuseBack       wait   StartZero
//	sharded        IgnoreBack         borrow StartSpread(0)    up to 1,000 ticks, which are a second
//	scattered      IgnoreBack         borrow StartSpread(0)    up to 1,000 ticks, which are a second
//	packed         IgnoreBack         borrow StartSpread(256)  up to 1,000 ticks, which are a second
//	packed1s       IgnoreBack         borrow StartSpread(256)  up to 1,000 ticks, which are a second
//	discord, instagram, mastodon, k8sip, game, js53: those of snowkey; their makers publish a layout and no generator in a process
//
// The start matters to tables that are sharded by id % n. A generator that starts each tick at 0 makes even ids, and multiples of 16,
// and of 64, far too often at low traffic, so that few shards are filled; carried on, the low bits are uniform at any traffic. The
// price is paid only by the first tick of a burst, at most a quarter of its room by default (3 of 16 with the layout sharded, whose ids of
// one shard are spread over 4 sequences at low traffic): a tick that was used up is followed by
// one that starts at 0, and Fill and the queue start as low as they need to. The first id of a generator starts at a sequence taken from the
// clock, since processes that make one id and end have the same fault.
//
// Sequences that carry on also tell how many ids a node made: at low traffic the first id of a tick carries on by one from the last one of
// the tick before, so that two ids of a node say how many came between them, modulo a quarter of the range. Where that must not be seen,
// StartRandom(0) starts each tick where nobody foresees, fills the shards as evenly, and costs the same. It hides how many ids came between
// two ticks. It hides neither the time, which is in the id, nor how many ids of one tick came between two of them: there they carry on by one.
//
// # The clock
//
// Under IgnoreBack the generator's time is the wall clock when it was made plus the monotonic clock since, so a wall clock that steps back
// later changes nothing. Ten times a second it is compared with the wall clock, and moved forward to it when it lags (a machine that
// was suspended, a wall clock that was set right); it is never moved back. Under the other policies its time is the wall clock, which
// takes twice as long to read.
//
//	                            IgnoreBack                WaitBack(bound)            RefuseBack            SwitchBack
//	suspended, goes on          follows within 0.1 s    follows                    follows               follows
//	steps back                  goes on as if it had    waits up to the bound,     ClockError until it   stays in its tick: own
//	                            not                     ClockError beyond it       has caught up         sequence, spare nodes, then full
//	steps forward by a year     follows within 0.1 s    follows                    follows               follows
//	and back by a year          goes on a year ahead    ClockError for a year      ClockError for a year spare nodes, then full
//	stands still                the tick's sequence, then the policy for a full tick, the same under all
//
// WaitSwitchBack is WaitBack up to the bound and SwitchBack beyond it.
//
// A wrong step forward is the one that hurts: ids of a time to come cannot be taken back, and the way out is to set the clock right
// and make a new generator with a node number that was not in use in that time.
package idgen
