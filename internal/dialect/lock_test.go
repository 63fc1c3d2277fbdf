package dialect_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// servers are the databases with sessions that exclude each other.
var servers = map[dialect.Dialect]func(testing.TB) dbtest.Database{dialect.MySQL: dbtest.MySQL, dialect.Postgres: dbtest.Postgres}

// A lock is one session's alone, until it is freed or the session ends; other locks are free.
func TestLock(t *testing.T) {
	for d, database := range servers {
		t.Run(d.String(), func(t *testing.T) {
			at := database(t)
			one, two := connect(t, at), connect(t, at)
			want := func(conn *sql.Conn, l dialect.Lock, want bool) {
				t.Helper()
				if got, err := d.TryLock(t.Context(), conn, l); got != want || err != nil {
					t.Errorf("got %t, %v, want %t", got, err, want)
				}
			}
			number := int64(0)
			query := map[dialect.Dialect]string{dialect.MySQL: "SELECT CONNECTION_ID()", dialect.Postgres: "SELECT pg_backend_pid()"}[d]
			if err := one.QueryRowContext(t.Context(), query).Scan(&number); err != nil {
				t.Fatal(err)
			}
			for _, l := range []dialect.Lock{dialect.RunLock, dialect.StatementLock, dialect.MergeLock, dialect.PartitionLock("a", "b"), dialect.CreateLock("a.b")} {
				want(one, l, true)
				want(two, l, false)
				if holder, err := d.LockHolder(t.Context(), two, l); holder != number || err != nil {
					t.Errorf("got the holder %d, %v, want %d", holder, err, number)
				}
			}
			want(two, dialect.PartitionLock("b", "a"), true)
			if err := d.Unlock(t.Context(), one, dialect.RunLock); err != nil {
				t.Fatal(err)
			}
			want(two, dialect.RunLock, true)
			if got, err := d.WaitLock(t.Context(), one, dialect.RunLock, 0); got || err != nil {
				t.Errorf("got %t, %v of another's lock, want false", got, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if got, err := d.WaitLock(ctx, connect(t, at), dialect.RunLock, time.Hour); got || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %t, %v, want the end of the context", got, err)
			}
			dialect.Discard(two)
			if got, err := d.WaitLock(t.Context(), connect(t, at), dialect.RunLock, time.Minute); !got || err != nil {
				t.Errorf("got %t, %v after the session's end, want true", got, err)
			}
			if d == dialect.Postgres {
				return // whose locks are of a database
			}
			other := connect(t, database(t))
			want(other, dialect.StatementLock, true)
			want(other, dialect.PartitionLock("a", "b"), false)
		})
	}
}

// refused is a session whose context ends before its statement is sent, as pgx has it.
type refused struct{ end context.CancelFunc }

func (r refused) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	r.end()
	return nil, driver.ErrBadConn
}

// A wait whose context ends says so, whatever the driver says.
func TestWaitLockContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := dialect.Postgres.WaitLock(ctx, refused{cancel}, dialect.RunLock, time.Hour); got || !errors.Is(err, context.Canceled) || !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("got %t, %v, want the end of the context and the driver's error", got, err)
	}
}

// SQLite needs no lock beside that of its transactions.
func TestLockSQLite(t *testing.T) {
	at := dbtest.SQLite(t)
	one, two := connect(t, at), connect(t, at)
	for _, conn := range []*sql.Conn{one, two} {
		if got, err := dialect.SQLite.TryLock(t.Context(), conn, dialect.RunLock); !got || err != nil {
			t.Errorf("got %t, %v", got, err)
		}
		if holder, err := dialect.SQLite.LockHolder(t.Context(), conn, dialect.RunLock); holder != 0 || err != nil {
			t.Errorf("got %d, %v", holder, err)
		}
		if err := dialect.SQLite.Unlock(t.Context(), conn, dialect.RunLock); err != nil {
			t.Error(err)
		}
	}
}
