package etcdgrant

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Store is a [grant.Store] in etcd. It is safe for concurrent use. The client stays the caller's.
type Store struct {
	client  *clientv3.Client
	prefix  string
	maxSkew time.Duration
	err     error // why no method can work

	mu       sync.Mutex
	ids      map[string]string // identities by space, as they were read last; guarded by mu
	seen     seen              // guarded by mu
	swapped  bool              // a swap of this store was made; guarded by mu
	last     string            // the mark of that swap; guarded by mu
	warnings warnings          // guarded by mu
	redialed time.Time         // guarded by mu
}

var _ grant.Store = (*Store)(nil)

// Option is a setting of [New].
type Option func(*Store)

// WithPrefix begins the keys with another text than "snowkey/". It may not be empty.
func WithPrefix(prefix string) Option {
	return func(s *Store) { s.prefix = prefix }
}

// WithMaxSkew says how far the clock of a process may be behind that of the last swap. It is greater than 0. Default: 5 minutes.
func WithMaxSkew(d time.Duration) Option {
	return func(s *Store) { s.maxSkew = d }
}

// New returns a store in the etcd of a client. It asks nothing yet. Settings that are not valid are errors of the methods.
func New(client *clientv3.Client, options ...Option) *Store {
	s := &Store{client: client, prefix: "snowkey/", maxSkew: 5 * time.Minute, ids: map[string]string{}}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	switch {
	case client == nil:
		s.err = errors.New("the client is nil")
	case s.prefix == "":
		s.err = errors.New("the prefix is empty")
	case s.maxSkew <= 0:
		s.err = fmt.Errorf("WithMaxSkew(%s): more than 0", s.maxSkew)
	}
	return s
}

// Prepare is [grant.Store]. The error wraps [grant.ErrSkew] where the process is about to start with a clock that is too far behind.
func (s *Store) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	defer func() { err = s.explain(ctx, err, "preparing space %q", space) }()
	if err := errors.Join(s.check(space), grant.CheckLayout(layout)); err != nil {
		return "", err
	}
	within, cancel := limited(ctx)
	defer cancel()
	k, before := s.keys(space), s.known()
	at, err := s.read(within, k, noRow)
	for err == nil {
		var change change
		switch {
		case !at.there:
			id := rand.Text()
			change.compare = []clientv3.Cmp{absent(k.space)}
			change.put = []clientv3.Op{putJSON(k.space, header{ID: id, Layout: layout}), putDigits(k.of(id).mark, 0), putDigits(k.of(id).made, 0)}
		case at.gone() > 0: // raises absent, and counts anew
			h := at.header
			h.Absent = max(h.Absent, at.mark)
			change.compare = []clientv3.Cmp{at.space.same(), at.made.same()}
			change.put = []clientv3.Op{putJSON(k.space, h), putDigits(k.of(h.ID).made, at.rows)}
		default:
			if err := s.compareClock(k, at, before); err != nil {
				return "", err
			}
			s.examine(within)
			return at.header.Layout, nil
		}
		if _, _, err = s.commit(within, change); err == nil {
			at, err = s.read(within, k, noRow)
		}
	}
	return "", err
}

// List is [grant.Store]. The time is that of the process's clock.
func (s *Store) List(ctx context.Context, space string, least, most int64) (l grant.Listing, err error) {
	defer func() { err = s.explain(ctx, err, "listing the nodes of space %q", space) }()
	if err := s.check(space); err != nil {
		return grant.Listing{}, err
	}
	within, cancel := limited(ctx)
	defer cancel()
	at, err := s.read(within, s.keys(space), numbers{max(least, 0), most})
	if err != nil {
		return grant.Listing{}, err
	}
	l = grant.Listing{Now: time.Now().Round(0).UTC(), ID: at.header.ID, Mark: at.mark, Gone: at.gone(), Absent: at.header.Absent}
	for _, row := range at.listed {
		l.Rows = append(l.Rows, row.Row)
	}
	return l, nil
}

// Swap is [grant.Store]. It refuses, with an error, what [grant.CheckSwap] does.
func (s *Store) Swap(ctx context.Context, space string, old, new grant.Row) (swapped bool, err error) {
	defer func() { err = s.explain(ctx, err, "swapping node %d of space %q", new.Number, space) }()
	if err := errors.Join(s.check(space), grant.CheckSwap(old, new)); err != nil {
		return false, err
	}
	k, call := s.keys(space), rand.Text()
	holder := new.Holder
	if holder == "" {
		holder = old.Holder
	}
	within, cancel := limited(ctx)
	defer cancel()
	var lost error // of an earlier attempt, which may have been made
	for {
		at, err := s.read(within, k, numbers{new.Number, new.Number})
		if err != nil {
			return false, err
		}
		if len(at.listed) == 1 && at.listed[0].call == call {
			s.made(call)
			return true, nil
		}
		change := change{compare: []clientv3.Cmp{at.space.same()}}
		in := k.of(at.header.ID)
		switch {
		case !at.there || at.header.Moved != "":
			return false, unknown(lost)
		case old.Holder != grant.Absent:
			if len(at.listed) != 1 || at.listed[0].Holder != old.Holder || at.listed[0].Until != old.Until {
				return false, unknown(lost)
			}
			change.compare = append(change.compare, at.listed[0].same()...)
		default:
			if len(at.listed) > 0 || new.From < at.held() {
				return false, unknown(lost)
			}
			change.compare = append(change.compare, absent(in.node(new.Number)), at.made.same())
			change.put = append(change.put, putDigits(in.made, at.counted+1))
		}
		change.put = append(change.put, putRow(in.node(new.Number), new, call), putJSON(in.clock, sample{time.Now().UnixMilli(), nameOf(holder), call}))
		if new.Until < grant.Forever {
			change.put = append(change.put, raise(in.mark, new.Until))
		}
		done, unanswered, err := s.commit(within, change)
		if done {
			s.made(call)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		lost = cmp.Or(unanswered, lost)
	}
}

// Move is [grant.Store].
func (s *Store) Move(ctx context.Context, space, to, old, new string, most int64) (moved bool, err error) {
	defer func() { err = s.explain(ctx, err, "moving space %q to %q", space, to) }()
	if err := errors.Join(s.check(space), s.check(to), grant.CheckLayout(new)); err != nil {
		return false, err
	}
	from, into, call := s.keys(space), s.keys(to), rand.Text()
	if from.folder != into.folder {
		return false, fmt.Errorf("the other name is not %s, a tilde and a digit", tag(space))
	}
	within, cancel := limited(ctx)
	defer cancel()
	var lost error // of an earlier attempt, which may have been made
	for {
		at, err := s.read(within, from, noRow)
		if err != nil {
			return false, err
		}
		if at.header.Moved == call {
			return true, nil
		}
		losses, other, err := s.getTwo(within, from.losses, into.space)
		if err != nil {
			return false, err
		}
		if !at.there || at.header.Moved != "" || at.header.Layout != old || at.mark > most || other.revision > 0 {
			return false, unknown(lost)
		}
		h := at.header
		h.Layout = new
		change := change{
			compare: []clientv3.Cmp{at.space.same(), absent(into.space), losses.same(), clientv3.Compare(clientv3.Value(from.of(h.ID).mark), "<", digits(min(most, grant.Forever)+1))},
			put:     []clientv3.Op{putJSON(from.space, header{ID: h.ID, Layout: new, Absent: grant.Forever, Moved: call}), putJSON(into.space, h)},
		}
		if losses.revision > 0 {
			change.put = append(change.put, clientv3.OpPut(into.losses, losses.value), clientv3.OpDelete(from.losses))
		}
		done, unanswered, err := s.commit(within, change)
		if done || err != nil {
			return done, err
		}
		lost = cmp.Or(unanswered, lost)
	}
}

// Record is [grant.Store].
func (s *Store) Record(ctx context.Context, space string, loss grant.Loss) (err error) {
	defer func() { err = s.explain(ctx, err, "recording a loss of space %q", space) }()
	if err := s.check(space); err != nil {
		return err
	}
	within, cancel := limited(ctx)
	defer cancel()
	k, call := s.keys(space), rand.Text()
	for {
		was, header, err := s.getTwo(within, k.losses, k.space)
		if err != nil || header.revision == 0 {
			return err
		}
		all, err := was.losses()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(l lossValue) bool { return l.Call == call }) {
			return nil
		}
		all = append(all[max(0, len(all)-grant.MostLosses+1):], lossValue{loss.Number, loss.Holder, loss.From, loss.Until, call})
		done, _, err := s.commit(within, change{compare: []clientv3.Cmp{header.same(), was.same()}, put: []clientv3.Op{putJSON(k.losses, all)}})
		if done || err != nil {
			return err
		}
	}
}

// Losses is [grant.Store].
func (s *Store) Losses(ctx context.Context, space string) (losses []grant.Loss, err error) {
	defer func() { err = s.explain(ctx, err, "listing losses of space %q", space) }()
	if err := s.check(space); err != nil {
		return nil, err
	}
	within, cancel := limited(ctx)
	defer cancel()
	k := s.keys(space)
	was, _, err := s.getTwo(within, k.losses, k.space)
	if err != nil {
		return nil, err
	}
	all, err := was.losses()
	for _, l := range all {
		losses = append(losses, grant.Loss{Number: l.Number, Holder: l.Holder, From: l.From, Until: l.Until})
	}
	return losses, err
}

// Spaces returns the spaces that etcd has below the prefix, by name.
func (s *Store) Spaces(ctx context.Context) (spaces []grant.Space, err error) {
	defer func() { err = s.explain(ctx, err, "listing spaces") }()
	if s.err != nil {
		return nil, s.err
	}
	within, cancel := limited(ctx)
	defer cancel()
	end := clientv3.GetPrefixRangeEnd(s.prefix)
	for next := s.prefix; ; { // one key of each space, and then its own
		found, err := s.ask(within, clientv3.OpGet(next, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly()))
		if err != nil {
			return nil, err
		}
		if len(found[0].Kvs) == 0 {
			spaces = grant.LatestSpaces(spaces)
			slices.SortFunc(spaces, func(a, b grant.Space) int { return strings.Compare(a.Name, b.Name) })
			return spaces, nil
		}
		folder, _, _ := strings.Cut(strings.TrimPrefix(string(found[0].Kvs[0].Key), s.prefix), "/")
		k := s.keys(folder)
		if found, err = s.ask(within, clientv3.OpGet(k.space, clientv3.WithPrefix())); err != nil {
			return nil, err
		}
		for _, kv := range found[0].Kvs {
			h, err := parseHeader(entryOf(kv))
			if err != nil {
				return nil, err
			}
			name := folder + strings.TrimPrefix(string(kv.Key), k.space)
			spaces = append(spaces, grant.Space{StoredAs: name, Layout: h.Layout, ID: h.ID})
		}
		next = s.prefix + folder + "0" // which follows the slash
	}
}

// Warnings returns what the last Prepare had to say of the cluster and of the clocks.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings.all()
}

// Place returns where the store is: the endpoints of the client, and the beginning of the keys.
func (s *Store) Place() string {
	if s.client == nil {
		return "etcd"
	}
	return fmt.Sprintf("etcd %s %s", strings.Join(s.client.Endpoints(), ","), s.prefix)
}

// made takes note of a swap that was made.
func (s *Store) made(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swapped, s.last = true, call
}

func (s *Store) check(space string) error {
	if s.err != nil {
		return s.err
	}
	return grant.CheckSpace(space)
}
