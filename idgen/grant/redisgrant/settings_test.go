//go:build linux

package redisgrant_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/redisgrant"
)

// TestUnsafeSettings has each setting refused with which Redis forgets, by its name and value.
func TestUnsafeSettings(t *testing.T) {
	s := startServer(t, durable...)
	safe := map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "maxmemory-policy": "noeviction"}
	for _, test := range []struct{ name, value, want string }{
		{"appendonly", "yes", ""},
		{"appendonly", "no", "appendonly is no"},
		{"appendfsync", "everysec", "appendfsync is everysec"},
		{"appendfsync", "no", "appendfsync is no"},
		{"no-appendfsync-on-rewrite", "yes", "no-appendfsync-on-rewrite is yes"},
		{"maxmemory-policy", "allkeys-lru", "maxmemory-policy is allkeys-lru"},
		{"maxmemory-policy", "volatile-ttl", "maxmemory-policy is volatile-ttl"},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			s := *s
			s.t = t
			s.do("CONFIG", "SET", test.name, test.value)
			defer s.do("CONFIG", "SET", test.name, safe[test.name])
			for _, options := range [][]redisgrant.Option{nil, {redisgrant.WithDurable()}} {
				_, err := redisgrant.New(s.client(), options...).Prepare(t.Context(), "default", "a")
				if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, grant.ErrUnsafe) || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("got the error %v, want %q", err, test.want)
				}
			}
			lenient := redisgrant.New(s.client(), redisgrant.WithUnsafe())
			_, err := lenient.Prepare(t.Context(), "default", "a")
			warned := slices.ContainsFunc(lenient.Warnings(), func(w string) bool { return strings.Contains(w, test.want) })
			if err != nil || warned != (test.want != "") {
				t.Errorf("WithUnsafe: got %v and the warnings %q, want %q", err, lenient.Warnings(), test.want)
			}
		})
	}
}

// TestSettingsNotTold has accounts and servers that do not tell their settings refused, unless the operator vouches for them.
func TestSettingsNotTold(t *testing.T) {
	s := startServer(t, durable...)
	renamed := startServer(t, append([]string{`rename-command CONFIG ""`}, durable...)...)
	account := func(rights ...any) *redis.Client {
		s.do(append([]any{"ACL", "SETUSER", "app", "reset", "on", ">secret", "~*", "+@all"}, rights...)...)
		return s.client(func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
	}
	for _, test := range []struct {
		name   string
		client *redis.Client
		want   string
	}{
		{"ACL", account("-config"), "NOPERM"},
		{"renamed", renamed.client(), "unknown command"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := redisgrant.New(test.client).Prepare(t.Context(), "default", "a")
			if !errors.Is(err, grant.ErrUnsafe) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "redisgrant.WithDurable") {
				t.Errorf("got the error %v, want ErrUnsafe, %q and the option's name", err, test.want)
			}
			if _, err := redisgrant.New(test.client, redisgrant.WithDurable()).Prepare(t.Context(), "default", "a"); err != nil {
				t.Errorf("WithDurable: %v", err)
			}
		})
	}
	for _, right := range []string{"eval", "hset", "role"} {
		client := account("-" + right)
		if _, err := redisgrant.New(client).Prepare(t.Context(), "fresh-"+right, "a"); err == nil || errors.Is(err, grant.ErrUnsafe) || !redis.HasErrorPrefix(err, "NOPERM") && !strings.Contains(err.Error(), "can't run this command") {
			t.Errorf("without the right to %s: got the error %v, want the server's", right, err)
		}
	}
}

// TestReplicaRefused names a replica by mistake, at the start and later.
func TestReplicaRefused(t *testing.T) {
	for _, readOnly := range []string{"yes", "no"} {
		s := startServer(t, append([]string{"replica-read-only " + readOnly}, durable...)...)
		store := redisgrant.New(s.client(func(o *redis.Options) { o.MaxRetries = -1 }))
		if _, err := store.Prepare(t.Context(), "default", "a"); err != nil {
			t.Fatal(err)
		}
		s.do("REPLICAOF", "127.0.0.1", "1")
		if readOnly == "yes" { // else nothing tells it from a master
			s.do("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-role", "-config")
			client := s.client(func(o *redis.Options) { o.Username, o.Password, o.MaxRetries = "app", "secret", -1 })
			if _, err := redisgrant.New(client, redisgrant.WithDurable()).Prepare(t.Context(), "default", "a"); !errors.Is(err, grant.ErrReadOnly) {
				t.Errorf("Prepare without the right to ask for the role: got the error %v, want ErrReadOnly", err)
			}
		}
		if _, err := store.Prepare(t.Context(), "default", "a"); !errors.Is(err, grant.ErrReadOnly) {
			t.Errorf("Prepare: got the error %v, want ErrReadOnly", err)
		}
		if spaces, err := store.Spaces(t.Context()); err != nil || len(spaces) != 1 || !strings.Contains(strings.Join(store.Warnings(), "\n"), "name the master") {
			t.Errorf("Spaces: got %+v, the error %v and the warnings %q, want that it is a replica", spaces, err, store.Warnings())
		}
		if _, err := store.Swap(t.Context(), "default", none(1), grant.Row{Number: 1, Until: 1}); readOnly == "yes" && !errors.Is(err, grant.ErrReadOnly) {
			t.Errorf("Swap: got the error %v, want ErrReadOnly", err)
		}
	}
}

// TestDamage has what was changed by hand refused.
func TestDamage(t *testing.T) {
	s := startServer(t, durable...)
	store := redisgrant.New(s.client())
	for name, command := range map[string][]any{
		"no-id":    {"HDEL", "snowkey:{no-id}", "id"},
		"no-mark":  {"HDEL", "snowkey:{no-mark}", "mark"},
		"a-string": {"SET", "snowkey:{a-string}", "x"},
	} {
		row := grant.Row{Number: 1, Holder: "a", Until: 1}
		if _, err := store.Prepare(t.Context(), name, "a"); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.Swap(t.Context(), name, none(1), row); err != nil || !ok {
			t.Fatal(ok, err)
		}
		s.do(command...)
		_, prepared := store.Prepare(t.Context(), name, "a")
		_, listed := store.List(t.Context(), name, 0, 1)
		_, swapped := store.Swap(t.Context(), name, row, grant.Row{Number: 1, Holder: "b", Until: 2})
		for _, err := range []error{prepared, listed, swapped} {
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
	for _, add := range []struct {
		row  grant.Row
		want bool
	}{{row, true}, {row, false}, {grant.Row{Number: 2, Holder: "b", From: 9, Until: 10}, false}, {grant.Row{Number: 2, Holder: "b", From: 10, Until: 11}, true}} {
		if ok, err := store.Swap(t.Context(), "gone", none(add.row.Number), add.row); err != nil || ok != add.want {
			t.Errorf("adding %+v: got %t, %v, want %t", add.row, ok, err, add.want)
		}
		s.do("HDEL", "snowkey:{gone}", "1")
	}
	if _, err := store.Prepare(t.Context(), "row", "a"); err != nil {
		t.Fatal(err)
	}
	s.do("HSET", "snowkey:{row}", "7", "x")
	if _, err := store.List(t.Context(), "row", 0, 9); !errors.Is(err, grant.ErrStore) {
		t.Errorf("a row that is none: got the error %v, want ErrStore", err)
	}
}

// TestSpaces lists the spaces of a prefix, as they are stored after a change of the layout, and nothing beside.
func TestSpaces(t *testing.T) {
	s := startServer(t, durable...)
	_, cluster := startCluster(t)
	for _, client := range []redis.UniversalClient{s.client(), cluster} {
		store := redisgrant.New(client, redisgrant.WithPrefix("a*[b]?:"))
		for _, other := range []*redisgrant.Store{redisgrant.New(client, redisgrant.WithPrefix("aX[b]Y:")), store} {
			if got, err := other.Spaces(t.Context()); err != nil || len(got) > 0 {
				t.Errorf("got %+v, %v, want none", got, err)
			}
			for _, name := range []string{"b", "a.b", "a"} {
				if _, err := other.Prepare(t.Context(), name, "layout of "+name); err != nil {
					t.Fatal(err)
				}
				if err := other.Record(t.Context(), name, grant.Loss{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := store.Spaces(t.Context())
		if err != nil || len(got) != 3 || len(store.Warnings()) > 0 {
			t.Fatalf("got %+v, %v and the warnings %q, want three and none", got, err, store.Warnings())
		}
		for i, name := range []string{"a", "a.b", "b"} {
			if got[i].Name != name || got[i].StoredAs != name || got[i].Layout != "layout of "+name || got[i].ID == "" {
				t.Errorf("got %+v, want %s", got[i], name)
			}
		}
	}
}

// TestNotValid has what cannot work refused before anything is asked.
func TestNotValid(t *testing.T) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: "/nowhere"})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "/nowhere"}})
	defer ring.Close()
	for want, store := range map[string]*redisgrant.Store{
		"the client is nil":    redisgrant.New(nil),
		"the client is a Ring": redisgrant.New(ring),
		"has a brace":          redisgrant.New(client, redisgrant.WithPrefix("{a}")),
		"is empty":             redisgrant.New(client, redisgrant.WithPrefix("")),
		"WithReplicas(0)":      redisgrant.New(client, redisgrant.WithReplicas(0)),
	} {
		_, prepared := store.Prepare(t.Context(), "default", "a")
		_, listed := store.List(t.Context(), "default", 0, 1)
		for _, err := range []error{prepared, listed, store.Record(t.Context(), "default", grant.Loss{})} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want %q", err, want)
			}
		}
	}
	store := redisgrant.New(client)
	if _, err := store.Move(t.Context(), "default", "other~1", "a", "b", 1); err == nil || !strings.Contains(err.Error(), "the other name is not default") {
		t.Errorf("Move to another name: got the error %v", err)
	}
	if _, err := store.Prepare(t.Context(), "a{b", "a"); err == nil || !strings.Contains(err.Error(), "the space is not") {
		t.Errorf("a space with a brace: got the error %v", err)
	}
}

func none(number int64) grant.Row { return grant.Row{Number: number, Holder: grant.Absent} }

// TestLogNotYetWritten refuses a server whose log was switched on and is not there yet, which a restart would begin without.
func TestLogNotYetWritten(t *testing.T) {
	s := startServer(t, append([]string{"enable-debug-command yes", "rdb-key-save-delay 100000"}, append(slices.Clone(durable), "appendonly no")...)...) // 0.1 s a key
	s.do("DEBUG", "POPULATE", 200)
	store := redisgrant.New(s.client())
	refused := func(want string) {
		t.Helper()
		if _, err := store.Prepare(t.Context(), "default", "a"); !errors.Is(err, grant.ErrUnsafe) || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want ErrUnsafe and %q", err, want)
		}
	}
	refused("appendonly is no")
	s.do("CONFIG", "SET", "appendonly", "yes")
	refused("the log is not written yet")
	s.do("CONFIG", "SET", "appendonly", "no") // ends the child that writes it
	s.do("CONFIG", "SET", "rdb-key-save-delay", "0")
	s.do("CONFIG", "SET", "appendonly", "yes")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := store.Prepare(t.Context(), "default", "a"); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestReplicaMissing says what a change has waited for, also where the caller waits for less than a second.
func TestReplicaMissing(t *testing.T) {
	store := redisgrant.New(startServer(t, durable...).client(), redisgrant.WithReplicas(1))
	prepare(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if done, err := store.Swap(ctx, "default", none(1), grant.Row{Number: 1, Holder: "a", Until: 2}); done || err == nil || !strings.Contains(err.Error(), "0 of 1 replicas have acknowledged") {
		t.Errorf("got %t, %v, want an error that counts the replicas", done, err)
	}
}

// TestReplicasWithoutWait warns of replicas for which no change waits, and of no others.
func TestReplicasWithoutWait(t *testing.T) {
	s := startOnPort(t, append([]string{"repl-diskless-sync-delay 0"}, durable...)...)
	startReplica(t, s)
	for replicas, want := range []string{"a change waits for 0 of the server's replicas, of which 1 follow", ""} {
		var options []redisgrant.Option
		if replicas > 0 {
			options = append(options, redisgrant.WithReplicas(replicas))
		}
		store := redisgrant.New(s.client(), options...)
		prepare(t, store)
		if got := strings.Join(store.Warnings(), "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("with %d replicas: got the warnings %q, want %q", replicas, got, want)
		}
		before := store.Warnings()
		if _, err := store.Spaces(t.Context()); err != nil || !slices.Equal(store.Warnings(), before) {
			t.Errorf("with %d replicas: got the error %v and the warnings %q after Spaces, want those of Prepare", replicas, err, store.Warnings())
		}
	}
}
