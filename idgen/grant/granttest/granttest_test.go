package granttest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
)

// broken are stores that each break one promise.
var broken = map[string]func() grant.Store{
	"until not compared": func() grant.Store {
		return &forgetful{grant.Memory(nil), func(seen, old *grant.Row) { old.Until = seen.Until }}
	},
	"holder not compared": func() grant.Store {
		return &forgetful{grant.Memory(nil), func(seen, old *grant.Row) { old.Holder = seen.Holder }}
	},
	"holders in any case": func() grant.Store { return &forgetful{grant.Memory(nil), foldHolder} },
	"trailing blanks":     func() grant.Store { return &forgetful{grant.Memory(nil), trimHolder} },
	"adds twice":          func() grant.Store { return &addsTwice{grant.Memory(nil)} },
	"adds missing rows":   func() grant.Store { return &addsMissing{grant.Memory(nil)} },
	"not atomic":          func() grant.Store { return &notAtomic{Store: grant.Memory(nil)} },
	"loses updates":       func() grant.Store { return &losesUpdates{Store: grant.Memory(nil)} },
	"a layout for each":   func() grant.Store { return &ownLayout{Store: grant.Memory(nil)} },
	"spaces in any case":  func() grant.Store { return &renamed{grant.Memory(nil), strings.ToLower} },
	"spaces cut off": func() grant.Store {
		return &renamed{grant.Memory(nil), func(s string) string { return s[:min(len(s), 63)] }}
	},
	"lists the wrong bound": func() grant.Store { return &bounds{grant.Memory(nil)} },
	"numbers of 32 bits":    func() grant.Store { return &narrow{grant.Memory(nil)} },
	"deaf to its context":   func() grant.Store { return &deaf{grant.Memory(nil)} },
	"no clock":              func() grant.Store { return &noClock{grant.Memory(nil)} },
}

const chosen = "SNOWKEY_BROKEN_STORE"

func TestMemory(t *testing.T) {
	granttest.Run(t, func(*testing.T) grant.Store { return grant.Memory(nil) })
}

// TestRunFailsBrokenStores runs the suite on stores that must not pass, each in a process of its own.
func TestRunFailsBrokenStores(t *testing.T) {
	if name := os.Getenv(chosen); name != "" {
		granttest.Run(t, func(*testing.T) grant.Store { return broken[name]() })
		return
	}
	for name := range broken {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunFailsBrokenStores$")
			command.Env = append(os.Environ(), chosen+"="+name)
			out, err := command.CombinedOutput()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestRunFailsBrokenStores/") {
				t.Errorf("the suite passes the store: %v\n%s", err, out)
			}
			if strings.Contains(string(out), "panic:") {
				t.Errorf("the suite panics:\n%s", out)
			}
		})
	}
}

// forgetful makes the row that it is given more like the one that is there before it compares them.
type forgetful struct {
	grant.Store
	alter func(seen, old *grant.Row)
}

func (f *forgetful) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	if l, err := f.List(ctx, space, old.Number, old.Number); err == nil && len(l.Rows) == 1 && old.Holder != grant.Absent {
		f.alter(&l.Rows[0], &old)
	}
	return f.Store.Swap(ctx, space, old, new)
}

func foldHolder(seen, old *grant.Row) {
	if strings.EqualFold(seen.Holder, old.Holder) {
		old.Holder = seen.Holder
	}
}

func trimHolder(seen, old *grant.Row) {
	if strings.TrimRight(seen.Holder, " ") == strings.TrimRight(old.Holder, " ") {
		old.Holder = seen.Holder
	}
}

type addsTwice struct{ grant.Store }

func (a *addsTwice) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	done, err := a.Store.Swap(ctx, space, old, new)
	if old.Holder == grant.Absent {
		return true, err
	}
	return done, err
}

type addsMissing struct{ grant.Store }

func (a *addsMissing) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	if l, err := a.List(ctx, space, old.Number, old.Number); err == nil && len(l.Rows) == 0 {
		old.Holder = grant.Absent
	}
	return a.Store.Swap(ctx, space, old, new)
}

// notAtomic lets others in between comparing and swapping.
type notAtomic struct{ grant.Store }

func (n *notAtomic) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	l, err := n.List(ctx, space, old.Number, old.Number)
	if err != nil || len(l.Rows) != 1 || l.Rows[0].Holder != old.Holder || l.Rows[0].Until != old.Until {
		return n.Store.Swap(ctx, space, old, new)
	}
	for range 100 {
		runtime.Gosched()
	}
	for {
		l, err := n.List(ctx, space, old.Number, old.Number)
		if err != nil {
			return false, err
		}
		if done, err := n.Store.Swap(ctx, space, l.Rows[0], new); done || err != nil {
			return done, err
		}
	}
}

// losesUpdates forgets a change of which it has reported success, when others are made at the same time.
type losesUpdates struct {
	grant.Store
	mu      sync.Mutex
	changes int
}

func (l *losesUpdates) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, err := l.Store.Swap(ctx, space, old, new)
	if l.changes++; done && old.Holder != grant.Absent && l.changes > 100 {
		l.changes = 0
		_, _ = l.Store.Swap(ctx, space, new, old)
	}
	return done, err
}

type ownLayout struct{ grant.Store }

func (o *ownLayout) Prepare(ctx context.Context, space, layout string) (string, error) {
	_, err := o.Store.Prepare(ctx, space, layout)
	return layout, err
}

type renamed struct {
	grant.Store
	name func(string) string
}

func (r *renamed) Prepare(ctx context.Context, space, layout string) (string, error) {
	return r.Store.Prepare(ctx, r.name(space), layout)
}

func (r *renamed) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	return r.Store.List(ctx, r.name(space), least, most)
}

func (r *renamed) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	return r.Store.Swap(ctx, r.name(space), old, new)
}

type bounds struct{ grant.Store }

func (b *bounds) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	if least > 0 {
		most--
	}
	return b.Store.List(ctx, space, least, most)
}

type narrow struct{ grant.Store }

func (n *narrow) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	old.Number, new.Number = min(old.Number, 1<<31-1), min(new.Number, 1<<31-1)
	return n.Store.Swap(ctx, space, old, new)
}

type deaf struct{ grant.Store }

func (d *deaf) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	return d.Store.Swap(context.WithoutCancel(ctx), space, old, new)
}

type noClock struct{ grant.Store }

func (n *noClock) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	l, err := n.Store.List(ctx, space, least, most)
	if len(l.Rows) == 0 {
		return grant.Listing{}, err
	}
	return l, err
}
