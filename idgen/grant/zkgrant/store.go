package zkgrant

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Store is a [grant.Store] in ZooKeeper. It is safe for concurrent use. The connection stays the caller's, with its session timeout; a call whose context ends returns at once,
// and leaves its request to that timeout.
type Store struct {
	client client
	prefix string
	acl    []zk.ACL
	err    error // why no method can work

	mu       sync.Mutex
	zxid     int64    // the greatest that was seen; guarded by mu
	warnings warnings // guarded by mu
}

var _ grant.Store = (*Store)(nil)

// Option is a setting of [New].
type Option func(*Store)

// WithPrefix names the node that has the folders of the spaces, in place of "/snowkey". It begins with a slash and does not end with one. Where the node is
// missing, Prepare makes it and those above.
func WithPrefix(path string) Option {
	return func(s *Store) { s.prefix = path }
}

// WithACL says who may use the nodes that are made from now on, such as zk.AuthACL(zk.PermAll) for the account of the connection. Default: everybody.
func WithACL(acl ...zk.ACL) Option {
	return func(s *Store) { s.acl = acl }
}

// New returns a store in the ZooKeeper of a connection. It asks nothing yet. Settings that are not valid are errors of the methods.
func New(conn *zk.Conn, options ...Option) *Store {
	s := newStore(conn, options...)
	if conn == nil {
		s.err = errors.New("the connection is nil")
	}
	return s
}

func newStore(c client, options ...Option) *Store {
	s := &Store{client: c, prefix: "/snowkey", acl: zk.WorldACL(zk.PermAll)}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	parts := strings.Split(s.prefix, "/")
	switch {
	case len(parts) < 2 || parts[0] != "" || slices.ContainsFunc(parts[1:], func(p string) bool { return p == "" || p == "." || p == ".." }):
		s.err = fmt.Errorf("the prefix %q is not the path of a node, such as /snowkey", s.prefix)
	case len(s.acl) == 0:
		s.err = errors.New("WithACL: nobody may use the nodes")
	}
	return s
}

// Prepare is [grant.Store].
func (s *Store) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	defer func() { err = s.explain(ctx, err, "preparing space %q", space) }()
	if err := errors.Join(s.check(space), grant.CheckLayout(layout)); err != nil {
		return "", err
	}
	within, cancel := limited(ctx)
	defer cancel()
	k, call := s.keys(space), rand.Text()
	for tries := 1; ; tries++ {
		at, err := s.read(within, k)
		if err != nil {
			return "", err
		}
		var change []any
		switch {
		case !at.there:
			change = s.add(k, at, call)
			id := rand.Text()
			for _, node := range []string{header{space: k.space, id: id, layout: layout}.node(), mark{id: id, call: call}.node()} {
				change = append(change, s.create(k.folder+"/"+node))
			}
		case at.gone() > 0: // raises absent, and counts anew
			h, m := at.header, at.mark
			h.absent, m.made, m.call = max(h.absent, m.until), int64(len(at.rows)), call
			if h != at.header {
				change = s.replace(k, at.header.node(), h.node())
			} else {
				change = []any{k.check(h.node())}
			}
			change = append(change, s.replace(k, at.mark.node(), m.node())...)
		default:
			s.examine(within)
			return at.header.layout, nil
		}
		done, _, err := s.commit(within, change...)
		if err == nil && !done && !at.folder {
			err = s.createPrefix(within)
		}
		if err == nil && !done {
			err = pause(within, wait(tries))
		}
		if err != nil {
			return "", err
		}
	}
}

// add are the operations of a transaction that adds a name of a space to the folder that it has read.
func (s *Store) add(k keys, at snapshot, call string) []any {
	if !at.folder {
		return []any{s.create(k.folder), s.create(k.folder + "/" + join(kindRevision, call))}
	}
	return s.replace(k, at.revision, join(kindRevision, call))
}

// createPrefix makes the nodes that the folders are in, from the first that is missing.
func (s *Store) createPrefix(ctx context.Context) error {
	for end := len(s.prefix); end > 0; {
		path := s.prefix[:end]
		_, _, err := ask(ctx, func() (string, error) { return s.client.Create(path, nil, 0, s.acl) })
		switch {
		case errors.Is(err, zk.ErrNoNode): // one above is missing
			end = strings.LastIndex(path, "/")
		case err != nil && !errors.Is(err, zk.ErrNodeExists):
			return err
		case end == len(s.prefix):
			return nil
		default:
			end = len(s.prefix)
		}
	}
	return nil
}

// wait is how long to wait after so many tries: all that try at once try less often.
func wait(tries int) time.Duration { return min(time.Duration(tries)*leastWait/2, mostWait) }

// List is [grant.Store]. The time is that of the leader's clock.
func (s *Store) List(ctx context.Context, space string, least, most int64) (l grant.Listing, err error) {
	defer func() { err = s.explain(ctx, err, "listing the nodes of space %q", space) }()
	if err := s.check(space); err != nil {
		return grant.Listing{}, err
	}
	within, cancel := limited(ctx)
	defer cancel()
	at, err := s.read(within, s.keys(space))
	if err != nil {
		return grant.Listing{}, err
	}
	l = grant.Listing{Now: at.now.UTC(), ID: at.header.id, Mark: at.mark.until, Gone: at.gone(), Absent: at.header.absent}
	for _, row := range at.rows {
		if least <= row.Number && row.Number <= most {
			l.Rows = append(l.Rows, row.Row)
		}
	}
	return l, nil
}

// Swap is [grant.Store]. It refuses, with an error, what [grant.CheckSwap] does.
func (s *Store) Swap(ctx context.Context, space string, old, new grant.Row) (swapped bool, err error) {
	defer func() { err = s.explain(ctx, err, "swapping node %d of space %q", new.Number, space) }()
	if err := errors.Join(s.check(space), grant.CheckSwap(old, new)); err != nil {
		return false, err
	}
	within, cancel := limited(ctx)
	defer cancel()
	k, call := s.keys(space), rand.Text()
	adds := old.Holder == grant.Absent
	var lost error // of an earlier attempt, which may have been made
	for tries := 0; ; tries++ {
		var at snapshot
		// The transaction compares all that it replaces, so at first a read of any age does. It does not see that rows are gone, before one is added.
		current := adds || tries > 0
		if current {
			at, err = s.read(within, k)
		} else {
			at, _, err = s.readAnyAge(within, k)
		}
		if err != nil {
			return false, err
		}
		was, found := at.row(new.Number)
		if found && was.call == call {
			return true, nil
		}
		refused := !at.there || at.header.moved != ""
		if adds {
			refused = refused || found || new.From < at.held()
		} else {
			refused = refused || !found || was.Holder != old.Holder || was.Until != old.Until
		}
		switch {
		case refused && current:
			return false, unknown(lost)
		case refused:
			continue
		}
		next, m := row{Row: new, id: at.header.id, call: call}, at.mark
		change := []any{k.check(at.header.node())}
		if adds {
			m.made++
			change = append(change, s.create(k.folder+"/"+next.node()))
		} else {
			change = append(change, s.replace(k, was.node(), next.node())...)
		}
		if new.Until < grant.Forever {
			m.until = max(m.until, new.Until)
		}
		if m != at.mark {
			m.call = call
			change = append(change, s.replace(k, at.mark.node(), m.node())...)
		}
		done, unanswered, err := s.commit(within, change...)
		if done || err != nil {
			return done, err
		}
		lost = cmp.Or(unanswered, lost)
		if err := pause(within, wait(tries+1)); err != nil {
			return false, errors.Join(err, lost)
		}
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
	for tries := 1; ; tries++ {
		at, err := s.read(within, from)
		if err != nil {
			return false, err
		}
		if at.header.moved == call {
			return true, nil
		}
		if !at.there || at.header.moved != "" || at.header.layout != old || at.mark.until > most || slices.Contains(at.others, into.space) {
			return false, unknown(lost)
		}
		left, h := header{space: from.space, id: at.header.id, absent: grant.Forever, moved: call, layout: new}, at.header
		h.space, h.layout = into.space, new
		change := append(s.add(from, at, call), s.replace(from, at.header.node(), left.node())...)
		change = append(change, s.create(from.folder+"/"+h.node()), from.check(at.mark.node()))
		done, unanswered, err := s.commit(within, change...)
		if done || err != nil {
			return done, err
		}
		lost = cmp.Or(unanswered, lost)
		if err := pause(within, wait(tries)); err != nil {
			return false, errors.Join(err, lost)
		}
	}
}

// Record is [grant.Store].
func (s *Store) Record(ctx context.Context, space string, lost grant.Loss) (err error) {
	defer func() { err = s.explain(ctx, err, "recording a loss of space %q", space) }()
	if err := s.check(space); err != nil {
		return err
	}
	within, cancel := limited(ctx)
	defer cancel()
	k, call := s.keys(space), rand.Text()
	for tries := 1; ; tries++ {
		at, err := s.read(within, k)
		if err != nil || !at.there || at.header.moved != "" || slices.ContainsFunc(at.losses, func(l loss) bool { return l.call == call }) {
			return err
		}
		next := loss{Loss: lost, id: at.header.id, count: 1, call: call}
		if n := len(at.losses); n > 0 {
			next.count = at.losses[n-1].count + 1
		}
		change := []any{k.check(at.header.node()), s.create(k.folder + "/" + next.node())}
		for _, oldest := range at.losses[:max(0, len(at.losses)-grant.MostLosses+1)] {
			change = append(change, k.remove(oldest.node()))
		}
		done, _, err := s.commit(within, change...)
		if !done && err == nil {
			err = pause(within, wait(tries))
		}
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
	at, err := s.read(within, s.keys(space))
	for _, l := range at.losses[max(0, len(at.losses)-grant.MostLosses):] {
		losses = append(losses, l.Loss)
	}
	return losses, err
}

// Spaces returns the spaces that ZooKeeper has below the prefix, by name.
func (s *Store) Spaces(ctx context.Context) (spaces []grant.Space, err error) {
	defer func() { err = s.explain(ctx, err, "listing spaces") }()
	if s.err != nil {
		return nil, s.err
	}
	within, cancel := limited(ctx)
	defer cancel()
	folders, err := s.names(within, s.prefix)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		first, err := url.PathUnescape(folder)
		if err != nil || grant.CheckSpace(first) != nil {
			continue // made by others
		}
		names, err := s.names(within, s.prefix+"/"+folder)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			kind, r := read(name)
			if !strings.HasPrefix(kind, kindSpace) {
				continue
			}
			h, err := r.header(kind)
			if err != nil {
				return nil, err
			}
			spaces = append(spaces, grant.Space{StoredAs: first + strings.TrimPrefix(kind, kindSpace), Layout: h.layout, ID: h.id})
		}
	}
	spaces = grant.LatestSpaces(spaces)
	slices.SortFunc(spaces, func(a, b grant.Space) int { return strings.Compare(a.Name, b.Name) })
	return spaces, nil
}

// names returns those of the nodes in a folder, or none where there is no folder. The connected server first catches up with the leader.
func (s *Store) names(ctx context.Context, folder string) ([]string, error) {
	names, _, err := ask(ctx, func() ([]string, error) {
		if _, err := s.client.Sync(folder); err != nil {
			return nil, err
		}
		names, _, err := s.client.Children(folder)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// Warnings returns what Prepare had to say of the ensemble.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc([]string{s.warnings.servers, s.warnings.back}, func(w string) bool { return w == "" })
}

// Place returns where the store is: the server that the connection has now, or had last, if any, and the node with the folders.
func (s *Store) Place() string {
	if s.err == nil {
		if server := s.client.Server(); server != "" {
			return fmt.Sprintf("zookeeper %s %s", server, s.prefix)
		}
	}
	return "zookeeper " + s.prefix
}

func (s *Store) check(space string) error {
	if s.err != nil {
		return s.err
	}
	return grant.CheckSpace(space)
}
