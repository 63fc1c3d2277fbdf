package granttest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"mark of the last swap": func() grant.Store {
		return &ownMark{Store: grant.Memory(nil), next: func(_, until int64) int64 { return until }}
	},
	"no mark": func() grant.Store {
		return &ownMark{Store: grant.Memory(nil), next: func(int64, int64) int64 { return 0 }}
	},
	"mark of refused swaps": func() grant.Store {
		return &ownMark{Store: grant.Memory(nil), refused: true, next: func(mark, until int64) int64 { return max(mark, until) }}
	},
	"mark after the swap": func() grant.Store {
		return &ownMark{Store: grant.Memory(nil), late: true, next: func(mark, until int64) int64 { return max(mark, until) }}
	},
	"a mark for all spaces": func() grant.Store {
		return &ownMark{Store: grant.Memory(nil), shared: true, next: func(mark, until int64) int64 { return max(mark, until) }}
	},
	"counts swaps":         func() grant.Store { return &miscounts{Store: grant.Memory(nil)} },
	"no identity":          func() grant.Store { return &identities{grant.Memory(nil), func(string, int64) string { return "" }} },
	"one identity for all": func() grant.Store { return &identities{grant.Memory(nil), func(string, int64) string { return "id" }} },
	"a new identity after some swaps": func() grant.Store {
		return &identities{grant.Memory(nil), func(id string, mark int64) string { return fmt.Sprint(id, mark) }}
	},
	"losses in reverse": func() grant.Store { return &lossesOf{Store: grant.Memory(nil), list: reversed} },
	"losses once":       func() grant.Store { return &lossesOf{Store: grant.Memory(nil), list: slices.Compact[[]grant.Loss]} },
	"forgets losses":    func() grant.Store { return &lossesOf{Store: grant.Memory(nil), list: last90} },
	"losses of all":     func() grant.Store { return &lossesOf{Store: grant.Memory(nil), shared: true} },
	"cuts holders":      func() grant.Store { return &lossesOf{Store: grant.Memory(nil), cut: 127} },
	"loses losses":      func() grant.Store { return &losesLosses{Store: grant.Memory(nil)} },
	"moves at any mark": func() grant.Store {
		return &mover{Store: grant.Memory(nil), any: true}
	},
	"adds where it moved from": func() grant.Store { return &mover{Store: grant.Memory(nil), adds: true} },
	"moves from any layout":    func() grant.Store { return &mover{Store: grant.Memory(nil), layout: true} },
	"keeps the rows too":       func() grant.Store { return &mover{Store: grant.Memory(nil), keeps: true} },
	"losses without ears":      func() grant.Store { return &deafLosses{grant.Memory(nil)} },
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
		if err != nil || len(l.Rows) == 0 { // the space was moved
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

// ownMark keeps a mark of its own.
type ownMark struct {
	grant.Store
	next                  func(mark, until int64) int64
	refused, late, shared bool
	listed                atomic.Int64
	mu                    sync.Mutex
	marks                 map[string]int64
}

func (o *ownMark) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	done, err := o.Store.Swap(ctx, space, old, new)
	if listed := o.listed.Load(); o.late {
		for tries := 0; tries < 10_000 && o.listed.Load() < listed+10; tries++ { // who lists, if anybody does, sees the row
			runtime.Gosched()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shared {
		space = ""
	}
	if o.marks == nil {
		o.marks = map[string]int64{}
	}
	if done || o.refused {
		o.marks[space] = o.next(o.marks[space], new.Until)
	}
	return done, err
}

func (o *ownMark) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	l, err := o.Store.List(ctx, space, least, most)
	defer o.listed.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shared {
		space = ""
	}
	l.Mark = o.marks[space]
	return l, err
}

// miscounts counts a row that was replaced as one that was added.
type miscounts struct {
	grant.Store
	replaced atomic.Int64
}

func (m *miscounts) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	done, err := m.Store.Swap(ctx, space, old, new)
	if done && old.Holder != grant.Absent {
		m.replaced.Add(1)
	}
	return done, err
}

func (m *miscounts) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	l, err := m.Store.List(ctx, space, least, most)
	l.Gone = m.replaced.Load()
	return l, err
}

// identities has other ones.
type identities struct {
	grant.Store
	id func(id string, mark int64) string
}

func (i *identities) List(ctx context.Context, space string, least, most int64) (grant.Listing, error) {
	l, err := i.Store.List(ctx, space, least, most)
	l.ID = i.id(l.ID, l.Mark)
	return l, err
}

// lossesOf keeps losses otherwise.
type lossesOf struct {
	grant.Store
	list   func([]grant.Loss) []grant.Loss
	shared bool
	cut    int
}

func (l *lossesOf) Record(ctx context.Context, space string, loss grant.Loss) error {
	if l.shared {
		space = "default"
	}
	if l.cut > 0 {
		loss.Holder = loss.Holder[:min(len(loss.Holder), l.cut)]
	}
	return l.Store.Record(ctx, space, loss)
}

func (l *lossesOf) Losses(ctx context.Context, space string) ([]grant.Loss, error) {
	if l.shared {
		space = "default"
	}
	losses, err := l.Store.Losses(ctx, space)
	if l.list != nil {
		losses = l.list(losses)
	}
	return losses, err
}

func reversed(losses []grant.Loss) []grant.Loss {
	slices.Reverse(losses)
	return losses
}

func last90(losses []grant.Loss) []grant.Loss { return losses[max(0, len(losses)-90):] }

// losesLosses forgets one of those that are recorded at once.
type losesLosses struct {
	grant.Store
	busy atomic.Bool
}

func (l *losesLosses) Record(ctx context.Context, space string, loss grant.Loss) error {
	if !l.busy.CompareAndSwap(false, true) {
		return nil
	}
	defer l.busy.Store(false)
	for range 100 {
		runtime.Gosched()
	}
	return l.Store.Record(ctx, space, loss)
}

type deafLosses struct{ grant.Store }

func (d *deafLosses) Record(ctx context.Context, space string, loss grant.Loss) error {
	return d.Store.Record(context.WithoutCancel(ctx), space, loss)
}

// mover moves spaces at any mark, from any layout, keeps the rows under the old name too, or adds rows there.
type mover struct {
	grant.Store
	any, adds, layout, keeps bool
}

func (m *mover) Move(ctx context.Context, space, to, old, new string, most int64) (bool, error) {
	if m.any {
		most = math.MaxInt64
	}
	if m.layout {
		if inForce, err := m.Prepare(ctx, space, old); err == nil {
			old = inForce
		}
	}
	return m.Store.Move(ctx, space, to, old, new, most)
}

func (m *mover) Swap(ctx context.Context, space string, old, new grant.Row) (bool, error) {
	l, err := m.List(ctx, space, 0, 0)
	if err == nil && l.Absent == grant.Forever && (m.adds && old.Holder == grant.Absent || m.keeps && old.Holder != grant.Absent) {
		return true, nil
	}
	return m.Store.Swap(ctx, space, old, new)
}
