package etcdgrant

import (
	"context"
	"fmt"
	"math"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// numbers is a range of them, both included.
type numbers struct{ least, most int64 }

// noRow is the range of none.
var noRow = numbers{0, -1}

// snapshot is what a space has at one revision.
type snapshot struct {
	there  bool
	header header
	space  entry
	// The rest has nothing where the space is not there, or has moved.
	mark    int64
	made    entry
	counted int64 // rows that were ever added, the value of made
	rows    int64 // that are there
	listed  []row // those that were asked for, in the order of their numbers
	clock   entry
}

// gone returns how many rows are.
func (a snapshot) gone() int64 { return max(0, a.counted-a.rows) }

// held returns the tick until which numbers without a row are held.
func (a snapshot) held() int64 {
	if a.gone() > 0 {
		return max(a.header.Absent, a.mark)
	}
	return a.header.Absent
}

// read returns a space, with the rows of some numbers. It asks by the identity that the space had when it was read last, and again if it has another one.
func (s *Store) read(ctx context.Context, k keys, which numbers) (snapshot, error) {
	for {
		s.mu.Lock()
		id := s.ids[k.space]
		s.mu.Unlock()
		in := k.of(id)
		asked := []clientv3.Op{clientv3.OpGet(k.space)}
		if id != "" {
			asked = append(asked, clientv3.OpGet(in.mark), clientv3.OpGet(in.made), clientv3.OpGet(in.clock), clientv3.OpGet(in.nodes, clientv3.WithPrefix(), clientv3.WithCountOnly()))
			if which.least <= which.most {
				end := in.nodes + "~" // after all digits
				if which.most < math.MaxInt64 {
					end = in.node(which.most + 1)
				}
				asked = append(asked, clientv3.OpGet(in.node(which.least), clientv3.WithRange(end)))
			}
		}
		got, err := s.ask(ctx, asked...)
		if err != nil {
			return snapshot{}, err
		}
		at := snapshot{space: first(k.space, got[0].Kvs)}
		if at.space.revision == 0 {
			return at, nil
		}
		at.there = true
		if at.header, err = parseHeader(at.space); err != nil {
			return snapshot{}, err
		}
		if at.header.Moved != "" {
			return at, nil
		}
		if at.header.ID != id {
			s.mu.Lock()
			s.ids[k.space] = at.header.ID
			s.mu.Unlock()
			continue
		}
		mark := first(in.mark, got[1].Kvs)
		at.made, at.clock, at.rows = first(in.made, got[2].Kvs), first(in.clock, got[3].Kvs), got[4].Count
		if mark.revision == 0 || at.made.revision == 0 {
			return snapshot{}, fmt.Errorf("%w: the key %q or %q is gone", grant.ErrStore, in.mark, in.made)
		}
		if at.mark, err = mark.number(); err != nil {
			return snapshot{}, err
		}
		if at.counted, err = at.made.number(); err != nil {
			return snapshot{}, err
		}
		if len(got) > 5 {
			for _, kv := range got[5].Kvs {
				r, err := parseRow(entryOf(kv), in.nodes)
				if err != nil {
					return snapshot{}, err
				}
				at.listed = append(at.listed, r)
			}
		}
		return at, nil
	}
}

// getTwo returns two entries at one revision.
func (s *Store) getTwo(ctx context.Context, one, two string) (a, b entry, err error) {
	got, err := s.ask(ctx, clientv3.OpGet(one), clientv3.OpGet(two))
	if err != nil {
		return a, b, err
	}
	return first(one, got[0].Kvs), first(two, got[1].Kvs), nil
}
