//go:build linux

package zkgrant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
	"github.com/snowkey-go/snowkey/idgen/grant/zkgrant"
)

// TestKillKeepsWhatWasAcknowledged kills ZooKeeper while eight callers change a row each. Started on an older copy of its data, it has to lose changes in the same test.
func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	long(t)
	s := startServer(t)
	store := zkgrant.New(connect(t, nil, s))
	prepare(t, store)
	rows := make([]grant.Row, 8) // as they were acknowledged last
	for w := range rows {
		rows[w] = none(int64(w))
	}
	work := func() {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var acknowledged atomic.Int64
		each := make([]atomic.Int64, len(rows))
		var group sync.WaitGroup
		for w := range rows {
			group.Go(func() {
				row := rows[w]
				for ctx.Err() == nil {
					next := grant.Row{Number: int64(w), Holder: fmt.Sprint("worker ", w), From: row.Until, Until: row.Until + 1}
					if ok, err := store.Swap(ctx, "default", row, next); err != nil || !ok {
						return
					}
					row, rows[w] = next, next
					acknowledged.Add(1)
					each[w].Add(1)
				}
			})
		}
		s.until("200 changes are made, and one of each row", func() bool {
			for w := range each {
				if each[w].Load() == 0 {
					return false
				}
			}
			return acknowledged.Load() > 200
		})
		s.kill()
		stop()
		group.Wait()
	}
	lost := func() (n int) {
		l, err := store.List(t.Context(), "default", 0, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if i := slices.IndexFunc(l.Rows, func(r grant.Row) bool { return r.Number == row.Number }); i < 0 || l.Rows[i].Until < row.Until || l.Mark < row.Until {
				n++
			}
		}
		return n
	}
	older := s.path("older")
	for range 2 {
		work()
		run(t, "rm", "-rf", older)
		run(t, "cp", "-r", s.path("data"), older)
		s.start()
		if n := lost(); n > 0 {
			t.Errorf("%d rows of 8 have lost acknowledged changes", n)
		}
		l, err := store.List(t.Context(), "default", 0, 7)
		if err != nil {
			t.Fatal(err)
		}
		copy(rows, l.Rows) // with those that were made and not acknowledged
	}
	work()
	run(t, "rm", "-r", s.path("data"))
	run(t, "mv", older, s.path("data"))
	s.start()
	if lost() == 0 {
		t.Error("no row has lost changes on an older copy, so the test sees none")
	}
}

// TestContextEndsWhileZooKeeperStandsStill has each method return with its context, though the client waits for longer.
func TestContextEndsWhileZooKeeperStandsStill(t *testing.T) {
	s, prefix := sharedServer(t)
	store := zkgrant.New(connectFor(t, time.Minute, nil, s.address), zkgrant.WithPrefix(prefix))
	prepare(t, store)
	s.signal(syscall.SIGSTOP)
	defer s.signal(syscall.SIGCONT)
	granttest.ReturnsWithContext(t, store)
}

// tampered is a connection on which a test sees the transactions and the reads: it may make them, and what it returns is the answer.
type tampered struct {
	zkgrant.Client
	commit   func(commit func() error) error
	children func(path string) ([]string, *zk.Stat, error)
}

func (c *tampered) Multi(ops ...any) (answer []zk.MultiResponse, err error) {
	if c.commit == nil {
		return c.Client.Multi(ops...)
	}
	err = c.commit(func() error {
		answer, err = c.Client.Multi(ops...)
		return err
	})
	return answer, err
}

func (c *tampered) Children(path string) ([]string, *zk.Stat, error) {
	if c.children == nil {
		return c.Client.Children(path)
	}
	return c.children(path)
}

// TestLostAnswer loses the first answer to each change: one that was made, and one that comes to ZooKeeper after the second attempt. The store reports what happened.
func TestLostAnswer(t *testing.T) {
	for name, late := range map[string]bool{"made": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			s, prefix := sharedServer(t)
			armed, delayed := false, func() {}
			c := &tampered{Client: connect(t, nil, s), commit: func(commit func() error) error {
				if !armed {
					return commit()
				}
				armed = false
				if late {
					delayed = func() {
						if err := commit(); !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNodeExists) {
							t.Errorf("the late transaction: got the error %v, want it refused", err)
						}
					}
				} else if err := commit(); err != nil {
					t.Errorf("got %v, want it made", err)
				}
				return zk.ErrConnectionClosed
			}}
			store := zkgrant.NewOn(c, zkgrant.WithPrefix(prefix))
			prepare(t, store)
			granttest.LostAnswers(t, store, func() func() bool {
				armed, delayed = true, func() {}
				return func() bool { delayed(); return !armed }
			})
		})
	}
}

// TestAmbiguousSwap loses the answer to a swap that was made, and has another process change the row before the store looks again: nobody can say any more whether the
// swap was made, so it is no refusal but an error.
func TestAmbiguousSwap(t *testing.T) {
	s, prefix := sharedServer(t)
	other := zkgrant.New(connect(t, nil, s), zkgrant.WithPrefix(prefix))
	row, theirs := grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "b", From: 5, Until: 6}
	once := false
	c := &tampered{Client: connect(t, nil, s), commit: func(commit func() error) error {
		err := commit()
		if err == nil && !once {
			once = true
			if ok, err := other.Swap(t.Context(), "default", row, theirs); err != nil || !ok {
				t.Error(ok, err)
			}
			return zk.ErrConnectionClosed
		}
		return err
	}}
	prepare(t, other)
	store := zkgrant.NewOn(c, zkgrant.WithPrefix(prefix))
	if ok, err := store.Swap(t.Context(), "default", none(1), row); ok || !errors.Is(err, zk.ErrConnectionClosed) || !strings.Contains(err.Error(), "may have been made") {
		t.Errorf("got %t, %v, want the error of the lost answer", ok, err)
	}
}

// TestServerBehind has a server answer reads with what was there before, some times: no method takes that for the present.
func TestServerBehind(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	type answer struct {
		names []string
		stat  *zk.Stat
	}
	old, behind := map[string]answer{}, map[string]int{}
	c := &tampered{Client: conn, children: func(path string) ([]string, *zk.Stat, error) {
		if was, has := old[path]; has && behind[path] > 0 {
			behind[path]--
			return was.names, was.stat, nil
		}
		return conn.Children(path)
	}}
	store, current := zkgrant.NewOn(c, zkgrant.WithPrefix(prefix)), zkgrant.New(conn, zkgrant.WithPrefix(prefix))
	folder := prefix + "/default"
	fallBehind := func() {
		t.Helper()
		if behind[folder] > 0 {
			t.Error("the store has not asked again")
		}
		names, stat, err := conn.Children(folder)
		if err != nil {
			t.Fatal(err)
		}
		old[folder], behind[folder] = answer{names, stat}, 2
	}
	prepare(t, current)
	row, next := grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "b", From: 5, Until: 6}
	swap := func(store *zkgrant.Store, old, new grant.Row, want bool) {
		t.Helper()
		if ok, err := store.Swap(t.Context(), "default", old, new); err != nil || ok != want {
			t.Errorf("Swap: got %t, %v, want %t", ok, err, want)
		}
	}
	fallBehind()
	swap(current, none(1), row, true)
	swap(store, none(1), next, false)
	fallBehind()
	swap(current, row, next, true)
	swap(store, next, grant.Row{Number: 1, Holder: "b", From: 5, Until: 7}, true) // not refused by the old answer
	fallBehind()
	if err := current.Record(t.Context(), "default", grant.Loss{Number: 1}); err != nil {
		t.Fatal(err)
	}
	if losses, err := store.Losses(t.Context(), "default"); err != nil || len(losses) != 1 {
		t.Errorf("Losses: got %+v, %v, want one", losses, err)
	}
	fallBehind()
	swap(current, none(2), grant.Row{Number: 2, Holder: "c", Until: 3}, true)
	if l, err := store.List(t.Context(), "default", 0, 9); err != nil || len(l.Rows) != 2 {
		t.Errorf("List: got %+v, %v, want two rows", l, err)
	}
	fallBehind()
	if ok, err := current.Move(t.Context(), "default", "default~1", "a", "b", 9); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if layout, err := store.Prepare(t.Context(), "default", "a"); err != nil || layout != "b" {
		t.Errorf("Prepare: got %q, %v, want b", layout, err)
	}
	fallBehind()
	if ok, err := current.Move(t.Context(), "default~1", "default~2", "b", "c", 9); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if ok, err := store.Move(t.Context(), "default~1", "default~3", "b", "c", 9); err != nil || ok {
		t.Errorf("Move: got %t, %v, want false", ok, err)
	}
}

// TestListHasTheServersTime has the time of a listing be that of the server, not the process's.
func TestListHasTheServersTime(t *testing.T) {
	s, prefix := sharedServer(t)
	conn := connect(t, nil, s)
	ahead := &shifted{Client: conn}
	store := zkgrant.NewOn(ahead, zkgrant.WithPrefix(prefix))
	prepare(t, store)
	l, err := store.List(t.Context(), "default", 0, 9)
	if err != nil || time.Until(l.Now) < 59*time.Minute {
		t.Errorf("got %s, %v, want the time of the server, which is an hour ahead", l.Now, err)
	}
}

// shifted is a connection to a server whose clock is an hour ahead.
type shifted struct{ zkgrant.Client }

func (c *shifted) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	stat, err := c.Client.Set(path, data, version)
	if err == nil {
		stat.Mtime += time.Hour.Milliseconds()
	}
	return stat, err
}

// TestInterleaved has another process make a change between what a method reads and what it writes.
func TestInterleaved(t *testing.T) {
	s, all := sharedServer(t)
	held, renewed := grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "a", Until: 6}
	second := grant.Row{Number: 2, Holder: "b", Until: 5}
	swap := func(old, new grant.Row) func(*testing.T, *zkgrant.Store) bool {
		return func(t *testing.T, s *zkgrant.Store) bool {
			ok, err := s.Swap(t.Context(), "default", old, new)
			if err != nil {
				t.Error(err)
			}
			return ok
		}
	}
	moveTo := func(to string) func(*testing.T, *zkgrant.Store) bool {
		return func(t *testing.T, s *zkgrant.Store) bool {
			ok, err := s.Move(t.Context(), "default", to, "a", "b", 5)
			if err != nil {
				t.Error(err)
			}
			return ok
		}
	}
	move := moveTo("default~1")
	record := func(t *testing.T, s *zkgrant.Store) bool {
		return s.Record(t.Context(), "default", grant.Loss{Number: 1}) == nil
	}
	prepareAs := func(space, layout string) func(*testing.T, *zkgrant.Store) bool {
		return func(t *testing.T, s *zkgrant.Store) bool {
			_, err := s.Prepare(t.Context(), space, layout)
			return err == nil
		}
	}
	for name, test := range map[string]struct {
		first, between, call func(*testing.T, *zkgrant.Store) bool
		want                 bool
		rows                 []grant.Row
		losses               int
		layout               string // of default~1, where it is a space of its own
	}{
		"a row is added":             {nil, swap(none(1), held), swap(none(1), renewed), false, []grant.Row{held}, 0, ""},
		"a row is added, below mark": {swap(none(2), second), swap(none(1), held), swap(none(1), held), false, []grant.Row{held, second}, 0, ""},
		"another row is added":       {nil, swap(none(1), held), swap(none(2), second), true, []grant.Row{held, second}, 0, ""},
		"the row is renewed":         {swap(none(1), held), swap(held, renewed), swap(held, grant.Row{Number: 1, Holder: "b", From: 5, Until: 9}), false, []grant.Row{renewed}, 0, ""},
		"the space moves":            {swap(none(1), held), move, swap(held, renewed), false, []grant.Row{held}, 0, ""},
		"the space moves, to add":    {nil, move, swap(none(1), held), false, nil, 0, ""},
		"the mark is beyond Move":    {swap(none(1), held), swap(held, renewed), move, false, []grant.Row{renewed}, 0, ""},
		"the mark is not beyond":     {swap(none(1), held), swap(none(2), second), move, true, []grant.Row{held, second}, 0, ""},
		"a loss before Move":         {record, record, move, true, nil, 2, ""},
		"another loss":               {nil, record, record, true, nil, 2, ""},
		"another Move":               {nil, move, move, false, nil, 0, ""},
		"a Move to another name":     {nil, moveTo("default~2"), move, false, nil, 0, ""},
		"the other name is made":     {nil, prepareAs("default~1", "x"), move, false, nil, 0, "x"},
		"the space is made":          {nil, prepareAs("default~1", "x"), prepareAs("default~1", "y"), true, nil, 0, "x"},
		"another space is made":      {nil, prepareAs("default~2", "x"), prepareAs("default~1", "y"), true, nil, 0, "y"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, prefix := connect(t, nil, s), all+"/"+strings.ReplaceAll(name, " ", "-")
			other := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
			prepare(t, other)
			if test.first != nil && !test.first(t, other) {
				t.Fatal("the first change was not made")
			}
			once := false
			c := &tampered{Client: conn, commit: func(commit func() error) error {
				if !once {
					if once = true; !test.between(t, other) {
						t.Error("the change between was not made")
					}
				}
				return commit()
			}}
			if got := test.call(t, zkgrant.NewOn(c, zkgrant.WithPrefix(prefix))); got != test.want || !once {
				t.Errorf("got %t, want %t", got, test.want)
			}
			if test.layout != "" {
				if got, err := other.Prepare(t.Context(), "default~1", "z"); err != nil || got != test.layout {
					t.Errorf("got the layout %q of default~1, %v, want %q", got, err, test.layout)
				}
				return
			}
			space := "default"
			for _, moved := range []string{"default~1", "default~2"} {
				if l, err := other.List(t.Context(), moved, 0, 0); err != nil {
					t.Fatal(err)
				} else if l.ID != "" {
					space = moved
				}
			}
			l, err := other.List(t.Context(), space, 0, 9)
			if err != nil || !slices.Equal(l.Rows, test.rows) || l.Gone != 0 {
				t.Errorf("got %+v, %v, want the rows %+v, and none gone", l, err, test.rows)
			}
			nodes, _, err := conn.Children(prefix + "/default")
			marks := slices.DeleteFunc(nodes, func(n string) bool { return !strings.HasPrefix(n, "mark,"+l.ID+",") })
			if err != nil || len(marks) != 1 || strings.Split(marks[0], ",")[3] != fmt.Sprint(len(test.rows)) {
				t.Errorf("got %q, %v, want %d rows counted", marks, err, len(test.rows))
			}
			if losses, err := other.Losses(t.Context(), space); err != nil || len(losses) != test.losses {
				t.Errorf("got the losses %+v, %v, want %d", losses, err, test.losses)
			}
		})
	}
}

// TestSessionExpires has a session end that a store has worked with: the store goes on with the client's next one, and has lost nothing.
func TestSessionExpires(t *testing.T) {
	s, prefix := sharedServer(t)
	var cut cuts
	conn := connect(t, cut.dial, s)
	store := zkgrant.New(conn, zkgrant.WithPrefix(prefix))
	prepare(t, store)
	row := grant.Row{Number: 1, Holder: "a", Until: 5}
	if ok, err := store.Swap(t.Context(), "default", none(1), row); err != nil || !ok {
		t.Fatal(ok, err)
	}
	first := conn.SessionID()
	if _, err := conn.Create(prefix+"/witness", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	cut.hold()
	watching := connect(t, nil, s)
	s.until("the session expires", func() bool {
		there, _, err := watching.Exists(prefix + "/witness")
		return err == nil && !there
	})
	cut.release()
	if ok, err := store.Swap(t.Context(), "default", row, grant.Row{Number: 1, Holder: "a", Until: 6}); err != nil || !ok {
		t.Errorf("got %t, %v, want the row of before renewed", ok, err)
	}
	if conn.SessionID() == first {
		t.Error("the session is the one of before")
	}
}
