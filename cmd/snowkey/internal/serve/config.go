package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"
)

// ErrConfig says that a [Config] cannot be.
var ErrConfig = errors.New("serve: invalid configuration")

// What a [Config] may have.
const (
	LeastToken      = 16        // characters
	MostBatch       = 1_000_000 // keys of one request
	MostConnections = 1_000_000
)

// Config says where a [Server] listens, and whom it gives how much.
type Config struct {
	// HTTP and Redis are addresses to listen at by each protocol: HOST:PORT, :PORT for all interfaces, or unix:PATH for a socket that the owner and the group may use.
	HTTP, Redis []string

	// Token is what clients have to show, at least [LeastToken] characters: as a bearer token, or by AUTH. Without one, all who reach the address are clients.
	Token string

	// WithoutToken lets the server listen without a token where other machines reach it.
	WithoutToken bool

	// TLS, if not nil, is for all addresses that are no sockets of Unix.
	TLS *tls.Config

	MaxBatch       int           // keys of one request at most, 1 to MostBatch
	MaxConnections int           // of both protocols together, 1 to MostConnections
	Idle           time.Duration // after which a connection is closed that sends nothing; above 0

	// Decode returns the parts of a key as a JSON object, for any text that a client sends.
	Decode func(text string) (string, error)

	// Encode returns the public id of a key; nil where there are none. It is asked with key 1 whether the prefix can be one.
	Encode func(prefix string, id int64) (string, error)

	Version string // for clients that ask
	Logger  *slog.Logger
}

// check returns an ErrConfig for what cannot be.
func (c Config) check() error {
	wrong := func(format string, values ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, values...)...)
	}
	switch {
	case len(c.HTTP)+len(c.Redis) == 0:
		return wrong("no address to listen at")
	case c.MaxBatch < 1 || c.MaxBatch > MostBatch:
		return wrong("%d keys of a request at most; want 1 to %d", c.MaxBatch, MostBatch)
	case c.MaxConnections < 1 || c.MaxConnections > MostConnections:
		return wrong("%d connections at most; want 1 to %d", c.MaxConnections, MostConnections)
	case c.Idle <= 0:
		return wrong("connections that are idle for %s are closed; want more than 0", c.Idle)
	case c.Token != "" && len(c.Token) < LeastToken:
		return wrong("the token has %d characters; want at least %d, such as those of: openssl rand -hex 32", len(c.Token), LeastToken)
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return wrong("the token has a space, or a character that is not ASCII")
	}
	for _, address := range append(append([]string(nil), c.HTTP...), c.Redis...) {
		network, place := splitAddress(address)
		if network == "unix" {
			if place == "" {
				return wrong("%q has no path; want unix:PATH", address)
			}
			continue
		}
		host, _, err := net.SplitHostPort(place)
		if err != nil {
			return wrong("%q is no address; want HOST:PORT, :PORT or unix:PATH", address)
		}
		if c.Token == "" && !c.WithoutToken && !isLoopback(host) {
			return wrong("other machines reach %q, and there is no token; set one with --token-file or SNOWKEY_TOKEN, or give --without-token", address)
		}
	}
	return nil
}

// splitAddress returns what net.Listen takes.
func splitAddress(address string) (network, place string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

// isLoopback reports whether only this machine reaches a host. Names other than localhost are not looked up: their addresses may change.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}
