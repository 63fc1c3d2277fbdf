package dialect_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

func allKinds() map[dialect.Dialect]func(testing.TB) dbtest.Database {
	return map[dialect.Dialect]func(testing.TB) dbtest.Database{dialect.MySQL: dbtest.MySQL, dialect.Postgres: dbtest.Postgres, dialect.SQLite: dbtest.SQLite}
}

// The database's clock is this machine's in these tests, whichever time zone the session has.
func TestNow(t *testing.T) {
	for d, database := range allKinds() {
		t.Run(d.String(), func(t *testing.T) {
			conn := connect(t, database(t))
			for _, zone := range []string{"+00:00", "-11:00", "+12:45"} {
				switch d {
				case dialect.MySQL:
					execute(t, conn, "SET time_zone = '"+zone+"'")
				case dialect.Postgres:
					execute(t, conn, "SET timezone = '"+zone+"'")
				}
				before := time.Now().Add(-time.Millisecond) // which SQLite rounds to
				got, err := d.Now(t.Context(), conn)
				if after := time.Now().Add(time.Millisecond); err != nil || got.Before(before) || got.After(after) || got.Location() != time.UTC {
					t.Errorf("%s: got %s, %v, want one from %s to %s in UTC", zone, got, err, before, after)
				}
			}
		})
	}
}

// PostgreSQL's clock goes on within a transaction.
func TestNowInTransaction(t *testing.T) {
	conn := connect(t, dbtest.Postgres(t))
	execute(t, conn, "BEGIN")
	first, err := dialect.Postgres.Now(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "SELECT pg_sleep(0.01)")
	if second, err := dialect.Postgres.Now(t.Context(), conn); err != nil || second.Sub(first) < 10*time.Millisecond {
		t.Errorf("got %s after %s, %v, want 10 ms more", second, first, err)
	}
}

// Texts of values are the same whatever the user's settings are.
func TestExactText(t *testing.T) {
	conn := connect(t, dbtest.Postgres(t))
	execute(t, conn, "SET timezone = 'Asia/Tokyo'", "SET datestyle = 'German'", "SET intervalstyle = 'iso_8601'", "SET extra_float_digits = -15", "SET bytea_output = 'escape'",
		"SET xmlbinary = 'hex'")
	const query = "SELECT concat_ws(' ', timestamptz '2026-02-03 04:05:06+00', interval '1 day 2 hours', 0.1::float8 + 0.2::float8, '\\x00ff'::bytea)"
	const want = `2026-02-03 04:05:06+00 1 day 02:00:00 0.30000000000000004 \x00ff`
	text := func() (got string) {
		if err := conn.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := text()
	if before == want {
		t.Fatalf("got %s with settings that change it", before)
	}
	execute(t, conn, "BEGIN", dialect.Postgres.ExactText(true))
	if got := text(); got != want {
		t.Errorf("in a transaction: got %s, want %s", got, want)
	}
	execute(t, conn, "ROLLBACK")
	if got := text(); got != before {
		t.Errorf("after the transaction: got %s, want %s", got, before)
	}
	execute(t, conn, dialect.Postgres.ExactText(false))
	if got := text(); got != want {
		t.Errorf("in the session: got %s, want %s", got, want)
	}
}

func TestAll(t *testing.T) {
	conn := connect(t, dbtest.SQLite(t))
	got, err := dialect.All(t.Context(), conn, "SELECT 1 UNION ALL SELECT 2", nil, func(rows *sql.Rows) (string, error) {
		var text string
		err := rows.Scan(&text)
		return text, err
	})
	if err != nil || strings.Join(got, " ") != "1 2" {
		t.Errorf("got %q, %v", got, err)
	}
	refused := errors.New("refused")
	if got, err := dialect.All(t.Context(), conn, "SELECT 1", nil, func(*sql.Rows) (int, error) { return 1, refused }); got != nil || !errors.Is(err, refused) {
		t.Errorf("got %v, %v, want the function's error alone", got, err)
	}
}

// A pause ends with its time or its context, and says why the context ended.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := dialect.Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("got %v after %v, want an hour", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := dialect.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Hour+time.Minute {
			t.Errorf("got %v after %v, want an hour and a minute", err, time.Since(began))
		}
		why := errors.New("why")
		caused, end := context.WithCancelCause(t.Context())
		end(why)
		if err := dialect.Sleep(caused, time.Hour); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
			t.Errorf("got %v, want the context's error and its cause", err)
		}
	})
}
