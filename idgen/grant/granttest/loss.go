package granttest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// NoticesLoss has a keeper renew its grant, takes what the store has acknowledged from it by lose, and fails the test unless the keeper reports the loss, records it, and
// goes on. Before the renewals it calls copied, which may take a copy of the store's data. The identity of the space is another one afterwards, or not.
func NoticesLoss(t *testing.T, store grant.Store, anotherIdentity bool, copied func(), lose func(number int64)) {
	t.Helper()
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("twenty seconds, and not yet: %s", what)
			}
		}
	}
	config := grant.Config{For: 2 * time.Second, First: 2 * time.Second, Every: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	keys, err := grant.Open(t.Context(), store, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keys.Close() }()
	copied()
	first := keys.State()
	until("the grant is renewed", func() bool { return keys.State().Renewed > first.Renewed+2 })
	if _, err := keys.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	lose(first.Number)
	until("the loss is reported", func() bool { return len(keys.State().Losses) > 0 })
	until("the loss is recorded", func() bool {
		losses, err := store.Losses(context.Background(), grant.DefaultSpace)
		return err == nil && len(losses) == 1 && losses[0].Number == first.Number
	})
	until("there are keys again", func() bool { _, err := keys.Next(context.Background()); return err == nil })
	if after := keys.State(); (after.ID != first.ID) != anotherIdentity {
		t.Errorf("the identity was %q, and is %q, want another one: %t", first.ID, after.ID, anotherIdentity)
	}
}
