//go:build linux

package zkgrant_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

// TestStore runs the conformance suite, in the long form also on three servers, and with an account. Each of its tests has nodes of its own.
func TestStore(t *testing.T) {
	var tests atomic.Int64
	suite := func(conn *zk.Conn, prefix string, options ...zkgrant.Option) func(t *testing.T) {
		return func(t *testing.T) {
			granttest.Run(t, func(*testing.T) grant.Store {
				return zkgrant.New(conn, append(options, zkgrant.WithPrefix(fmt.Sprintf("%s/%d", prefix, tests.Add(1))))...)
			})
		}
	}
	s, prefix := sharedServer(t)
	t.Run("one server", suite(connect(t, nil, s), prefix))
	if testprocess.IsLong() {
		t.Run("three servers", suite(connect(t, nil, startEnsemble(t)...), "/snowkey"))
		t.Run("account", suite(asApp(t, s), prefix, zkgrant.WithACL(zk.AuthACL(zk.PermAll)...)))
	}
}

// asApp returns a connection with an account.
func asApp(t *testing.T, s *server) *zk.Conn {
	t.Helper()
	conn := connect(t, nil, s)
	if err := conn.AddAuth("digest", []byte("app:secret")); err != nil {
		t.Fatal(err)
	}
	return conn
}
