package snowkeytest_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/snowkeytest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// The ids of a generator are the same in each run, call by call.
func TestGenerator(t *testing.T) {
	for range 2 {
		keys := snowkeytest.Generator(t)
		first, err := keys.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := []int64{first, 0, 0, 0}
		if err := keys.Fill(t.Context(), all[1:]); err != nil {
			t.Fatal(err)
		}
		if want := []int64{132271570956587008, 132271570960781312, 132271570960781313, 132271570960781314}; !slices.Equal(all, want) {
			t.Errorf("got %d, want %d", all, want)
		}
		if parts := sqltype.ID(first).Parts(); parts.Node != 1 || parts.Sequence != 0 || parts.Time.Sub(snowkeytest.Start) > time.Second {
			t.Errorf("got %+v, want node 1 at %s", parts, snowkeytest.Start)
		}
	}
}

// More ids than a tick has, with ticks of several lengths: a clock that stands still would never end.
func TestGeneratorGoesOn(t *testing.T) {
	for _, preset := range []idgen.Preset{idgen.Snowkey, idgen.JS53, idgen.Game} {
		keys := snowkeytest.Generator(t, preset)
		last := int64(0)
		for range 10_000 {
			id, err := keys.Next(t.Context())
			if err != nil || id <= last {
				t.Fatalf("%s: got %d after %d, %v", preset.Name(), id, last, err)
			}
			last = id
		}
		if err := keys.Fill(t.Context(), make([]int64, 3*(preset.Max(idgen.Sequence)+1))); err != nil {
			t.Errorf("%s: %v", preset.Name(), err)
		}
	}
}

func TestClock(t *testing.T) {
	clock := snowkeytest.NewClock(snowkeytest.Start, time.Second)
	clock.Advance(time.Hour)
	for range 2 {
		if got := clock.Now().Sub(snowkeytest.Start); got != time.Hour {
			t.Errorf("got %s, want an hour, and the same again", got)
		}
	}
	if wall, elapsed := clock.Wall().Sub(snowkeytest.Start), clock.Elapsed(); wall != time.Hour+time.Second || elapsed != wall+time.Second {
		t.Errorf("got %s and %s, want a second more with each reading", wall, elapsed)
	}
	still := snowkeytest.NewClock(snowkeytest.Start, 0)
	keys := snowkeytest.Generator(t, idgen.WithClock(still), idgen.WithNode(7))
	for _, want := range []idgen.Parts{{Time: snowkeytest.Start, Node: 7}, {Time: snowkeytest.Start, Node: 7, Sequence: 1}, {Time: snowkeytest.Start.Add(time.Hour), Node: 7}} {
		if want.Time != snowkeytest.Start {
			still.Advance(time.Hour)
		}
		if id, err := keys.Next(t.Context()); err != nil || sqltype.ID(id).Parts() != want {
			t.Errorf("got %+v, %v, want %+v", sqltype.ID(id).Parts(), err, want)
		}
	}
}

func TestCounter(t *testing.T) {
	var keys snowkeytest.Counter
	var all sync.Map
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			ids := make([]int64, 3)
			_ = keys.Fill(t.Context(), ids)
			id, _ := keys.Next(t.Context())
			for _, id := range append(ids, id) {
				if _, twice := all.LoadOrStore(id, true); twice || id < 1 || id > 32 {
					t.Errorf("got %d, twice or outside of 1 to 32", id)
				}
			}
		})
	}
	group.Wait()
	if id, err := keys.Next(t.Context()); id != 33 || err != nil {
		t.Errorf("got %d, %v, want 33", id, err)
	}
}

// recorder is a test that keeps why it failed.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns why a test fails that calls do, "" where it does not.
func failure(do func(testing.TB)) string {
	var r recorder
	var group sync.WaitGroup
	group.Go(func() { do(&r) })
	group.Wait()
	return r.failure
}

func TestRequireKey(t *testing.T) {
	type user struct {
		gorm.Model
		Name string
	}
	type member struct {
		UserID, GroupID sqltype.ID `gorm:"primaryKey"`
	}
	type note struct{ Text string }
	id, zero := sqltype.ID(5), sqltype.ID(0)
	type pointed struct{ ID *sqltype.ID }
	for name, tt := range map[string]struct {
		models []any
		want   []string // parts of the failure
	}{
		"filled":             {[]any{&Order{ID: 1}, Order{ID: 1}, []Order{{ID: 1}}, &[]*Order{{ID: 2}}, &user{Model: gorm.Model{ID: 3}}, pointed{&id}, member{1, 2}, []Order{}}, nil},
		"by type":            {[]any{&Order{ID: 1}, &Order{}}, []string{"*snowkeytest_test.Order has no key: ID is 0.", "db.Use", "a pointer"}},
		"in a slice":         {[]any{[]Order{{ID: 1}, {}}}, []string{"Order[1] has no key"}},
		"gorm.Model":         {[]any{&user{}}, []string{"user has no key: ID is 0", "uint needs gormplugin.AllKeys()"}},
		"one of two columns": {[]any{member{UserID: 1}}, []string{"GroupID is 0"}},
		"pointer to zero":    {[]any{pointed{&zero}}, []string{"has no key"}},
		"nil pointer":        {[]any{pointed{}}, []string{"has no key"}},
		"no key":             {[]any{note{}}, []string{"note has no primary key"}},
		"nil":                {[]any{(*Order)(nil)}, []string{"not nil"}},
		"no model":           {[]any{5}, []string{"int: want a model"}},
	} {
		got := failure(func(t testing.TB) { snowkeytest.RequireKey(t, tt.models...) })
		if (got == "") != (tt.want == nil) {
			t.Errorf("%s: got %q", name, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q in it", name, got, want)
			}
		}
	}
	if got := failure(func(t testing.TB) { snowkeytest.Generator(t, idgen.WithNode(5000)) }); !strings.Contains(got, "5000") {
		t.Errorf("got %q, want why the option does not fit", got)
	}
}
