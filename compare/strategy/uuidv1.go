package strategy

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/snowkey-go/snowkey/idgen"
)

func uuidV1() uuidVersion {
	return uuidVersion{
		info: Info{
			Name: "uuidv1",
			About: "128-bit keys of the time in 100 ns, a clock sequence of 14 bits, and the machine's address, made by this package as the standard says: " +
				"github.com/google/uuid has one clock sequence for all that a process simulates.",
			Origin: "RFC 9562, section 5.1 (version 1, of RFC 4122 before)",
			Needs:  "a network card with an address of its own, and a clock that is about right",
			Cost: "16 bytes where a number has 8, " + everyIndex + ". The low half of the time is in front, so that keys go through the whole index every seven " +
				"minutes; the address of the machine is in each key",
			Coordination: "the clock sequence, where several processes of one machine make keys: the standard has them share a store of it, as here; without one it is " +
				"random, and two processes with the same one of 16,384 can make equal keys",
			Decodes: "when it was made, to 100 ns, and on which machine",
			Guess:   "all but the time of the machine's others, of which there are ten million in a second",
			Order:   Unordered,
			Limit:   1e7,
			Unit:    100 * time.Nanosecond,
			Clock:   true,
		},
		open: func(_ context.Context, at Environment) (idgen.Source[[16]byte], error) {
			m := &uuidV1Maker{now: at.wall(), clockSequence: nextClockSequence()}
			copy(m.node[:], uuid.NodeID())
			return single[[16]byte](m.next), nil
		},
	}
}

// clockSequences is the store that all processes of a machine share by the standard. It has the last clock sequence that one took, and begins at
// random. Each process that begins, and each that sees its clock step back, takes the next one.
var clockSequences = sync.OnceValue(func() *atomic.Uint32 {
	last := new(atomic.Uint32)
	last.Store(rand.Uint32())
	return last
})

func nextClockSequence() uint16 { return uint16(clockSequences().Add(1)) }

// uuidV1Maker makes the UUIDs of one process.
type uuidV1Maker struct {
	now  func() time.Time
	node [6]byte

	sync.Mutex           // guards the rest
	clockSequence uint16 // another one when the clock steps back
	read          uint64 // what the clock said last
	last          uint64 // the time in the last key, which may be ahead of a coarse clock: then the ticks count the keys
}

// gregorian is how many ticks of 100 ns lie between 1582-10-15, where version 1 counts from, and 1970.
const gregorian = 0x01b21dd213814000

func (m *uuidV1Maker) next(context.Context) (u [16]byte, err error) {
	m.Lock()
	defer m.Unlock()
	now := uint64(m.now().UnixNano()/100) + gregorian
	switch {
	case now < m.read:
		m.clockSequence = nextClockSequence()
		m.last = now
	case now <= m.last:
		m.last++
	default:
		m.last = now
	}
	m.read = now
	binary.BigEndian.PutUint32(u[0:], uint32(m.last))
	binary.BigEndian.PutUint16(u[4:], uint16(m.last>>32))
	binary.BigEndian.PutUint16(u[6:], uint16(m.last>>48)&0x0fff|1<<12)
	binary.BigEndian.PutUint16(u[8:], m.clockSequence&0x3fff|0x8000)
	copy(u[10:], m.node[:])
	return u, nil
}
