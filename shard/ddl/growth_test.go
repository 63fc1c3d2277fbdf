package ddl_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard/ddl"
)

func (s *suite) grow(t *testing.T) {
	stop := s.write(t)
	for _, table := range []*ddl.Table{&s.orders, &s.items} {
		before := rows(t, s.pool, "SELECT * FROM "+table.Name+" WHERE user_id <> 900 ORDER BY id")
		s.change(t, table, newShards)
		if after := rows(t, s.pool, "SELECT * FROM "+table.Name+" WHERE user_id <> 900 ORDER BY id"); !slices.Equal(after, before) || len(after) < users {
			t.Errorf("%s has %d rows after the growth, which are not the %d from before", table.Name, len(after), len(before))
		}
	}
	written := stop()
	for _, table := range []ddl.Table{s.orders, s.items} {
		s.requirePlaces(t, table)
	}
	if got := rows(t, s.pool, "SELECT COUNT(*) FROM orders WHERE user_id = 900")[0]; got != fmt.Sprint(written) {
		t.Errorf("there are %s of the %d rows that were written meanwhile", got, written)
	}
	more := Order{UserID: 9, Note: "after"}
	if err := s.db.Create(&more).Error; err != nil {
		t.Fatal(err)
	}
	in := "orders"
	if !s.blind {
		in = from(t, s.orders, s.engine, s.bucket(t, 9))
	}
	if got := rows(t, s.pool, fmt.Sprintf("SELECT note FROM %s WHERE id = %d", in, more.ID)); len(got) != 1 {
		t.Errorf("the partition has %v, want the new row", got)
	}
	if err := s.db.Where("user_id = 900 OR note = 'after'").Delete(&Order{}).Error; err != nil {
		t.Fatal(err)
	}
}

// change runs the statements of Grow.
func (s *suite) change(t *testing.T, table *ddl.Table, shards int, alone ...int64) {
	t.Helper()
	script, err := table.Grow(s.engine, shards, alone...)
	if err != nil {
		t.Fatal(err)
	}
	s.apply(t, script)
	table.Shards, table.Alone = shards, append(table.Alone, alone...)
}

// write creates orders of user 900 until the function that it returns is called, which tells how many there are then. Rows may be refused with the
// errors of doc.go: with Spider the table is away for a while, and MariaDB wants a statement that was prepared before anew.
func (s *suite) write(t *testing.T) (stop func() int) {
	end, written, broken := make(chan struct{}), make(chan int), []error{}
	go func() {
		count := 0
		for {
			select {
			case <-end:
				written <- count
				return
			default:
			}
			switch err := s.db.Create(&Order{UserID: 900, Note: "meanwhile"}).Error; {
			case err == nil:
				count++
			case s.engine == ddl.Spider && strings.Contains(err.Error(), "doesn't exist"):
			case !s.isPostgres() && strings.Contains(err.Error(), "needs to be re-prepared"):
			default:
				broken = append(broken, err)
				<-end
				written <- count
				return
			}
		}
	}()
	return func() int {
		close(end)
		count := <-written
		for _, err := range broken {
			t.Errorf("a row meanwhile got the error %v", err)
		}
		t.Logf("%d rows were written meanwhile", count)
		return count
	}
}

// tooLarge has the bucket of a user in a shard of its own.
func (s *suite) tooLarge(t *testing.T) {
	bucket := s.bucket(t, 7)
	before := rows(t, s.pool, "SELECT * FROM orders ORDER BY id")
	switch {
	case s.engine == ddl.Citus || s.engine == ddl.PostgresHash || s.engine == ddl.PostgresFDW && s.preset != idgen.Scattered:
		if _, err := s.orders.Grow(s.engine, newShards, bucket); !errors.Is(err, ddl.ErrTable) {
			t.Errorf("got the error %v, want ErrTable: a hash has all of a remainder", err)
		}
		return
	}
	s.change(t, &s.orders, newShards, bucket)
	if after := rows(t, s.pool, "SELECT * FROM orders ORDER BY id"); !slices.Equal(after, before) {
		t.Errorf("there are %d rows, which are not the %d from before", len(after), len(before))
	}
	if s.blind {
		return
	}
	s.requirePlaces(t, s.orders)
	if got := rows(t, s.pool, "SELECT COUNT(*) FROM "+from(t, s.orders, s.engine, bucket))[0]; got != fmt.Sprint(perUser) {
		t.Errorf("the shard of the user alone has %s rows, want %d", got, perUser)
	}
}

// force runs statements in one session as a client does that goes on after errors, which it returns.
func (f *fixture) force(t *testing.T, statements ...string) (failed []error) {
	t.Helper()
	session, err := f.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, s := range statements {
		if _, err := session.ExecContext(t.Context(), s); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// TestGrowthWaitsForNobodyLong has a transaction in the way of a growth, which gives up, and is repeated without the transaction.
func TestGrowthWaitsForNobodyLong(t *testing.T) {
	for _, engine := range []ddl.Engine{ddl.MySQL, ddl.PostgresRange} {
		t.Run(string(engine), func(t *testing.T) {
			f := starts[engine](t)(t)
			f.engine, f.preset = engine, idgen.Scattered
			table := f.table("orders", "id BIGINT NOT NULL", 1)
			script, err := table.Create(engine)
			if err != nil {
				t.Fatal(err)
			}
			f.apply(t, script)
			run(t, f.pool, "INSERT INTO orders VALUES (1)")
			grown, err := table.Grow(engine, 2)
			if err != nil {
				t.Fatal(err)
			}
			if limit := strings.Replace(grown.Table[0], "5", "1", 1); limit == grown.Table[0] || !strings.HasPrefix(limit, "SET lock_") {
				t.Fatalf("the first statement is %s, want one that limits the wait to 5 s", limit)
			} else {
				grown.Table[0] = limit // the test need not wait as long
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			other, err := f.pool.BeginTx(ctx, &sql.TxOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := rows(t, other, "SELECT id FROM orders"); len(got) != 1 {
				t.Fatalf("got %v", got)
			}
			if failed := f.force(t, grown.Table...); len(failed) != 1 || !strings.Contains(strings.ToLower(failed[0].Error()), "lock") {
				t.Errorf("beside a transaction got the errors %v, want one of a lock", failed)
			}
			if err := other.Commit(); err != nil {
				t.Fatal(err)
			}
			f.apply(t, grown)
		})
	}
}
