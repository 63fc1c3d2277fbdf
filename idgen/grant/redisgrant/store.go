package redisgrant

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Store is a [grant.Store] in Redis. It is safe for concurrent use. The client stays the caller's, with its pool and its timeouts; a call whose context
// ends returns at once, and leaves its command to these timeouts.
type Store struct {
	client   redis.UniversalClient
	prefix   string
	unsafe   bool
	durable  bool
	replicas int
	err      error // why no method can work

	mu       sync.Mutex
	warnings []string // guarded by mu
}

var _ grant.Store = (*Store)(nil)

// Option is a setting of [New].
type Option func(*Store)

// WithPrefix begins the keys with another text than "snowkey:". It may not be empty or have a brace.
func WithPrefix(prefix string) Option {
	return func(s *Store) { s.prefix = prefix }
}

// WithUnsafe accepts a Redis that may lose what it has acknowledged, for tests and demonstrations. What is wrong is then a warning only.
func WithUnsafe() Option {
	return func(s *Store) { s.unsafe = true }
}

// WithDurable states that the operator vouches for the settings that the server does not tell: each acknowledged write is kept, and no key is evicted.
// Settings that the server tells are examined all the same.
func WithDurable() Option {
	return func(s *Store) { s.durable = true }
}

// WithReplicas has each Swap and Move wait until so many replicas have the change in memory, for a second at most. A change that fewer have
// is an error, and may have been made. The number is at least 1: that of all replicas. A server with more of them is a warning.
func WithReplicas(n int) Option {
	return func(s *Store) {
		s.replicas = n
		if n < 1 {
			s.err = fmt.Errorf("WithReplicas(%d): at least 1", n)
		}
	}
}

// New returns a store in the Redis of a client: a [redis.Client], also one of Sentinel's, or a [redis.ClusterClient]. It asks nothing yet. Settings that are not
// valid, and a [redis.Ring], are errors of the methods.
func New(client redis.UniversalClient, options ...Option) *Store {
	s := &Store{client: client, prefix: "snowkey:"}
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	_, ring := client.(*redis.Ring)
	switch {
	case client == nil:
		s.err = errors.New("the client is nil")
	case ring:
		s.err = errors.New("the client is a Ring, which asks another server when one does not answer; take a Client or a ClusterClient")
	case s.prefix == "" || strings.ContainsAny(s.prefix, "{}"):
		s.err = fmt.Errorf("the prefix %q is empty or has a brace", s.prefix)
	}
	return s
}

const replicaWait = time.Second // less than the client waits for an answer

// waitFor is how long a change waits for the replicas: less than the caller waits, so that the error says what was missing.
func waitFor(ctx context.Context) time.Duration {
	wait := replicaWait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)*3/4)
	}
	return max(wait, time.Millisecond).Round(time.Millisecond) // 0 would be forever
}

// Prepare is [grant.Store]. It first examines the server: the error wraps [grant.ErrUnsafe] or [grant.ErrReadOnly] for a server that is not fit, and
// [grant.ErrStore] where the space is not as it was written.
func (s *Store) Prepare(ctx context.Context, space, layout string) (inForce string, err error) {
	defer func() { err = explain(ctx, err, "preparing space %q", space) }()
	if err := errors.Join(s.check(space), grant.CheckLayout(layout)); err != nil {
		return "", err
	}
	key := s.key(space)
	warnings, err := dialect.Within(ctx, func() ([]string, error) { return s.examine(ctx, key) })
	if err != nil {
		return "", err
	}
	answer, err := s.eval(ctx, prepareScript, []string{key}, layout, rand.Text(), digits(0))
	if err != nil {
		return "", err
	}
	inForce, ok := answer.(string)
	if !ok {
		return "", unexpected(answer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = warnings
	return inForce, nil
}

// List is [grant.Store]. It reads the whole space, unless least and most are the same.
func (s *Store) List(ctx context.Context, space string, least, most int64) (l grant.Listing, err error) {
	defer func() { err = explain(ctx, err, "listing the nodes of space %q", space) }()
	if err := s.check(space); err != nil {
		return grant.Listing{}, err
	}
	only := ""
	if least == most {
		only = strconv.FormatInt(least, 10)
	}
	answer, err := s.eval(ctx, listScript, []string{s.key(space)}, only)
	if err != nil {
		return grant.Listing{}, err
	}
	return parseListing(answer, least, most)
}

// Swap is [grant.Store]. It refuses, with an error, what [grant.CheckSwap] does.
func (s *Store) Swap(ctx context.Context, space string, old, new grant.Row) (swapped bool, err error) {
	defer func() { err = explain(ctx, err, "swapping node %d of space %q", new.Number, space) }()
	if err := s.check(space); err != nil {
		return false, err
	}
	if err := grant.CheckSwap(old, new); err != nil {
		return false, err
	}
	reach := new.Until
	if reach == grant.Forever {
		reach = 0
	}
	return s.change(ctx, swapScript, []string{s.key(space)}, new.Number, old.Holder, digits(old.Until),
		digits(new.Until), digits(new.From), new.Holder, rand.Text(), digits(reach))
}

// Move is [grant.Store].
func (s *Store) Move(ctx context.Context, space, to, old, new string, most int64) (moved bool, err error) {
	defer func() { err = explain(ctx, err, "moving space %q to %q", space, to) }()
	if err := errors.Join(s.check(space), s.check(to), grant.CheckLayout(new)); err != nil {
		return false, err
	}
	if tag(space) != tag(to) {
		return false, fmt.Errorf("the other name is not %s, a tilde and a digit", tag(space))
	}
	if most < 0 {
		return false, ctx.Err()
	}
	keys := []string{s.key(space), s.key(to), s.key(space) + lossesSuffix, s.key(to) + lossesSuffix}
	return s.change(ctx, moveScript, keys, old, new, digits(most), rand.Text(), digits(0), digits(grant.Forever))
}

// Record is [grant.Store].
func (s *Store) Record(ctx context.Context, space string, loss grant.Loss) (err error) {
	defer func() { err = explain(ctx, err, "recording a loss of space %q", space) }()
	if err := s.check(space); err != nil {
		return err
	}
	text := fmt.Sprintf("%s %d %d %d %s", rand.Text(), loss.Number, loss.From, loss.Until, loss.Holder)
	_, err = s.eval(ctx, recordScript, []string{s.key(space), s.key(space) + lossesSuffix}, text, grant.MostLosses)
	return err
}

// Losses is [grant.Store].
func (s *Store) Losses(ctx context.Context, space string) (losses []grant.Loss, err error) {
	defer func() { err = explain(ctx, err, "listing losses of space %q", space) }()
	if err := s.check(space); err != nil {
		return nil, err
	}
	texts, err := dialect.Within(ctx, func() ([]string, error) { return s.client.LRange(ctx, s.key(space)+lossesSuffix, 0, -1).Result() })
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		loss, err := parseLoss(text)
		if err != nil {
			return nil, err
		}
		losses = append(losses, loss)
	}
	return losses, nil
}

// Spaces returns the spaces that Redis has below the prefix, by name. It goes through all keys, and the account needs the command SCAN.
func (s *Store) Spaces(ctx context.Context) (spaces []grant.Space, err error) {
	defer func() { err = explain(ctx, err, "listing spaces") }()
	if s.err != nil {
		return nil, s.err
	}
	names, err := dialect.Within(ctx, func() (map[string]bool, error) { return s.scan(ctx) })
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values, err := dialect.Within(ctx, func() ([]any, error) { return s.client.HMGet(ctx, s.key(name), "id", "layout").Result() })
		if err != nil {
			return nil, err
		}
		id, _ := values[0].(string)
		layout, _ := values[1].(string)
		spaces = append(spaces, grant.Space{StoredAs: name, ID: id, Layout: layout})
	}
	s.warn(ctx, spaces)
	return grant.LatestSpaces(spaces), nil
}

// warn keeps as warnings why keepers would refuse the servers of the spaces. Whether their changes wait for replicas, only they know.
func (s *Store) warn(ctx context.Context, spaces []grant.Space) {
	var warnings []string
	for _, space := range spaces {
		_, err := s.examine(ctx, s.key(space.StoredAs))
		if refused := errors.Is(err, grant.ErrUnsafe) || errors.Is(err, grant.ErrReadOnly); refused && !slices.Contains(warnings, err.Error()) {
			warnings = append(warnings, err.Error())
		}
	}
	if len(warnings) > 0 { // else those of Prepare stay
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warnings = warnings
	}
}

// scan returns the names of the spaces that have a hash.
func (s *Store) scan(ctx context.Context) (map[string]bool, error) {
	var mu sync.Mutex
	names := map[string]bool{} // guarded by mu
	each := func(ctx context.Context, node *redis.Client) error {
		keys := node.Scan(ctx, 0, glob.Replace(s.prefix)+"{*}*", 1000).Iterator()
		for keys.Next(ctx) {
			first, later, found := strings.Cut(strings.TrimPrefix(keys.Val(), s.prefix+"{"), "}")
			if name := first + later; found && grant.CheckSpace(name) == nil && s.key(name) == keys.Val() {
				mu.Lock()
				names[name] = true
				mu.Unlock()
			}
		}
		return keys.Err()
	}
	var err error
	switch client := s.client.(type) {
	case *redis.ClusterClient:
		err = client.ForEachMaster(ctx, each)
	case *redis.Client:
		err = each(ctx, client)
	default:
		err = errors.New("the client is neither a Client nor a ClusterClient")
	}
	return names, err
}

// glob escapes what a pattern of SCAN means otherwise.
var glob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// Warnings returns what the last Prepare had to say of the server, see [WithUnsafe] and [WithReplicas], or the last Spaces: why it would be refused.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}

// failoverAddress is that of a client of Sentinel, which goes to whichever server is the master.
const failoverAddress = "FailoverClient"

// Place returns where the store is: the address and the database of the client, or the addresses of a cluster, and the beginning of the keys.
func (s *Store) Place() string {
	switch client := s.client.(type) {
	case *redis.Client:
		address := client.Options().Addr
		if address == failoverAddress {
			address = "of Sentinel"
		}
		return fmt.Sprintf("redis %s/%d %s", address, client.Options().DB, s.prefix)
	case *redis.ClusterClient:
		return fmt.Sprintf("redis cluster %s %s", strings.Join(client.Options().Addrs, ","), s.prefix)
	}
	return "redis " + s.prefix
}

const lossesSuffix = ":losses"

// key returns the name of a space's hash.
func (s *Store) key(space string) string {
	return s.prefix + "{" + tag(space) + "}" + strings.TrimPrefix(space, tag(space))
}

// tag returns the space without what a change of its layout has added.
func tag(space string) string {
	first, _, _ := strings.Cut(space, "~")
	return first
}

// change runs a script that returns 1 for a change that was made, and waits for the replicas to have it.
func (s *Store) change(ctx context.Context, script string, keys []string, args ...any) (bool, error) {
	if s.replicas == 0 {
		answer, err := s.eval(ctx, script, keys, args...)
		return answer == int64(1) && err == nil, err
	}
	return dialect.Within(ctx, func() (bool, error) {
		wait := waitFor(ctx)
		var answer, acknowledged *redis.Cmd
		err := s.pipeline(ctx, keys[0], func(pipe redis.Pipeliner) { // WAIT is for the writes of its own connection
			answer, acknowledged = pipe.Eval(ctx, script, keys, args...), pipe.Do(ctx, "WAIT", s.replicas, wait.Milliseconds())
		})
		if err != nil {
			return false, err
		}
		if answer.Val() != int64(1) {
			return false, nil
		}
		n, err := acknowledged.Int64()
		if err != nil {
			return false, err
		}
		if n < int64(s.replicas) {
			return false, fmt.Errorf("%d of %d replicas have acknowledged the change within %s; it may have been made", n, s.replicas, wait)
		}
		return true, nil
	})
}

// eval runs a script. It sends the text, not a digest, so that it is one command, whatever the server has forgotten.
func (s *Store) eval(ctx context.Context, script string, keys []string, args ...any) (any, error) {
	return dialect.Within(ctx, func() (any, error) { return s.client.Eval(ctx, script, keys, args...).Result() })
}

// explain says what was being done when the error came, and that the context had ended where it had.
func explain(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	switch {
	case redis.HasErrorPrefix(err, "READONLY"):
		err = fmt.Errorf("%w: %w; name the master", grant.ErrReadOnly, err)
	case redis.HasErrorPrefix(err, "SNOWKEY"), redis.HasErrorPrefix(err, "WRONGTYPE"):
		err = fmt.Errorf("%w: %w", grant.ErrStore, err)
	}
	return fmt.Errorf("redisgrant: %s: %w", fmt.Sprintf(doing, args...), err)
}

func (s *Store) check(space string) error {
	if s.err != nil {
		return s.err
	}
	return grant.CheckSpace(space)
}
