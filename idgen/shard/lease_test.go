package shard_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/shard"
)

func TestLease(t *testing.T) {
	m, err := shard.NewMap(idgen.Sharded.Layout, shard.Tables(2)...)
	if err != nil {
		t.Fatal(err)
	}
	if m.Lease() != 10*time.Second {
		t.Errorf("got %s, want 10 s", m.Lease())
	}
	for _, lease := range []time.Duration{time.Millisecond, 3 * time.Second, 10 * time.Second, time.Hour} {
		leased, err := m.WithLease(lease)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(leased.First())
		if err != nil {
			t.Fatal(err)
		}
		again, err := shard.ParseMap(text)
		if err != nil || again.Lease() != lease || again.Version() != 1 {
			t.Errorf("lease %s: got %v, %v, of %s", lease, again, err, text)
		}
		grown, err := leased.Grow(shard.Tables(4)[2:]...)
		if err != nil || grown.Lease() != lease {
			t.Errorf("lease %s: another version has another, %v", lease, err)
		}
		if _, err := leased.WithLease(lease - time.Millisecond); !errors.Is(err, shard.ErrMap) {
			t.Errorf("lease %s can become shorter: %v", lease, err)
		}
	}
	for _, lease := range []time.Duration{-1, 0, time.Microsecond, time.Hour + 1} {
		if _, err := m.WithLease(lease); !errors.Is(err, shard.ErrMap) {
			t.Errorf("lease %s: got %v, want ErrMap", lease, err)
		}
	}
	for _, text := range []string{`""`, `"10s"`, `"0s"`, `"2h"`, `"-1s"`, `"x"`, `5`} {
		form := `{"version": "1", "layout": "time=41@1ms,node=8,sequence=4,shard=10;epoch=2025-01-01T00:00:00Z", "lease": ` + text + `, "shards": [{"name":"00","buckets":"0-1023"}]}`
		if _, err := shard.ParseMap([]byte(form)); !errors.Is(err, shard.ErrMap) {
			t.Errorf("%s: got %v, want ErrMap", text, err)
		}
	}
}
