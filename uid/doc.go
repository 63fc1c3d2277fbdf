// Package uid makes keys of 96 and 128 bits and of text that need no node number: UUIDs of version 4 and 7, ULIDs, ObjectIDs and NanoIDs. Each is an
// [idgen.Source] that package gormplugin fills models from:
//
//	db.Use(gormplugin.New(gormplugin.From(uid.V7())))
//
// # What keeps keys apart
//
// Keys of one source never repeat, except those of V4 and NanoID, which are random alone. Keys of different sources and processes are kept apart by
// random bits, not by a database. How likely two equal keys are:
//
//	V4       122 random bits       1e-12 after 3e12 keys
//	V7       61 bits within 244 ns: two processes of a million keys a second each, 3e-6 in a year
//	ULID     67 bits within 244 ns: as V7, 5e-8
//	ObjectID 40 bits a process, 24 of a counter: 1e-4 among 15,000 sources whose counters are as one
//
// # Order
//
// Keys of one source of V7 or ULID increase, also while its clock stands still or steps back. Keys of different sources are in the order of their clocks.
//
//	 0               48   52          64 66    70                        128
//	+----------------+----+------------+--+-----+--------------------------+
//	| milliseconds   | 7  | 1/4096 ms  |10|count|          random          |   V7: RFC 9562, section 5.7
//	+----------------+----+------------+--+-----+--------------------------+
//	| milliseconds   | 1/4096 ms  |count|             random               |   ULID
//	+----------------+------------+-----+----------------------------------+
//	 0               48           60    64                               128
//
// The fraction is method 3 of RFC 9562, section 6.2. The count begins at random below 8 in each 244 ns, and goes on by one with each key that the same 244 ns
// see; so 33 million keys a second carry their own time, and more run ahead of the clock. Fill takes one count for all its keys and has them increase
// by random steps, which is method 2. Of a batch of a thousand, who knows one key has 47 bits to guess for the next one of V7.
//
// # Random bits
//
// They come from ChaCha8 generators of [math/rand/v2], as many as there are processors at work, each seeded with 256 bits of the operating system's
// generator. Nobody who sees keys can tell others: ChaCha8 is a stream cipher without a known attack, and Go's replaces its key after each 992 bytes, so
// that its memory does not give away keys of the past. The garbage collector drops generators that are idle, and new seeds take their place.
//
// One thing they do not withstand: a machine that is cloned with its memory has the same random bits twice. [WithRandom] of crypto/rand's Reader
// asks the operating system for each key, which knows of a clone where the machine's host tells it.
package uid
