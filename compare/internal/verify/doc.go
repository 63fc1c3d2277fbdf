// Package verify looks for what is wrong with a strategy's keys before anything is timed. A check that fails has the evidence: the two equal
// keys and who got them, the inversion, the row that came back.
//
// # What the checks prove
//
// A failed check is a proof: the evidence is two answers that the source or the database gave. A passed check is none, but a bound on how often
// the fault can happen.
//
//	check                         looks at                                        a pass cannot tell
//	unique: goroutines            keys of 8 goroutines that share one Keys,       of faults that are rarer than one in some thousand keys,
//	                              drawn by Next and by Fill of odd sizes,         see below, or that need more cores than there are
//	                              then 1,000 by one Fill
//	unique: processes             keys of 4 Keys opened side by side, and, where  of more processes than were opened, nor of those on other
//	                              they go by no clock or by grants, of one        machines: all of them run here, as one operating system process
//	                              opened again
//	order                         what was promised, over the same calls, and     of an order between processes, which nobody promises;
//	                              whether the database sorts rows as keys are     of times beyond those of the run
//	round trip                    rows of one table, each found by its key and    of keys of times and node numbers that were not drawn
//	                              all read back in order, with keys that no
//	                              goroutine had
//	clock steps back              keys of the same wall clock times before and    of clocks that step more often than 10 times a second
//	                              after steps of 3 ms, 2 s and 1 h
//	clock steps back: restart     the same for a process that is opened anew      of state that a source keeps outside of the database
//
// # How rare a fault is found
//
// Where each key is wrong with probability p, a check of n keys finds it with probability 1-(1-p)^n. With the 20,000 keys that are the default:
//
//	one wrong key in           1,000    10,000    20,000    100,000    350,000
//	found                      always     86 %      63 %       18 %        6 %
//
// and with the 400 keys of a source that costs a round trip each:
//
//	one wrong key in             100       400     1,000     10,000
//	found                       98 %      63 %      33 %        4 %
//
// A fault that needs two calls at the same time is rarer than that says, as most calls of a fast source are alone: goroutines begin their calls
// two by two, and the detail tells how many calls really overlapped. BenchmarkFound, on two cores shared with seven other programs, with 20,000
// keys: a counter that is read and written without a lock was found in 28 runs of 30 (in 2 of 30 with goroutines that begin as they like), time
// and sequence in two atomics in 2 runs of 90. More keys ([Options].Keys) find more.
//
// Of random keys, 20,000 are enough to find a source of fewer than 28 random bits more often than not; that 122 bits are random cannot be seen
// from keys.
//
// # Order
//
// Each call has a place in the order of all calls' beginnings and ends. A call has to give keys greater than the greatest of all calls that
// ended before it began, whichever goroutines made them, and its own keys in increasing order. Calls that overlap may come in either order.
// Of a strategy that promises the order of its ticks alone, keys drawn more than two ticks apart are compared.
//
// # Keys that the database makes
//
// They come from rows inserted one statement after the other through one table, as a table is not safe for concurrent use. What several sessions
// inserting at once would get is not tried, and the checks say so.
//
// # A clock that steps back
//
// A source that refuses keys with an error until the clock has caught up, or waits, passes; the detail says which. Equal keys fail. After a
// restart, a scheme whose node numbers are set by hand cannot know that the clock was ahead before, and makes equal keys: this is a weakness that
// is published with those schemes, and no reason to leave them out. The check of the restart then has passed with a detail that begins with
// "weakness:", and with the two equal keys as its evidence. It fails where a restart gives equal keys although the clock went on.
//
// # Errors
//
// An error of a source is a failed check with the error as its evidence, as long as the context lives and the place's databases answer. Otherwise
// it is [Run]'s error, beside the checks that were done until then. A database that answers but takes no rows, such as one whose disk is full,
// looks like a fault of the strategy; the evidence has its error.
package verify
