// Package peers measures idgen and uid beside other generators of keys: [bwmarrin/snowflake], [sony/sonyflake] (version 2, its current one),
// [rs/xid], [google/uuid], [gofrs/uuid], [oklog/ulid] and the ObjectIDs of [MongoDB's driver]; and publicid beside [sqids]. It holds benchmarks and tests alone, and is a module of its own so that who uses snowkey gets none of
// them. The figures are in README.md, and what they were made of in results.
//
// # What is compared
//
// A generator whose layout allows so many keys a tick and no more, waits when they are used up, and its figure is that of its layout,
// not of its code. One without such a bound is as fast as its code is. The two must never stand in one table, so there are groups,
// each with the floor: time.Since, a clock read, which a key with a time in it cannot do without.
//
// bound=none: no maker ever waits for the clock. The snowflakes have so wide a sequence that no tick of theirs is used up.
//
//	snowkey     a layout of 41 bits of 1 ms and 22 of sequence, no node
//	bwmarrin    NodeBits 0 and StepBits 22 instead of 10 and 12: the same layout
//	sonyflake   BitsSequence 22 and BitsMachineID 6 instead of 8 and 16, which leaves 35 bits of 10 ms; machine 1
//	xid         as it comes
//	uuidv4      as it comes: NewRandom
//	uuidv4pool  NewRandom after EnableRandPool
//	uuidv7      as it comes: NewV7, without the pool
//
// bound=wide: keys of 96 and 128 bits, each as it comes, and those of package uid. No maker waits for the clock.
//
// bound=own: the snowflakes with the layouts they come with. What differs here is less the time a key takes than the cores that are
// busy meanwhile, which is why each benchmark reports those too. Bounds differ within the group: compare sonyflake's figure with its
// bound, not with the others. A figure can be up to some percent below its bound, since nobody waits for the keys of the first tick.
//
//	snowkey     4,096 keys a millisecond, 244 ns each; node 1
//	bwmarrin    4,096 keys a millisecond, 244 ns each; node 0
//	sonyflake   256 keys in 10 ms, 39,063 ns each; machine 1
//
// BenchmarkPublic makes a text of a key, and reads it. The texts differ in what they hide. Decimal and base62 hide nothing. sqids is a shuffled alphabet, and no
// encryption by its authors' own words. publicid is a permutation of 64 bits with a key of 256.
//
// # What the figures do not show
//
// The keys are not alike. Those of the snowflakes are integers of 64 bits and unique as long as the node numbers are; xid's have 96
// bits and uuid's 128, take no number, and cost more room in each index. xid has room for 16,777,216 keys a second and process, and
// repeats them beyond that without a word. uuidv7 has 4,096 places a millisecond, and past those its time runs ahead of the clock.
// snowkey and bwmarrin read the monotonic clock, time.Since; the others read the wall clock, time.Now, which takes longer; uuidv4 reads
// none.
//
// # How it is measured
//
// Next takes one key a time, on one goroutine, and on one a core that all share one generator; its time is then that between two keys of
// any goroutine. Batch takes 1,000 keys into a slice: by one call of Fill from snowkey and package uid, which read the clock once for all, and by a
// loop from the others, which have no such call. All makers, and the floor, are called through a function value, which costs each
// the same one or two nanoseconds. TestUnique takes keys from each maker on eight goroutines and finds none twice.
//
// [bwmarrin/snowflake]: https://pkg.go.dev/github.com/bwmarrin/snowflake
// [sony/sonyflake]: https://pkg.go.dev/github.com/sony/sonyflake/v2
// [rs/xid]: https://pkg.go.dev/github.com/rs/xid
// [gofrs/uuid]: https://pkg.go.dev/github.com/gofrs/uuid/v5
// [oklog/ulid]: https://pkg.go.dev/github.com/oklog/ulid/v2
// [MongoDB's driver]: https://pkg.go.dev/go.mongodb.org/mongo-driver/v2/bson
// [sqids]: https://pkg.go.dev/github.com/sqids/sqids-go
// [google/uuid]: https://pkg.go.dev/github.com/google/uuid
package peers
