package dialect_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// connect returns a connection of the test's own.
func connect(t *testing.T, d dbtest.Database) *sql.Conn {
	t.Helper()
	conn, err := d.Open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func execute(t *testing.T, conn *sql.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// What settings and tables mean, as servers show them. Which value is a finding is among the tests of package ticket, one by one.
func TestDurability(t *testing.T) {
	type want struct {
		refused, readOnly bool
		text              string
	}
	for _, test := range []struct {
		name     string
		dialect  dialect.Dialect
		database func(testing.TB) dbtest.Database
		set      []string // a session's, or the file's
		make     string
		wants    []want
	}{
		{"in order", dialect.MySQL, dbtest.MySQL, nil, "CREATE TABLE t (id int) ENGINE = InnoDB", nil},
		{"MyISAM", dialect.MySQL, dbtest.MySQL, nil, "CREATE TABLE t (id int) ENGINE = MyISAM", []want{{true, false, "engine MyISAM"}}},
		{"in order", dialect.Postgres, dbtest.Postgres, nil, "CREATE TABLE t (id int)", nil},
		{"UNLOGGED", dialect.Postgres, dbtest.Postgres, nil, "CREATE UNLOGGED TABLE t (id int)", []want{{true, false, "t is not logged"}}},
		{"read-only", dialect.Postgres, dbtest.Postgres, []string{"SET default_transaction_read_only = on"}, "CREATE TABLE t (id int)", []want{{true, true, "default_transaction_read_only"}}},
		{"in order", dialect.SQLite, dbtest.SQLite, nil, "CREATE TABLE t (id int)", nil},
		{"off", dialect.SQLite, dbtest.SQLite, []string{"PRAGMA synchronous = OFF", "PRAGMA query_only = 1"}, "CREATE TABLE t (id int)", []want{{true, false, "synchronous is off"}, {true, true, "query_only"}}},
		{"normal", dialect.SQLite, dbtest.SQLite, []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"}, "CREATE TABLE t (id int)", []want{{false, false, "synchronous is normal"}}},
	} {
		t.Run(test.dialect.String()+"/"+test.name, func(t *testing.T) {
			conn := connect(t, test.database(t))
			execute(t, conn, append([]string{test.make}, test.set...)...)
			got, err := test.dialect.Durability(t.Context(), conn, "")
			if err != nil {
				t.Fatal(err)
			}
			at, err := test.dialect.Locate(t.Context(), conn, "t")
			if err != nil {
				t.Fatal(err)
			}
			stored, err := test.dialect.Storage(t.Context(), conn, at.At)
			if err != nil {
				t.Fatal(err)
			}
			got = slices.DeleteFunc(append(got, stored...), func(f dialect.Finding) bool { return strings.HasPrefix(f.Text, "sync_binlog") }) // a server that the environment names
			if len(got) != len(test.wants) {
				t.Fatalf("got %+v, want %+v", got, test.wants)
			}
			for i, want := range test.wants {
				if f := got[i]; f.Refused != want.refused || f.ReadOnly != want.readOnly || !strings.Contains(f.Text, want.text) {
					t.Errorf("got %+v, want %+v", f, want)
				}
			}
		})
	}
}

func TestOne(t *testing.T) {
	conn := connect(t, dbtest.SQLite(t))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var got int
	for query, want := range map[string]error{
		"SELECT 7": nil, "SELECT 7 WHERE 0": sql.ErrNoRows, "SELECT 7 UNION ALL SELECT 8": dialect.ErrRows,
	} {
		if err := dialect.One(t.Context(), conn, query, nil, &got); !errors.Is(err, want) || want == nil && got != 7 {
			t.Errorf("%s: got %d, %v, want %v", query, got, err, want)
		}
	}
	if err := dialect.One(ended, conn, "SELECT 7", nil, &got); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := dialect.One(t.Context(), conn, "SELECT 7, 8", nil, &got); err == nil {
		t.Error("a column too many: got no error")
	}
}

// A standby that commits do not wait for is a warning, for an account that may see little of it too. What logical replication sends to is none that takes over.
func TestDurabilityStandby(t *testing.T) {
	dbtest.Long(t)
	primary := dbtest.StartPostgres(t, "wal_level=logical")
	d := primary.Database(t)
	admin := connect(t, d.Admin())
	execute(t, admin, "CREATE ROLE plain")
	plain := connect(t, d.Admin())
	execute(t, plain, "SET ROLE plain")
	standbys := func(want int) {
		t.Helper()
		for who, conn := range map[string]*sql.Conn{"superuser": admin, "plain": plain} {
			got, err := dialect.Postgres.Durability(t.Context(), conn, "")
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != min(want, 1) || want > 0 && (got[0].Refused || !strings.Contains(got[0].Text, fmt.Sprintf("standbys (%d)", want))) {
				t.Errorf("%s: got %+v, want the warning of %d standbys", who, got, want)
			}
		}
	}
	standbys(0)
	config, err := pgconn.ParseConfig(d.Admin().DriverDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["replication"] = "database"
	execute(t, admin, "SELECT pg_create_logical_replication_slot('changes', 'pgoutput')")
	receiver, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close(context.Background())
	receiver.Frontend().SendQuery(&pgproto3.Query{String: "START_REPLICATION SLOT changes LOGICAL 0/0 (proto_version '1', publication_names 'none')"})
	if err := receiver.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := receiver.ReceiveMessage(t.Context()); err != nil {
		t.Fatal(err)
	}
	var senders int
	if err := dialect.One(t.Context(), admin, "SELECT count(*) FROM pg_stat_replication", nil, &senders); err != nil || senders != 1 {
		t.Fatalf("got %d receivers of the log and the error %v, want one", senders, err)
	}
	standbys(0)
	dbtest.StartStandby(t, primary)
	for wait, replays := 0, false; !replays; wait++ { // the standby tells so soon after it has connected
		if err := dialect.One(t.Context(), admin, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE replay_lsn IS NOT NULL)", nil, &replays); err != nil || wait == 1000 {
			t.Fatalf("the standby replays nothing: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	standbys(1)
	primary.Follow(t, true)
	standbys(0)
	primary.Follow(t, false)
	standbys(1)
}
