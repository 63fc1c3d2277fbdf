//go:build linux

package etcdgrant_test

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

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/idgen/grant/etcdgrant"
	"github.com/snowkey-go/snowkey/idgen/grant/granttest"
)

// TestKillKeepsWhatWasAcknowledged kills etcd while eight callers change a row each. Started on an older copy of its data, it has to lose changes in the same test.
func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	m := startMember(t)
	store := etcdgrant.New(m.dial())
	prepare(t, store)
	rows := make([]grant.Row, 8) // as they were acknowledged last
	for w := range rows {
		rows[w] = none(int64(w))
	}
	work := func() {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var acknowledged atomic.Int64
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
				}
			})
		}
		m.until("200 changes are made", func() bool { return acknowledged.Load() > 200 })
		m.kill()
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
	older := m.data() + ".older"
	for range rounds(2) {
		work()
		run(t, "rm", "-rf", older)
		run(t, "cp", "-r", m.data(), older)
		m.start()
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
	run(t, "rm", "-r", m.data())
	run(t, "mv", older, m.data())
	m.start()
	if lost() == 0 {
		t.Error("no row has lost changes on an older copy, so the test sees none")
	}
}

func prepare(t *testing.T, store *etcdgrant.Store) {
	t.Helper()
	if _, err := store.Prepare(t.Context(), "default", "a"); err != nil {
		t.Fatal(err)
	}
}

// TestContextEndsWhileEtcdStandsStill has each method return with its context.
func TestContextEndsWhileEtcdStandsStill(t *testing.T) {
	m := startMember(t)
	store := etcdgrant.New(m.dial())
	prepare(t, store)
	m.signal(syscall.SIGSTOP)
	defer m.signal(syscall.SIGCONT)
	granttest.ReturnsWithContext(t, store)
}

// tampered is the client's KV with transactions that change something seen by a test: it may make them, and what it returns is the answer.
type tampered struct {
	clientv3.KV
	commit func(write bool, commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error)
}

func (k tampered) Txn(ctx context.Context) clientv3.Txn {
	return &tamperedTxn{Txn: k.KV.Txn(context.WithoutCancel(ctx)), commit: k.commit}
}

type tamperedTxn struct {
	clientv3.Txn
	write  bool
	commit func(write bool, commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error)
}

func (t *tamperedTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.Txn, t.write = t.Txn.If(cs...), len(cs) > 0
	return t
}

func (t *tamperedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *tamperedTxn) Commit() (*clientv3.TxnResponse, error) { return t.commit(t.write, t.Txn.Commit) }

// TestLostAnswer loses the first answer to each change: one that was made, and one that comes to etcd after the second attempt. The store reports what happened.
func TestLostAnswer(t *testing.T) {
	for name, late := range map[string]bool{"made": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			client := startMember(t).dial()
			armed, delayed := false, func() {}
			real := client.KV
			client.KV = tampered{real, func(write bool, commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error) {
				if !write || !armed {
					return commit()
				}
				armed = false
				if late {
					delayed = func() {
						if answer, err := commit(); err != nil || answer.Succeeded {
							t.Errorf("the late transaction: got %+v, %v, want none made", answer, err)
						}
					}
				} else if answer, err := commit(); err != nil || !answer.Succeeded {
					t.Errorf("got %+v, %v, want it made", answer, err)
				}
				return nil, rpctypes.ErrTimeout
			}}
			store := etcdgrant.New(client)
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
	m := startMember(t)
	client, other := m.dial(), etcdgrant.New(m.dial())
	row, theirs := grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "b", From: 5, Until: 6}
	real, once := client.KV, false
	client.KV = tampered{real, func(write bool, commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error) {
		answer, err := commit()
		if write && err == nil && !once {
			once = true
			if ok, err := other.Swap(t.Context(), "default", row, theirs); err != nil || !ok {
				t.Error(ok, err)
			}
			return nil, rpctypes.ErrTimeout
		}
		return answer, err
	}}
	prepare(t, other)
	if ok, err := etcdgrant.New(client).Swap(t.Context(), "default", none(1), row); ok || !errors.Is(err, rpctypes.ErrTimeout) {
		t.Errorf("got %t, %v, want the error of the lost answer", ok, err)
	}
}

// TestLearner has a client that names a learner alone refused, and one that names a member beside it work, with a warning.
func TestLearner(t *testing.T) {
	m, learner := startMember(t), newMember(t, "learner")
	client := m.dial()
	if _, err := client.MemberAddAsLearner(t.Context(), []string{learner.peer}); err != nil {
		t.Fatal(err)
	}
	learner.cluster, learner.state = m.cluster+","+learner.cluster, "existing"
	learner.start()
	alone, both := etcdgrant.New(learner.dial()), etcdgrant.New(dial(t, nil, m, learner))
	refused(t, learner, alone)
	for range 10 {
		prepare(t, both)
	}
	if got := both.Warnings(); !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, learner.client+" is a learner") }) {
		t.Errorf("got the warnings %q, want one of the learner", got)
	}
}

// refused waits until a store that names a learner alone says so. The store asks until the context ends, and a learner answers late on a busy machine.
func refused(t *testing.T, learner *member, store *etcdgrant.Store) {
	t.Helper()
	learner.until("the learner is refused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := store.Prepare(ctx, grant.DefaultSpace, "a")
		if err == nil {
			t.Fatal("a learner is not refused")
		}
		return errors.Is(err, grant.ErrReadOnly)
	})
}

// TestPromotedLearner promotes a learner while keepers make ids, and kills the leader. The three members left are a majority of four with the one that was a learner alone. A store
// that names the learner is refused before it is promoted, and works after that, as do keepers. No id comes twice.
func TestPromotedLearner(t *testing.T) {
	members, learner := startCluster(t), newMember(t, "learner")
	client := dial(t, nil, members...)
	fleet := granttest.StartFleet(t, func() grant.Store { return etcdgrant.New(client) })
	goOn := func(fleet *granttest.Fleet, n int64) {
		t.Helper()
		before := fleet.Made()
		learner.until("ids are made", func() bool { return fleet.Made() > before+n })
	}
	var added *clientv3.MemberAddResponse
	members[0].until("the learner is added", func() bool { // refused until the members were connected for five seconds
		var err error
		added, err = client.MemberAddAsLearner(t.Context(), []string{learner.peer})
		return err == nil
	})
	learner.cluster, learner.state = members[0].cluster+","+learner.cluster, "existing"
	learner.start()
	alone := etcdgrant.New(learner.dial())
	refused(t, learner, alone)
	goOn(fleet, 1000)
	learner.until("the learner is promoted", func() bool { // refused until it is in sync with the leader
		_, err := client.MemberPromote(t.Context(), added.Member.ID)
		return err == nil
	})
	if _, err := alone.List(t.Context(), grant.DefaultSpace, 0, 7); err != nil { // with the memory of the refusal
		t.Errorf("a learner that was promoted: %v", err)
	}
	goOn(fleet, 1000)
	leader(t, members).kill() // the three others are a majority, with the one that was a learner
	goOn(fleet, 1000)
	fleet.Stop()

	through := granttest.StartFleet(t, func() grant.Store { return etcdgrant.New(learner.dial()) })
	goOn(through, 1000)
	through.Stop()
}

// TestAlarms has etcd full, and corrupt.
func TestAlarms(t *testing.T) {
	m := startMember(t, "--quota-backend-bytes", fmt.Sprint(1<<20))
	client := m.dial()
	store := etcdgrant.New(client)
	prepare(t, store)
	big := strings.Repeat("x", 200_000)
	m.until("etcd is full", func() bool {
		_, err := client.Put(t.Context(), "big", big)
		return errors.Is(err, rpctypes.ErrNoSpace)
	})
	row := grant.Row{Number: 1, Holder: "a", Until: 5}
	if _, err := store.Swap(t.Context(), "default", none(1), row); !errors.Is(err, grant.ErrReadOnly) || !strings.Contains(err.Error(), "disarm") {
		t.Errorf("Swap while etcd is full: got the error %v, want ErrReadOnly and what to do", err)
	}
	if _, err := store.List(t.Context(), "default", 0, 9); err != nil {
		t.Errorf("List while etcd is full: %v", err)
	}
	maintain(t, client, []*member{m})
	if _, err := client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	if ok, err := store.Swap(t.Context(), "default", none(1), row); err != nil || !ok {
		t.Errorf("Swap after that: got %t, %v", ok, err)
	}
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_CORRUPT}
	if _, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Swap(t.Context(), "default", row, grant.Row{Number: 1, Holder: "a", Until: 6}); !errors.Is(err, grant.ErrStore) || !strings.Contains(err.Error(), "CORRUPT") {
		t.Errorf("Swap with the alarm CORRUPT: got the error %v, want ErrStore", err)
	}
}

// TestInterleaved has another process make a change between what a method reads and what it writes.
func TestInterleaved(t *testing.T) {
	m := startMember(t)
	held, renewed := grant.Row{Number: 1, Holder: "a", Until: 5}, grant.Row{Number: 1, Holder: "a", Until: 6}
	second := grant.Row{Number: 2, Holder: "b", Until: 5}
	swap := func(old, new grant.Row) func(*testing.T, *etcdgrant.Store) bool {
		return func(t *testing.T, s *etcdgrant.Store) bool {
			ok, err := s.Swap(t.Context(), "default", old, new)
			if err != nil {
				t.Error(err)
			}
			return ok
		}
	}
	move := func(t *testing.T, s *etcdgrant.Store) bool {
		ok, err := s.Move(t.Context(), "default", "default~1", "a", "b", 5)
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	record := func(t *testing.T, s *etcdgrant.Store) bool {
		return s.Record(t.Context(), "default", grant.Loss{Number: 1}) == nil
	}
	moveFurther := func(t *testing.T, s *etcdgrant.Store) bool {
		ok, err := s.Move(t.Context(), "default", "default~2", "a", "b", 5)
		return ok && err == nil
	}
	prepareOther := func(t *testing.T, s *etcdgrant.Store) bool {
		_, err := s.Prepare(t.Context(), "default~1", "x")
		return err == nil
	}
	for name, test := range map[string]struct {
		first, between, call func(*testing.T, *etcdgrant.Store) bool
		want                 bool
		rows                 []grant.Row
		losses               int
	}{
		"a row is added":             {nil, swap(none(1), held), swap(none(1), renewed), false, []grant.Row{held}, 0},
		"another row is added":       {nil, swap(none(1), held), swap(none(2), second), true, []grant.Row{held, second}, 0},
		"the row is renewed":         {swap(none(1), held), swap(held, renewed), swap(held, grant.Row{Number: 1, Holder: "b", From: 5, Until: 9}), false, []grant.Row{renewed}, 0},
		"the space moves":            {swap(none(1), held), move, swap(held, renewed), false, []grant.Row{held}, 0},
		"the space moves, to add":    {nil, move, swap(none(1), held), false, nil, 0},
		"the mark is beyond Move":    {swap(none(1), held), swap(held, renewed), move, false, []grant.Row{renewed}, 0},
		"the mark is not beyond":     {swap(none(1), held), swap(none(2), second), move, true, []grant.Row{held, second}, 0},
		"a loss before Move":         {record, record, move, true, nil, 2},
		"the first loss before Move": {nil, record, move, true, nil, 1},
		"another loss":               {nil, record, record, true, nil, 2},
		"another Move":               {nil, move, move, false, nil, 0},
		"a Move to another name":     {nil, moveFurther, move, false, nil, 0},
		"the other name is made":     {nil, prepareOther, move, false, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client, prefix := m.dial(), etcdgrant.WithPrefix(strings.ReplaceAll(name, " ", "-")+"/")
			other := etcdgrant.New(m.dial(), prefix)
			prepare(t, other)
			if test.first != nil && !test.first(t, other) {
				t.Fatal("the first change was not made")
			}
			real, once := client.KV, false
			client.KV = tampered{real, func(write bool, commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error) {
				if write && !once {
					if once = true; !test.between(t, other) {
						t.Error("the change between was not made")
					}
				}
				return commit()
			}}
			if got := test.call(t, etcdgrant.New(client, prefix)); got != test.want || !once {
				t.Errorf("got %t, want %t", got, test.want)
			}
			space := "default"
			if l, err := other.List(t.Context(), "default~1", 0, 0); err != nil {
				t.Fatal(err)
			} else if l.ID != "" {
				space = "default~1"
			}
			l, err := other.List(t.Context(), space, 0, 9)
			if err != nil || !slices.Equal(l.Rows, test.rows) || l.Gone != 0 {
				t.Errorf("got %+v, %v, want the rows %+v, and none gone", l, err, test.rows)
			}
			raw, err := real.Get(t.Context(), strings.ReplaceAll(name, " ", "-")+"/default/"+l.ID+"/made")
			if err != nil || len(raw.Kvs) != 1 || string(raw.Kvs[0].Value) != fmt.Sprintf("%019d", len(test.rows)) {
				t.Errorf("got %v, %v, want %d rows counted", raw, err, len(test.rows))
			}
			if losses, err := other.Losses(t.Context(), space); err != nil || len(losses) != test.losses {
				t.Errorf("got the losses %+v, %v, want %d", losses, err, test.losses)
			}
		})
	}
}
