//go:build linux

package etcdgrant_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
)

// TestEtcdIsBackAfterAnOutage has a client that would wait for an hour between two connections, as it does for two minutes after a long outage.
func TestEtcdIsBackAfterAnOutage(t *testing.T) {
	m := startMember(t)
	store := etcdgrant.New(m.dial(func(c *clientv3.Config) {
		c.DialOptions = []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Hour, Multiplier: 1, MaxDelay: time.Hour}, MinConnectTimeout: time.Second})}
	}))
	prepare := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := store.Prepare(ctx, grant.DefaultSpace, "a")
		return err
	}
	if err := prepare(time.Minute); err != nil {
		t.Fatal(err)
	}
	m.kill()
	if err := prepare(2 * time.Second); err == nil {
		t.Fatal("got an answer of a killed server")
	}
	m.start()
	if err := prepare(time.Minute); err != nil {
		t.Error(err)
	}
}
