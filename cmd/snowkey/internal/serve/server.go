package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Source makes the keys: a [*grant.Keeper], or a [*idgen.Snowflake] whose number was set by hand.
type Source interface {
	idgen.Source[int64]
	Stats() idgen.Stats
}

// The times that a client has. They are no settings: whoever is slower holds up nobody but itself.
const (
	timeToSend = 10 * time.Second // a whole request, or the token
	timeToTake = 10 * time.Second // an answer
	timeToLook = time.Second      // whether the source is ready
)

// The states.
const (
	starting = "starting"
	ready    = "ready"
	losing   = "losing"
	ended    = "ended"
	stopping = "stopping"
)

// Server gives keys to clients. It is made by [Listen], and safe for concurrent use.
type Server struct {
	config    Config
	token     [sha256.Size]byte
	registry  *prometheus.Registry
	metrics   metrics
	limit     limit
	listeners []*limited
	http      *http.Server
	failed    chan error
	served    sync.WaitGroup // listeners and connections of Redis's protocol
	base      context.Context
	cut       context.CancelFunc // ends calls of the source

	source   atomic.Pointer[Source] // nil until Use
	stopping atomic.Bool

	mu       sync.Mutex            // guards what follows
	sessions map[*session]struct{} // nil when there are to be no more
}

// Listen listens at all addresses and answers there. Requests for keys fail until [Server.Use]. The error is an [ErrConfig], or of the network.
func Listen(config Config) (*Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	s := &Server{
		config: config, token: sha256.Sum256([]byte(config.Token)), limit: limit{most: int64(config.MaxConnections)},
		failed: make(chan error, 1), sessions: map[*session]struct{}{},
	}
	s.base, s.cut = context.WithCancel(context.Background())
	s.register()
	s.http = &http.Server{
		Handler: s.handler(), TLSConfig: config.TLS, ReadHeaderTimeout: timeToSend, ReadTimeout: timeToSend, WriteTimeout: timeToSend + timeToTake,
		IdleTimeout: config.Idle, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug),
	}
	kinds := []struct {
		addresses []string
		refusal   string
		serve     func(*limited, bool) error
	}{{config.HTTP, tooManyHTTP, s.serveHTTP}, {config.Redis, tooManyRedis, s.serveRedis}}
	var serves []func() error
	for _, kind := range kinds {
		for _, address := range kind.addresses {
			listener, err := listen(address)
			if err != nil {
				for _, l := range s.listeners {
					err = errors.Join(err, l.Close())
				}
				return nil, err
			}
			secure := config.TLS != nil && listener.Addr().Network() != "unix"
			l := &limited{Listener: listener, limit: &s.limit, refusal: kind.refusal}
			if secure {
				l.refusal = ""
			}
			s.listeners = append(s.listeners, l)
			serves = append(serves, func() error { return kind.serve(l, secure) })
		}
	}
	for _, serve := range serves {
		s.served.Go(func() {
			if err := serve(); err != nil {
				select {
				case s.failed <- err:
				default: // the first one is enough
				}
			}
		})
	}
	return s, nil
}

// Addresses returns where the server listens, those of HTTP first.
func (s *Server) Addresses() (all []net.Addr) {
	for _, l := range s.listeners {
		all = append(all, l.Addr())
	}
	return all
}

// Failed has an error when a listener has failed.
func (s *Server) Failed() <-chan error { return s.failed }

// Use gives the server its source of keys, once. The source has to outlive [Server.Stop].
func (s *Server) Use(source Source) error {
	if err := s.watch(source); err != nil {
		return err
	}
	s.source.Store(&source)
	return nil
}

// State returns the state, and whether keys can be made now.
func (s *Server) State(ctx context.Context) (state string, isReady bool) {
	source := s.source.Load()
	switch {
	case s.stopping.Load():
		return stopping, false
	case source == nil:
		return starting, false
	}
	keeper, ok := (*source).(*grant.Keeper)
	if !ok {
		return ready, true
	}
	ctx, cancel := context.WithTimeout(ctx, timeToLook)
	defer cancel()
	switch {
	case keeper.Ready(ctx) != nil:
		return ended, false
	case keeper.State().Failures > 0:
		return losing, true
	}
	return ready, true
}

// Stop ends the server: it is not ready any more at once, goes on for the time of drain, then takes no more connections, answers what has arrived, and closes
// connections. When the context ends, it cuts off what is left, and returns the context's error. It is called once, also for a server without a source.
func (s *Server) Stop(ctx context.Context, drain time.Duration) error {
	s.stopping.Store(true)
	timer := time.NewTimer(drain)
	select {
	case <-timer.C:
	case <-ctx.Done():
		timer.Stop()
	}
	for _, l := range s.listeners {
		_ = l.Close() // it is no use to anybody, whatever the error
	}
	s.mu.Lock()
	sessions := s.sessions
	s.sessions = nil
	s.mu.Unlock()
	for session := range sessions {
		session.end()
	}
	err := s.http.Shutdown(ctx)
	finished := make(chan struct{})
	go func() {
		s.served.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.cut()
	_ = s.http.Close()
	for session := range sessions {
		_ = session.conn.Close()
	}
	<-finished
	if err != nil {
		return fmt.Errorf("serve: connections were cut off: %w", err)
	}
	return nil
}

// isToken reports whether a client has shown the token, in a time that does not depend on what it has shown.
func (s *Server) isToken(shown string) bool {
	sum := sha256.Sum256([]byte(shown))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// errStarting says that there is no source yet.
var errStarting = errors.New("the service is starting and has no node number yet")

// appendKeys appends n new keys, all or none: after an error, the bytes are those that it was given.
func (s *Server) appendKeys(ctx context.Context, b []byte, n int, form func([]byte, int64) ([]byte, error)) ([]byte, error) {
	source := s.source.Load()
	if source == nil {
		return b, errStarting
	}
	if n == 1 {
		id, err := (*source).Next(ctx)
		if err != nil {
			return b, err
		}
		return appendAll(b, []int64{id}, form)
	}
	room := rooms.Get().(*[roomFor]int64)
	defer rooms.Put(room)
	begin := len(b)
	for n > 0 {
		ids := room[:min(n, roomFor)]
		err := (*source).Fill(ctx, ids)
		if err == nil {
			b, err = appendAll(b, ids, form)
		}
		if err != nil {
			return b[:begin], err
		}
		n -= len(ids)
	}
	return b, nil
}

// roomFor is how many keys are taken from the source at once.
const roomFor = 1024

// rooms are for keys on their way from the source into an answer.
var rooms = sync.Pool{New: func() any { return new([roomFor]int64) }}

// appendAll appends keys, all or none.
func appendAll(b []byte, ids []int64, form func([]byte, int64) ([]byte, error)) ([]byte, error) {
	begin := len(b)
	for _, id := range ids {
		var err error
		if b, err = form(b, id); err != nil {
			return b[:begin], err
		}
	}
	return b, nil
}

// explain returns what a client is told of an error of the source. The store's own words are for the log: they may name machines and accounts.
func explain(err error) string {
	switch {
	case errors.Is(err, grant.ErrClosed):
		return "the service is stopping"
	case errors.Is(err, grant.ErrEnded), errors.Is(err, grant.ErrLost):
		return "no key can be made now: the grant of the node number has ended and could not be renewed; the service's log says why"
	}
	return "no key can be made now: " + err.Error()
}

// checkCount reads how many keys a client asks for.
func (s *Server) checkCount(text string) (int, error) {
	n, err := parseCount(text)
	if err != nil || n < 1 || n > s.config.MaxBatch {
		return 0, fmt.Errorf("n is %.40q: want 1 to %d, in several requests for more, or a service with a greater --max-batch", text, s.config.MaxBatch)
	}
	return n, nil
}

// errNoPublic says that a prefix was given in vain.
var errNoPublic = errors.New("public ids need their keys: start the service with --public-id-keys")

// publicForm returns what appends the public ids of a prefix, or an error of the client's.
func (s *Server) publicForm(prefix string) (func([]byte, int64) ([]byte, error), error) {
	if s.config.Encode == nil {
		return nil, errNoPublic
	}
	if _, err := s.config.Encode(prefix, 1); err != nil {
		return nil, err
	}
	return func(b []byte, id int64) ([]byte, error) {
		text, err := s.config.Encode(prefix, id)
		return append(b, text...), err
	}, nil
}

// secured returns a connection with TLS where an address has it.
func (s *Server) secured(conn net.Conn, secure bool) net.Conn {
	if secure {
		return tls.Server(conn, s.config.TLS)
	}
	return conn
}
