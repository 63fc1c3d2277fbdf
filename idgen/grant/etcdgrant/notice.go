package etcdgrant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// seen is what the answers have told of the cluster.
type seen struct {
	cluster  uint64
	revision int64     // the greatest
	at       time.Time // when that was read, by this process's clock
}

// warnings are those of a store, by what they are about.
type warnings struct {
	members []string
	looked  bool   // for members
	back    string // the revision has gone back
	clock   string
}

func (w warnings) all() []string {
	all := slices.Clone(w.members)
	for _, text := range []string{w.back, w.clock} {
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

func (s *Store) known() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// notice takes note of the revision of an answer to a request that was made when less was known. The revision of a linearizable request is not smaller than
// what was answered before: if it is, etcd has forgotten changes. Their rows are what keepers look at; this is for the operator.
func (s *Store) notice(before seen, h *pb.ResponseHeader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := time.Now(); {
	case h.Revision < before.revision:
		s.warnings.back = fmt.Sprintf("etcd has forgotten changes: its revision was %d in cluster %x, and went back to %d in cluster %x at %s; it was restored from an older copy, "+
			"or does not keep what it acknowledges", before.revision, before.cluster, h.Revision, h.ClusterId, now.UTC().Format(time.RFC3339))
		s.seen = seen{h.ClusterId, h.Revision, now}
	case h.ClusterId != s.seen.cluster || h.Revision > s.seen.revision:
		s.seen = seen{h.ClusterId, h.Revision, now}
	}
}

// compareClock compares the clock of this process with that of the last swap, which was made after what was known before. A process that has swapped is not refused.
func (s *Store) compareClock(k keys, at snapshot, before seen) error {
	var last sample
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings.clock = ""
	if at.clock.revision == 0 || json.Unmarshal([]byte(at.clock.value), &last) != nil || last.Call == s.last {
		return nil
	}
	now, swap := time.Now(), time.UnixMilli(last.At)
	behind := swap.Sub(now) > s.maxSkew
	ahead := before.revision > 0 && at.clock.revision > before.revision && before.at.Sub(swap) > s.maxSkew
	if !behind && !ahead {
		return nil
	}
	what := fmt.Sprintf("the last change of the space was made by %q at %s, and this process's clock is at %s; set the clocks of both machines; where the other one was "+
		"wrong, end that process and delete the key %s", last.Name, swap.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), k.of(at.header.ID).clock)
	if behind && !s.swapped {
		return fmt.Errorf("%w: %s", grant.ErrSkew, what)
	}
	s.warnings.clock = what
	return nil
}

// examine looks at the members once, and has warnings of what it finds. An account may not be allowed to, and nothing depends on it.
func (s *Store) examine(ctx context.Context) {
	s.mu.Lock()
	looked := s.warnings.looked
	s.mu.Unlock()
	if looked {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, perAttempt/2)
	defer cancel()
	list, err := s.client.MemberList(ctx)
	for err != nil && s.again(ctx, err) { // of two endpoints, one may answer each read, and the other one this
		list, err = s.client.MemberList(ctx)
	}
	if err != nil {
		return
	}
	var found []string
	voters, endpoints := 0, s.client.Endpoints()
	for _, member := range list.Members {
		if !member.IsLearner {
			voters++
			continue
		}
		for _, url := range member.ClientURLs {
			if slices.Contains(endpoints, url) {
				found = append(found, fmt.Sprintf("the endpoint %s is a learner, which answers nothing; name the members that vote", url))
			}
		}
	}
	if voters == 1 {
		found = append(found, "etcd has one member: when its disk is lost, so are the grants")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings.members, s.warnings.looked = found, true
}
