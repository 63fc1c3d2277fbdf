package uid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// ErrTime says that a clock is at a time which keys cannot carry.
var ErrTime = errors.New("uid: no keys of this time")

// V4 returns a source of UUIDs of version 4: 122 random bits. Source: RFC 9562, section 5.4.
func V4(options ...Option) idgen.Source[[16]byte] { return &v4{newConfig(options)} }

// V7 returns a source of UUIDs of version 7, which increase: the time in 1/4096 ms, a count of 4 bits, 58 random bits. They last until the year 10889. Next
// and Fill return [ErrTime] when the clock is before 1970 or after that. Source: RFC 9562, section 5.7, with methods 2 and 3 of section 6.2.
func V7(options ...Option) idgen.Source[[16]byte] {
	return &timed{config: newConfig(options), width: 58, compose: func(state, random uint64) (high, low uint64) {
		return state>>4&^0xfff<<4 | 0x7000 | state>>4&0xfff, 1<<63 | state<<60>>2 | random
	}}
}

// ULID returns a source of ULIDs, which increase: the time in 1/4096 ms, a count of 4 bits, 64 random bits. Any reader of ULIDs takes them: to it all but the
// milliseconds is random. It returns [ErrTime] as [V7] does. Source: github.com/ulid/spec.
func ULID(options ...Option) idgen.Source[[16]byte] {
	return &timed{config: newConfig(options), width: 64, compose: func(state, random uint64) (high, low uint64) { return state, random }}
}

// chunk is of how many keys Fill takes the random bits at a time.
const chunk = 32

type v4 struct{ config }

func (s *v4) Next(context.Context) (key [16]byte, err error) {
	var random [2]uint64
	if err := s.words(random[:]); err != nil {
		return key, err
	}
	put(&key, random[0]&^0xf000|0x4000, random[1]>>2|1<<63)
	return key, nil
}

func (s *v4) Fill(_ context.Context, keys [][16]byte) error {
	var random [2 * chunk]uint64
	for i := range keys {
		at := 2 * (i % chunk)
		if at == 0 {
			if err := s.words(random[:min(2*(len(keys)-i), len(random))]); err != nil {
				return err
			}
		}
		put(&keys[i], random[at]&^0xf000|0x4000, random[at+1]>>2|1<<63)
	}
	return nil
}

// timed is a source of keys that begin with the time and increase.
type timed struct {
	config
	width   int                                           // of the random bits at the end
	compose func(state, random uint64) (high, low uint64) // a key of a state and as many random bits
	last    atomic.Uint64                                 // the greatest state that a key has: from the top 48 bits of milliseconds, 12 of their fraction, 4 of the count
}

func (s *timed) Next(context.Context) (key [16]byte, err error) {
	var random [2]uint64
	if err := s.words(random[:]); err != nil {
		return key, err
	}
	state, err := s.take(random[0])
	if err != nil {
		return key, err
	}
	high, low := s.compose(state, random[1]>>(64-s.width))
	put(&key, high, low)
	return key, nil
}

// Fill gives all keys one state. The lower part begins at random in the lower half of its range and goes on by random steps that end within the range.
func (s *timed) Fill(_ context.Context, keys [][16]byte) error {
	var random [chunk]uint64
	if err := s.words(random[:2]); err != nil {
		return err
	}
	state, err := s.take(random[0])
	if err != nil {
		return err
	}
	lower, step := random[1]>>(65-s.width), uint64(1)<<(s.width-1-bits.Len(uint(len(keys))))-1
	for i := range keys {
		at := i % chunk
		if at == 0 {
			if err := s.words(random[:min(len(keys)-i, chunk)]); err != nil {
				return err
			}
		}
		high, low := s.compose(state, lower)
		put(&keys[i], high, low)
		lower += 1 + random[at]&step
	}
	return nil
}

// take returns a state that no key has: of the clock's time with a count from 0 to 7, or the one after the last where that is not above it.
func (s *timed) take(random uint64) (uint64, error) {
	now := s.now()
	ms := now.Unix()*1000 + int64(now.Nanosecond())/1e6
	if ms < 0 || ms >= 1<<48 {
		return 0, fmt.Errorf("%w: the clock is at %s, want 1970 to 10889", ErrTime, now.UTC().Format(time.RFC3339))
	}
	state := uint64(ms)<<16 | uint64(now.Nanosecond()%1e6)<<12/1e6<<4 | random>>61
	for {
		last := s.last.Load()
		if last == math.MaxUint64 { // of the last instant
			return 0, fmt.Errorf("%w: all of 10889 are made", ErrTime)
		}
		if state <= last {
			state = last + 1
		}
		if s.last.CompareAndSwap(last, state) {
			return state, nil
		}
	}
}

func put(key *[16]byte, high, low uint64) {
	binary.BigEndian.PutUint64(key[:8], high)
	binary.BigEndian.PutUint64(key[8:], low)
}
