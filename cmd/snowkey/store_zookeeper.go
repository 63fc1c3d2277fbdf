package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	zooKeeperSession  = 10 * time.Second
	zooKeeperPatience = 10 * time.Second // for an account
	zooKeeperPause    = 50 * time.Millisecond
)

// openZooKeeper takes what follows after the scheme.
func openZooKeeper(ctx context.Context, rest string, secure bool) (nodeStore, func() error, error) {
	h, err := parseHosts("zk", rest, fmt.Sprint(zk.DefaultPort))
	if err != nil {
		return nil, nil, err
	}
	prefix, config, err := h.settings(secure)
	if err != nil {
		return nil, nil, err
	}
	var options []zkgrant.Option
	if prefix != "" {
		options = append(options, zkgrant.WithPrefix(prefix))
	}
	dial := zk.Dialer(net.DialTimeout)
	if secure {
		dial = func(network, address string, timeout time.Duration) (net.Conn, error) {
			return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, address, config)
		}
	}
	conn, _, err := zk.Connect(h.addresses, zooKeeperSession, zk.WithLogger(muted{}), zk.WithDialer(zkgrant.Dialer(dial)), zk.WithHostProvider(&namedHosts{}))
	if err != nil {
		return nil, nil, err
	}
	end := func() error { conn.Close(); return nil }
	if h.user != "" {
		options = append(options, zkgrant.WithACL(zk.AuthACL(zk.PermAll)...))
		if err := authenticate(ctx, conn, h); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	return zkgrant.New(conn, options...), end, nil
}

// authenticate gives a connection its account. The client asks as soon as there is a server.
func authenticate(ctx context.Context, conn *zk.Conn, h hosts) error {
	ctx, cancel := context.WithTimeout(ctx, zooKeeperPatience)
	defer cancel()
	for {
		_, err := dialect.Within(ctx, func() (any, error) { return nil, conn.AddAuth("digest", []byte(h.user+":"+h.password)) })
		if err == nil {
			return nil
		}
		if errors.Is(err, zk.ErrAuthFailed) || dialect.Sleep(ctx, zooKeeperPause) != nil {
			return fmt.Errorf("zookeeper %s: %w", strings.Join(h.addresses, ","), err)
		}
	}
}

// muted is a logger of the client of ZooKeeper, whose errors are returned too.
type muted struct{}

func (muted) Printf(string, ...any) {}

// namedHosts has the client dial servers by their names, which TLS compares and which may get other addresses. The client's own hosts are addresses.
type namedHosts struct {
	mu      sync.Mutex
	servers []string // guarded by mu
	next    int      // guarded by mu
	tried   int      // since the last connection; guarded by mu
}

var _ zk.HostProvider = (*namedHosts)(nil)

// Init is [zk.HostProvider].
func (h *namedHosts) Init(servers []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers = servers
	return nil
}

// Len is [zk.HostProvider].
func (h *namedHosts) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.servers)
}

// Next is [zk.HostProvider].
func (h *namedHosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next%len(h.servers)]
	retryStart = h.tried > 0 && h.tried%len(h.servers) == 0
	h.next++
	h.tried++
	return server, retryStart
}

// Connected is [zk.HostProvider].
func (h *namedHosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = 0
}
