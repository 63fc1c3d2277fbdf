package uid

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// ObjectID returns a source of MongoDB's keys of 12 bytes: seconds, 5 random bytes of the source, a counter that begins at random. After 2^24 keys of one
// second, and while the clock is behind, keys carry the last second or one after it, so that none repeats. They last until 2106; then Next and Fill return
// [ErrTime]. Source: MongoDB's ObjectID specification, github.com/mongodb/specifications.
//
//	 0         4              9         12
//	+---------+--------------+----------+
//	| seconds | random       | counter  |   ObjectID
//	+---------+---------+----+----------+
//	| seconds | machine |pid | counter  |   PublishedObjectID
//	+---------+---------+----+----------+
//	 0         4         7    9         12
func ObjectID(options ...Option) idgen.Source[[12]byte] {
	return &objectIDs{config: newConfig(options)}
}

// PublishedObjectID is [ObjectID] as MongoDB's manual had it up to version 3.2: 3 bytes of a hash of the host's name and the low 2 of the process's number in
// place of the random ones. Two processes of one number on hosts of one hash, as an even chance has it among 4,800 hosts, are kept apart by the start of their
// counters alone: it is for those who have such keys, not for new ones.
func PublishedObjectID(host string, pid int, options ...Option) idgen.Source[[12]byte] {
	s := &objectIDs{config: newConfig(options), published: true}
	hash := md5.Sum([]byte(host))
	copy(s.process[:], hash[:3])
	binary.BigEndian.PutUint16(s.process[3:], uint16(pid))
	return s
}

type objectIDs struct {
	config
	published bool

	mu      sync.Mutex // guards the rest
	begun   bool       // process and counter are set
	process [5]byte
	counter uint32 // its low 24 bits
	second  int64  // of the last key
	made    int    // keys of the second
}

func (s *objectIDs) Next(context.Context) ([12]byte, error) {
	var keys [1][12]byte
	err := s.fill(keys[:])
	return keys[0], err
}

func (s *objectIDs) Fill(_ context.Context, keys [][12]byte) error { return s.fill(keys) }

func (s *objectIDs) fill(keys [][12]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	now := s.now()
	second, made := s.second, s.made
	if now.Unix() > second {
		second, made = now.Unix(), 0
	}
	if last := second + int64(made+len(keys)-1)>>24; now.Unix() < 0 || last > math.MaxUint32 {
		return fmt.Errorf("%w: the clock is at %s, want 1970 to 2106", ErrTime, now.UTC().Format(time.RFC3339))
	}
	s.second, s.made = second, made
	for i := range keys {
		if s.made == 1<<24 {
			s.second, s.made = s.second+1, 0
		}
		s.made++
		s.counter++
		binary.BigEndian.PutUint32(keys[i][8:], s.counter) // whose top byte the process overwrites
		binary.BigEndian.PutUint32(keys[i][:], uint32(s.second))
		copy(keys[i][4:], s.process[:])
	}
	return nil
}

// begin sets what is random.
func (s *objectIDs) begin() error {
	if s.begun {
		return nil
	}
	var random [2]uint64
	if err := s.words(random[:]); err != nil {
		return err
	}
	if !s.published {
		var octets [8]byte
		binary.BigEndian.PutUint64(octets[:], random[0])
		copy(s.process[:], octets[:])
	}
	s.counter, s.begun = uint32(random[1]), true
	return nil
}
