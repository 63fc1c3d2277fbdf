package reshard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/shard/reshard"
	idshard "github.com/snowkey-go/snowkey/idgen/shard"
)

// writers write with the map that the store has, and keep a ledger.
type writers struct {
	t       *testing.T
	own     *place
	others  []*place
	counter atomic.Int64
	mutex   sync.Mutex
	ledger  map[int64]record // locked by mutex
	group   sync.WaitGroup
	stop    chan struct{}
	once    sync.Once
	wrote   atomic.Int64
	fenced  atomic.Int64
	pause   time.Duration // after each transaction, so that tests have not too much to do
}

func startWriters(t *testing.T, n int, ledger map[int64]record, own *place, others ...*place) *writers {
	w := &writers{t: t, own: own, others: others, ledger: ledger, stop: make(chan struct{}), pause: 2 * time.Millisecond}
	w.counter.Store(1 << 20)
	ids := make([][]int64, n)
	i := 0
	for id := range ledger {
		ids[i%n] = append(ids[i%n], id)
		i++
	}
	for i := range n {
		w.group.Go(func() { w.write(rand.New(rand.NewPCG(1, uint64(i))), ids[i]) })
	}
	t.Cleanup(func() { w.end() })
	return w
}

// end stops them, and returns the ledger.
func (w *writers) end() map[int64]record {
	w.once.Do(func() { close(w.stop) })
	w.group.Wait()
	return w.ledger
}

// write writes rows that no other writer has.
func (w *writers) write(random *rand.Rand, ids []int64) {
	store := idshard.NewStore(w.own.db, w.own.dialect)
	ctx := context.WithoutCancel(w.t.Context())
	m, err := store.Load(ctx, "m")
	if err != nil {
		w.t.Error(err)
		return
	}
	for {
		select {
		case <-w.stop:
			return
		case <-time.After(w.pause):
		}
		change := map[int64]*record{}
		var list []string // with @ for the table; all of one shard
		n := w.counter.Add(1)
		user := random.Int64N(50)
		bucket, err := m.Place(user, 0)
		if err != nil {
			w.t.Error(err)
			return
		}
		at := 0
		if len(ids) > 0 {
			at = random.IntN(len(ids))
		}
		id := n<<4 | bucket
		switch kind := random.IntN(4); {
		case kind == 0 || len(ids) < 5:
			r := record{user, fmt.Sprintf("new %d", n)}
			list, change[id] = []string{w.insert(id, r)}, &r
			ids = append(ids, id)
		case kind == 1:
			id = ids[at]
			r := w.of(id)
			r.item = fmt.Sprintf("changed %d", n)
			list, change[id] = []string{fmt.Sprintf("UPDATE @ SET %s = '%s' WHERE %s = %d", w.own.quote("item"), r.item, w.own.quote("Id ?"), id)}, &r
		case kind == 2:
			id = ids[at]
			ids = append(ids[:at], ids[at+1:]...)
			list, change[id] = []string{w.delete(id)}, nil
		default: // a new row takes the unique value of one that is deleted, in the same bucket
			old := ids[at]
			r := w.of(old)
			id = n<<4 | old&15
			list = []string{w.delete(old), w.insert(id, r)}
			change[old], change[id] = nil, &r
			ids[at] = id
		}
		for attempt := 0; ; attempt++ {
			i, err := m.OfID(id)
			if err != nil {
				w.t.Error(err)
				return
			}
			err = w.run(ctx, m.Shard(i), list)
			if err == nil {
				break
			}
			// What waits for no lease may find its row removed, as a router does not.
			version, _ := store.Version(ctx, "m")
			late := errors.Is(err, errNone) && version != m.Version()
			if !late && !idshard.IsFenced(err) && !again(err) || attempt > 3000 {
				w.t.Errorf("a writer: %v", err)
				return
			}
			if idshard.IsFenced(err) {
				w.fenced.Add(1)
			}
			time.Sleep(time.Millisecond)
			if m, err = store.Load(ctx, "m"); err != nil {
				w.t.Error(err)
				return
			}
		}
		w.mutex.Lock()
		for id, r := range change {
			if r == nil {
				delete(w.ledger, id)
			} else {
				w.ledger[id] = *r
			}
		}
		w.mutex.Unlock()
		w.wrote.Add(1)
	}
}

// errNone says that a statement has changed no row.
var errNone = errors.New("no row was changed")

// again tells whether a transaction was rolled back, and may be tried again.
func again(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "deadlock") || strings.Contains(text, "locked") || strings.Contains(text, "lock wait")
}

func (w *writers) of(id int64) record {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.ledger[id]
}

func (w *writers) insert(id int64, r record) string {
	q := w.own.quote
	return fmt.Sprintf("INSERT INTO @ (%s, %s, %s) VALUES (%d, %d, '%s')", q("Id ?"), q("user"), q("item"), id, r.user, r.item)
}

func (w *writers) delete(id int64) string {
	return fmt.Sprintf("DELETE FROM @ WHERE %s = %d", w.own.quote("Id ?"), id)
}

// run runs statements in a transaction; each has to change one row.
func (w *writers) run(ctx context.Context, s idshard.Shard, list []string) error {
	p := at(s, w.own, w.others)
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range list {
		result, err := tx.ExecContext(ctx, strings.Replace(statement, "@", p.table(s), 1))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err == nil && n != 1 {
			err = fmt.Errorf("%w: %s in %s", errNone, statement, s.Name)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// TestMoveUnderWriters moves buckets while they are written to.
func TestMoveUnderWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, d idshard.Dialect) {
		own := newPlace(t, d)
		shards := idshard.Tables(4)
		m := setup(t, own, shards[:2]...)
		writing := startWriters(t, 3, fill(t, m, 200, own), own)
		w := world(own)
		for _, change := range []func() (*idshard.Map, error){
			func() (*idshard.Map, error) { return m.Grow(shards[2:]...) },
			func() (*idshard.Map, error) { return m.Move("00", 1, 2, 3) },
			func() (*idshard.Map, error) { return m.Shrink("03") },
		} {
			next, err := change()
			if err != nil {
				t.Fatal(err)
			}
			if err := reshard.Move(t.Context(), w, plan(t, w, next), fast(nil)); err != nil {
				t.Error(err)
				break
			}
			m = next
		}
		ledger := writing.end()
		t.Logf("%d writes, %d refused", writing.wrote.Load(), writing.fenced.Load())
		check(t, ledger, m, own)
	})
}
