package grant_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Numbers counts what nobody can acquire: held ones, those of killed processes until their grants end, and those without a row after rows were deleted. Left
// says how long keys flow.
func TestNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newBackup(t)
		down := &flaky{Store: store}
		config := grant.Config{Generator: []idgen.Option{small(t)}, Logger: slog.New(slog.DiscardHandler)}
		k, killed, closed := open(t, store, config), open(t, down, config), open(t, store, config)
		expect := func(when string, want grant.Numbers) {
			t.Helper()
			if got, err := k.Numbers(t.Context()); err != nil || got != want {
				t.Errorf("%s: got %+v, %v, want %+v", when, got, err, want)
			}
		}
		expect("with three processes", grant.Numbers{Of: 16, Taken: 3})
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Minute)
		expect("after one was closed", grant.Numbers{Of: 16, Taken: 2})
		if s := killed.State(); s.Left != time.Until(s.Until) || s.Left < 8*time.Minute {
			t.Errorf("got %s left until %s, want the time until then", s.Left, s.Until)
		}
		down.set(errDown, false, 0)
		time.Sleep(8 * time.Minute)
		expect("after one was killed", grant.Numbers{Of: 16, Taken: 2, Silent: 1})
		time.Sleep(4 * time.Minute)
		expect("after its grant", grant.Numbers{Of: 16, Taken: 1})
		if s := killed.State(); s.Held || s.Left != 0 {
			t.Errorf("got %s left of a grant that has ended", s.Left)
		}
		text := string(store.take())
		at := strings.Index(text, fmt.Sprintf(`"Number": %d,`, killed.State().Number))
		from, to := strings.LastIndex(text[:at], "{"), at+strings.Index(text[at:], "}")+1
		store.restore([]byte(strings.Replace(text[:from]+strings.TrimLeft(text[to:], ","), "},]", "}]", 1)))
		expect("after its row was deleted", grant.Numbers{Of: 16, Taken: 15})
		if err := killed.Close(); !errors.Is(err, errDown) {
			t.Errorf("got %v, want that the store is down", err)
		}
	})
}
