//go:build linux

package etcdgrant_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
	"github.com/snowkey-go/snowkey/internal/testprocess"
)

func run(t *testing.T, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// startSecure starts a member that speaks TLS and asks clients for certificates.
func startSecure(t *testing.T) *member {
	t.Helper()
	dir := t.TempDir()
	ca := testprocess.Certificate(t, dir, "ca", nil)
	testprocess.Certificate(t, dir, "server", ca)
	pair := testprocess.Certificate(t, dir, "client", ca)
	m := newMember(t, "one", "--cert-file", filepath.Join(dir, "server.pem"), "--key-file", filepath.Join(dir, "server.key"), "--client-cert-auth", "--trusted-ca-file", filepath.Join(dir, "ca.pem"))
	m.client = strings.Replace(m.client, "http:", "https:", 1)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	m.certificate = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{*pair}}
	m.start()
	return m
}

// TestTLS has a client with certificates work, and one without refused before long.
func TestTLS(t *testing.T) {
	m := startSecure(t)
	store := etcdgrant.New(m.dial())
	prepare(t, store)
	if ok, err := store.Swap(t.Context(), "default", none(1), grant.Row{Number: 1, Holder: "a", Until: 5}); err != nil || !ok {
		t.Errorf("got %t, %v", ok, err)
	}
	for name, wrong := range map[string]*tls.Config{"no certificate": {RootCAs: m.certificate.RootCAs}, "another authority": {Certificates: m.certificate.Certificates}} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := etcdgrant.New(m.dial(func(c *clientv3.Config) { c.TLS = wrong })).Prepare(ctx, "default", "a")
		cancel()
		if err == nil || ctx.Err() == nil {
			t.Errorf("%s: got the error %v before the end of the context, want one at it", name, err)
		}
	}
}

// TestAccount has an account that may use the keys of the store alone work, and one refused, with etcd's words, that may not use them.
func TestAccount(t *testing.T) {
	m := startMember(t)
	limitAccount(t, m)
	store := etcdgrant.New(m.dial(asApp))
	prepare(t, store)
	swapped, err := store.Swap(t.Context(), "default", none(1), grant.Row{Number: 1, Holder: "a", Until: 5})
	recorded := store.Record(t.Context(), "default", grant.Loss{Number: 1})
	moved, moveErr := store.Move(t.Context(), "default", "default~1", "a", "b", 5)
	l, listErr := store.List(t.Context(), "default~1", 0, 9)
	losses, lossErr := store.Losses(t.Context(), "default~1")
	spaces, spaceErr := store.Spaces(t.Context())
	if err := errors.Join(err, recorded, moveErr, listErr, lossErr, spaceErr); err != nil || !swapped || !moved || len(l.Rows) != 1 || len(losses) != 1 || len(spaces) != 1 {
		t.Errorf("got %v, swapped %t, moved %t, %+v, the losses %+v and the spaces %+v", err, swapped, moved, l, losses, spaces)
	}
	for want, client := range map[string]*clientv3.Client{"permission denied": m.dial(asApp), "user name is empty": m.dial()} {
		_, err := etcdgrant.New(client, etcdgrant.WithPrefix("other/")).Prepare(t.Context(), "default", "a")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
	}
}

// TestSkew has a process refused whose clock is behind that of the last swap, and one that has swapped before warned.
func TestSkew(t *testing.T) {
	client := startMember(t).dial()
	running, starting := etcdgrant.New(client), etcdgrant.New(client)
	prepare(t, running)
	if ok, err := running.Swap(t.Context(), "default", none(1), grant.Row{Number: 1, Holder: "a#1", Until: 5}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	l, err := running.List(t.Context(), "default", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := "snowkey/default/" + l.ID + "/clock"
	swapAt := func(ago time.Duration) {
		t.Helper()
		if _, err := client.Put(t.Context(), key, fmt.Sprintf(`{"at":%d,"name":"web-3","call":"x"}`, time.Now().Add(-ago).UnixMilli())); err != nil {
			t.Fatal(err)
		}
	}
	warned := func(want bool) {
		t.Helper()
		prepare(t, running)
		if got := slices.ContainsFunc(running.Warnings(), func(w string) bool { return strings.Contains(w, `"web-3"`) && strings.Contains(w, key) }); got != want {
			t.Errorf("got the warnings %q, want one of the clock: %t", running.Warnings(), want)
		}
	}
	warned(false)
	swapAt(-time.Minute)
	warned(false)
	swapAt(-time.Hour)
	warned(true)
	if _, err := starting.Prepare(t.Context(), "default", "a"); !errors.Is(err, grant.ErrSkew) || !strings.Contains(err.Error(), "web-3") || !strings.Contains(err.Error(), key) {
		t.Errorf("got the error %v, want ErrSkew, the holder and the key", err)
	}
	if _, err := etcdgrant.New(client, etcdgrant.WithMaxSkew(2*time.Hour)).Prepare(t.Context(), "default", "a"); err != nil {
		t.Errorf("WithMaxSkew: %v", err)
	}
	swapAt(time.Hour) // after the last answer to running, so that its clock is ahead
	warned(true)
	warned(false) // it may be of an hour ago
	if _, err := starting.Prepare(t.Context(), "default", "a"); err != nil {
		t.Errorf("after a swap of an hour ago: %v", err)
	}
	swapAt(-time.Hour)
	if _, err := client.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	prepare(t, starting)
}

// TestDamage has what was changed by hand refused.
func TestDamage(t *testing.T) {
	client := startMember(t).dial()
	store := etcdgrant.New(client)
	for name, damage := range map[string]struct{ key, value string }{
		"no-mark":      {"no-mark/ID/mark", ""},
		"no-made":      {"no-made/ID/made", ""},
		"bad-mark":     {"bad-mark/ID/mark", "12"},
		"bad-made":     {"bad-made/ID/made", "-000000000000000001"},
		"bad-space":    {"bad-space/space", "x"},
		"empty-space":  {"empty-space/space", "{}"},
		"bad-row":      {"bad-row/ID/node/0000000000000000001", "x"},
		"row-no-call":  {"row-no-call/ID/node/0000000000000000001", `{"holder":"a","until":5}`},
		"bad-row-name": {"bad-row-name/ID/node/0000000000000000001x", "{}"},
		"bad-losses":   {"bad-losses/losses", "x"},
	} {
		row := grant.Row{Number: 1, Holder: "a", Until: 1}
		if _, err := store.Prepare(t.Context(), name, "a"); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.Swap(t.Context(), name, none(1), row); err != nil || !ok {
			t.Fatal(ok, err)
		}
		l, err := store.List(t.Context(), name, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		key := "snowkey/" + strings.Replace(damage.key, "ID", l.ID, 1)
		if damage.value == "" {
			_, err = client.Delete(t.Context(), key)
		} else {
			_, err = client.Put(t.Context(), key, damage.value)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, listed := store.List(t.Context(), name, 0, 1)
		_, swapped := store.Swap(t.Context(), name, row, grant.Row{Number: 1, Holder: "b", Until: 2})
		errs := []error{listed, swapped}
		switch {
		case strings.HasPrefix(name, "bad-losses"):
			_, losses := store.Losses(t.Context(), name)
			errs = []error{losses, store.Record(t.Context(), name, grant.Loss{})}
		case name == "bad-row-name":
			errs = errs[:1] // which has the whole range
		}
		for _, err := range errs {
			if !errors.Is(err, grant.ErrStore) {
				t.Errorf("%s: got the error %v, want ErrStore", name, err)
			}
		}
	}
	// A row that is gone is not added again before its mark, also before anybody has prepared the space anew.
	row := grant.Row{Number: 1, Holder: "a", From: 5, Until: 10}
	if _, err := store.Prepare(t.Context(), "gone", "a"); err != nil {
		t.Fatal(err)
	}
	l, err := store.List(t.Context(), "gone", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []struct {
		row  grant.Row
		want bool
	}{{row, true}, {row, false}, {grant.Row{Number: 2, Holder: "b", From: 9, Until: 10}, false}, {grant.Row{Number: 2, Holder: "b", From: 10, Until: 11}, true}} {
		if ok, err := store.Swap(t.Context(), "gone", none(add.row.Number), add.row); err != nil || ok != add.want {
			t.Errorf("adding %+v: got %t, %v, want %t", add.row, ok, err, add.want)
		}
		if _, err := client.Delete(t.Context(), "snowkey/gone/"+l.ID+"/node/0000000000000000001"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Prepare(t.Context(), "gone", "a"); err != nil {
		t.Fatal(err)
	}
	if l, err = store.List(t.Context(), "gone", 0, 9); err != nil || l.Gone != 0 || l.Absent != 11 || len(l.Rows) != 1 {
		t.Errorf("prepared anew: got %+v, %v, want numbers without a row held until 11", l, err)
	}
}

// TestSpaces lists the spaces, as they are stored after a change of the layout, and nothing beside.
func TestSpaces(t *testing.T) {
	client := startMember(t).dial()
	store := etcdgrant.New(client)
	if got, err := store.Spaces(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("got %+v, %v, want none", got, err)
	}
	layouts := map[string]string{"a": "snowflake epoch=2020-01-01T00:00:00Z unit=1ms time=41 node=10 sequence=12", "a.b": "x", "b": "y"}
	for name, layout := range layouts {
		if _, err := store.Prepare(t.Context(), name, layout); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Put(t.Context(), "snowkez", ""); err != nil {
		t.Fatal(err)
	}
	got, err := store.Spaces(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v, want three", got, err)
	}
	for i, name := range []string{"a", "a.b", "b"} {
		if got[i].Name != name || got[i].StoredAs != name || got[i].Layout != layouts[name] || got[i].ID == "" {
			t.Errorf("got %+v, want %s with %q", got[i], name, layouts[name])
		}
	}
}

// TestNotValid has what cannot work refused before anything is asked.
func TestNotValid(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for want, store := range map[string]*etcdgrant.Store{
		"the client is nil":   etcdgrant.New(nil),
		"the prefix is empty": etcdgrant.New(client, etcdgrant.WithPrefix("")),
		"WithMaxSkew(0s)":     etcdgrant.New(client, etcdgrant.WithMaxSkew(0)),
	} {
		_, prepared := store.Prepare(t.Context(), "default", "a")
		_, listed := store.List(t.Context(), "default", 0, 1)
		_, spaces := store.Spaces(t.Context())
		for _, err := range []error{prepared, listed, spaces, store.Record(t.Context(), "default", grant.Loss{})} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want %q", err, want)
			}
		}
	}
	store := etcdgrant.New(client)
	if _, err := store.Move(t.Context(), "default", "other~1", "a", "b", 1); err == nil || !strings.Contains(err.Error(), "the other name is not default") {
		t.Errorf("Move to another name: got the error %v", err)
	}
	if _, err := store.Prepare(t.Context(), "a/b", "a"); err == nil || !strings.Contains(err.Error(), "the space is not") {
		t.Errorf("a space with a slash: got the error %v", err)
	}
}
