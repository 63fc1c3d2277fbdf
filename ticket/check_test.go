package ticket_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/ticket"
)

// wantRefused tests that a source gives no id because of an error.
func wantRefused(t *testing.T, source *ticket.Tickets, want error) {
	t.Helper()
	id, err := source.Next(context.Background())
	if !errors.Is(err, want) || !errors.Is(err, ticket.ErrUnavailable) {
		t.Errorf("got %d, %v, want %v", id, err, want)
	}
}

// TestCheckTables has tables that were made or changed by hand.
func TestCheckTables(t *testing.T) {
	t.Parallel()
	const mysql = "CREATE TABLE snowkey_tickets (id %s, stub %s NOT NULL, layout varchar(32) NOT NULL%s) ENGINE = %s"
	const row = "INSERT INTO snowkey_tickets (stub, layout) VALUES ('default', '1/1')"
	sequence := func(options string) []string {
		return []string{`CREATE SEQUENCE "snowkey_tickets.default" ` + options}
	}
	tests := []struct {
		name   string
		system system
		make   []string
		want   error // nil is a warning
		text   string
		unsafe bool // AllowUnsafe makes a warning of it
	}{
		{"no unique key", mysqlKind, []string{fmt.Sprintf(mysql, "bigint unsigned NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (id)", "InnoDB"), row},
			ticket.ErrTable, "no unique key on stub", false},
		{"a unique key on more", mysqlKind, []string{fmt.Sprintf(mysql, "bigint unsigned NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (id), UNIQUE KEY (stub, layout)", "InnoDB"), row},
			ticket.ErrTable, "no unique key on stub", false},
		{"MyISAM", mysqlKind, []string{fmt.Sprintf(mysql, "bigint unsigned NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (stub), UNIQUE KEY (id)", "MyISAM"), row},
			ticket.ErrUnsafe, "MyISAM", true},
		{"MEMORY", mysqlKind, []string{fmt.Sprintf(mysql, "bigint unsigned NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (stub), UNIQUE KEY (id)", "MEMORY"), row},
			ticket.ErrUnsafe, "MEMORY", true},
		{"int", mysqlKind, []string{fmt.Sprintf(mysql, "int NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (stub), UNIQUE KEY (id)", "InnoDB"), row},
			nil, "ends at 2147483647", false},
		{"double", mysqlKind, []string{fmt.Sprintf(mysql, "double NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (stub), UNIQUE KEY (id)", "InnoDB"), row},
			ticket.ErrTable, "of the type double", false},
		{"char(1)", mysqlKind, []string{fmt.Sprintf(mysql, "bigint unsigned NOT NULL AUTO_INCREMENT", "char(1)", ", PRIMARY KEY (stub), UNIQUE KEY (id)", "InnoDB")},
			ticket.ErrTable, "holds 1 characters", false},
		{"other columns", mysqlKind, []string{"CREATE TABLE snowkey_tickets (number bigint)"}, ticket.ErrTable, "not the columns id and stub", false},
		{"another layout", mysqlKind, []string{fmt.Sprintf(mysql, "bigint unsigned NOT NULL AUTO_INCREMENT", "varchar(64)", ", PRIMARY KEY (stub), UNIQUE KEY (id)", "InnoDB"),
			strings.Replace(row, "1/1", "1/2", 1)}, ticket.ErrLayout, "want 2 and 1", false},
		{"not AUTOINCREMENT", sqliteKind, []string{"CREATE TABLE snowkey_tickets (id integer PRIMARY KEY, stub text NOT NULL UNIQUE, layout text NOT NULL)", row},
			ticket.ErrTable, "not AUTOINCREMENT", false},
		{"no unique key", sqliteKind, []string{"CREATE TABLE snowkey_tickets (id integer PRIMARY KEY AUTOINCREMENT, stub text NOT NULL, layout text NOT NULL)", row},
			ticket.ErrTable, "no unique key on stub", false},
		{"a partial key", sqliteKind, []string{"CREATE TABLE snowkey_tickets (id integer PRIMARY KEY AUTOINCREMENT, stub text NOT NULL, layout text NOT NULL)",
			"CREATE UNIQUE INDEX some ON snowkey_tickets (stub) WHERE id < 5", row}, ticket.ErrTable, "no unique key on stub", false},
		{"CYCLE", postgresKind, sequence("CYCLE"), ticket.ErrLayout, "begins anew", false},
		{"CACHE", postgresKind, sequence("CACHE 100"), ticket.ErrLayout, "CACHE 100", false},
		{"UNLOGGED", postgresKind, []string{`CREATE UNLOGGED SEQUENCE "snowkey_tickets.default"`}, ticket.ErrUnsafe, "not logged", true},
		{"downwards", postgresKind, sequence("INCREMENT BY -1"), ticket.ErrLayout, "INCREMENT BY -1", false},
		{"integer", postgresKind, sequence("AS integer"), nil, "", false},
		{"another comment", postgresKind, append(sequence("INCREMENT BY 2"), `COMMENT ON SEQUENCE "snowkey_tickets.default" IS '1/1'`), ticket.ErrLayout, "its comment says", false},
	}
	for _, test := range tests {
		t.Run(test.system.String()+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			d := test.system.database(t)
			execute(t, open(t, d), test.make...)
			source := sourceOf(t, quick(ticket.Config{}), d)
			if test.want == nil {
				if test.text != "" {
					wantFinding(t, source, nil, test.text)
				}
				r := newRecorder(t)
				r.draw("with a warning", source, 20)
				return
			}
			wantFinding(t, source, test.want, test.text)
			wantRefused(t, source, test.want)
			loose := sourceOf(t, quick(ticket.Config{AllowUnsafe: true}), d)
			if test.unsafe {
				wantFinding(t, loose, nil, test.text)
				newRecorder(t).draw("unsafe", loose, 20)
			} else {
				wantRefused(t, loose, test.want)
			}
			if errors.Is(test.want, ticket.ErrTable) {
				if err := source.Setup(t.Context()); !errors.Is(err, ticket.ErrTable) {
					t.Errorf("Setup: got %v, want ErrTable", err)
				}
			}
		})
	}
}

// TestCheckCycledUnderWay has a SEQUENCE changed while it is drawn from, so that it begins anew.
func TestCheckCycledUnderWay(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	d, r, config := dbtest.Postgres(t), newRecorder(t), quick(ticket.Config{})
	server := serverOf(t, d)
	source := flickr(t, config, server)
	mustSetUp(t, source)
	r.draw("before", source, 50)
	execute(t, server.DB, `ALTER SEQUENCE "snowkey_tickets.default" MAXVALUE 60 CYCLE`)
	for range 30 {
		id, err := source.Next(context.Background())
		if err == nil {
			r.add("until the end", id)
			continue
		}
		if !errors.Is(err, ticket.ErrRegression) && !errors.Is(err, ticket.ErrLayout) {
			t.Fatalf("got %v, want ErrRegression or ErrLayout", err)
		}
		break
	}
	wantRefused(t, source, ticket.ErrLayout) // by now CYCLE is known
	wantRefused(t, sourceOf(t, config, d), ticket.ErrLayout)
}

// TestCheckFlush has a server whose commits do not wait for the disk: from its start, and from some time on.
func TestCheckFlush(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartMySQL(t, "--innodb-flush-log-at-trx-commit=0")
	d := server.Database(t)
	admin := open(t, d)
	set := func(t *testing.T, value int) {
		t.Helper()
		execute(t, admin, fmt.Sprintf("SET GLOBAL innodb_flush_log_at_trx_commit = %d", value))
	}
	t.Run("at the start", func(t *testing.T) {
		source := setUp(t, quick(ticket.Config{Sequence: "start"}), d)
		for _, value := range []int{0, 2} {
			set(t, value)
			wantFinding(t, source, ticket.ErrUnsafe, fmt.Sprintf("innodb_flush_log_at_trx_commit is %d", value))
			_ = source.Readmit("server 1")
			wantRefused(t, source, ticket.ErrUnsafe)
			if s := source.Stats().Servers[0]; s.State != ticket.Open {
				t.Errorf("got %+v, want it open", s)
			}
			loose := sourceOf(t, quick(ticket.Config{Sequence: "start", AllowUnsafe: true}), d)
			wantFinding(t, loose, nil, fmt.Sprintf("innodb_flush_log_at_trx_commit is %d", value))
			newRecorder(t).draw("unsafe", loose, 10)
		}
	})
	t.Run("under load", func(t *testing.T) {
		set(t, 1)
		r, config := newRecorder(t), quick(ticket.Config{})
		source := setUp(t, config, d)
		for _, value := range []int{0, 2} {
			load := r.load(fmt.Sprintf("until %d", value), source, 8)
			load.more(200)
			set(t, value)
			at := position(t, admin, ticket.MySQL) // of a statement that began before, at most 8 more
			eventually(t, "calls fail", func() bool { return load.failed.Load() >= 8 })
			load.stop()
			if now := position(t, admin, ticket.MySQL); now > at+8 {
				t.Errorf("%d numbers were drawn while commits did not wait for the disk", now-at)
			}
			wantRefused(t, source, ticket.ErrUnsafe)
			// Setup and Resize do not make it safe.
			if err := source.Resize(t.Context()); !errors.Is(err, ticket.ErrUnsafe) {
				t.Errorf("Resize: got %v, want ErrUnsafe", err)
			}
			set(t, 1)
			eventually(t, "the source goes on by itself", func() bool {
				id, err := source.Next(t.Context())
				if err == nil {
					r.add("after", id)
				}
				return err == nil
			})
			r.draw("after", source, 20)
		}
		set(t, 3) // MariaDB's, which waits twice
		r.draw("3", source, 20)
		set(t, 1)
	})
	t.Run("read-only", func(t *testing.T) {
		r, config := newRecorder(t), quick(ticket.Config{Sequence: "read"})
		source := setUp(t, config, d)
		r.draw("before", source, 10)
		name, _, _ := strings.Cut(d.DriverDSN[strings.LastIndex(d.DriverDSN, "/")+1:], "?")
		execute(t, admin, "CREATE USER plain@localhost", "GRANT SELECT, INSERT, UPDATE, DELETE ON "+name+".* TO plain@localhost")
		plain := withUser(d, "plain")
		user := sourceOf(t, config, plain)
		r.draw("a user without rights to make tables", user, 10)
		mustSetUp(t, user) // nothing is missing
		load := r.load("user", user, 4)
		load.more(100)
		execute(t, admin, "SET GLOBAL read_only = 1")
		wantFinding(t, user, nil, "read_only is on")
		ctx, cancel := context.WithTimeout(t.Context(), quickDeadline)
		defer cancel()
		eventually(t, "the server is left alone", func() bool { return user.Stats().Servers[0].State != ticket.Closed })
		if id, err := user.Next(ctx); !errors.Is(err, ticket.ErrReadOnly) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %d, %v, want ErrReadOnly until the deadline", id, err)
		}
		r.draw("one who may", source, 10)
		execute(t, admin, "SET GLOBAL read_only = 0")
		load.more(100)
		load.stop()
		execute(t, admin, "REVOKE INSERT, DELETE ON "+name+".* FROM plain@localhost")
		wantRefused(t, sourceOf(t, config, plain), ticket.ErrTable)
	})
}

// TestCheckPostgres has settings of a server and of its sessions.
func TestCheckPostgres(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	t.Run("fsync", func(t *testing.T) {
		d := dbtest.StartPostgres(t, "fsync=off", "full_page_writes=off").Database(t)
		source := setUp(t, quick(ticket.Config{}), d)
		wantFinding(t, source, ticket.ErrUnsafe, "fsync is off")
		wantFinding(t, source, nil, "full_page_writes is off")
		wantRefused(t, source, ticket.ErrUnsafe)
		loose := sourceOf(t, quick(ticket.Config{AllowUnsafe: true}), d)
		wantFinding(t, loose, nil, "fsync is off")
		newRecorder(t).draw("unsafe", loose, 10)
	})
	t.Run("read-only", func(t *testing.T) {
		d, r, config := dbtest.Postgres(t), newRecorder(t), quick(ticket.Config{})
		source := setUp(t, config, d)
		r.draw("before", source, 10)
		reader := flickr(t, config, serverOf(t, d, "default_transaction_read_only=on"))
		wantFinding(t, reader, ticket.ErrReadOnly, "default_transaction_read_only is on")
		if err := reasonOf(t, ticket.ErrReadOnly, reader.Next, none(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrReadOnly until the deadline", err)
		}
		if err := reader.Setup(t.Context()); !errors.Is(err, ticket.ErrReadOnly) {
			t.Errorf("Setup: got %v, want ErrReadOnly", err)
		}
		r.draw("after", source, 10)
	})
	t.Run("serializable", func(t *testing.T) {
		d, r, config := dbtest.Postgres(t), newRecorder(t), quick(ticket.Config{})
		source := flickr(t, config, serverOf(t, d, "default_transaction_isolation=serializable", "synchronous_commit=remote_apply"))
		mustSetUp(t, source)
		load := r.load("at once", source, 8)
		load.more(200)
		load.stop()
	})
}

// TestCheckSQLite has pragmas of its connections.
func TestCheckSQLite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		parameter string
		want      error
		text      string
		unsafe    bool
	}{
		{"_synchronous=OFF", ticket.ErrUnsafe, "synchronous is off", true},
		{"_synchronous=NORMAL", nil, "synchronous is normal", true},
		{"_query_only=1", ticket.ErrReadOnly, "query_only is on", false},
	} {
		t.Run(test.parameter, func(t *testing.T) {
			d, r, config := dbtest.SQLite(t), newRecorder(t), quick(ticket.Config{})
			r.draw("before", setUp(t, config, d), 10)
			source := flickr(t, config, serverOf(t, d, test.parameter))
			wantFinding(t, source, test.want, test.text)
			if test.want == nil {
				r.draw("with a warning", source, 10)
				return
			}
			_ = reasonOf(t, test.want, source.Next, none(t))
			if test.unsafe {
				config.AllowUnsafe = true
				loose := flickr(t, config, serverOf(t, d, test.parameter))
				wantFinding(t, loose, nil, test.text)
				r.draw("unsafe", loose, 10)
			}
		})
	}
}

// TestCheckCachedUnderWay has a SEQUENCE changed while it is drawn from, so that each session has numbers of its own.
func TestCheckCachedUnderWay(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	d, r, config := dbtest.Postgres(t), newRecorder(t), quick(ticket.Config{})
	server := serverOf(t, d)
	source := flickr(t, config, server)
	mustSetUp(t, source)
	load := r.load("throughout", source, 8)
	load.more(100)
	execute(t, server.DB, `ALTER SEQUENCE "snowkey_tickets.default" CACHE 100`)
	eventually(t, "numbers do not increase any more", func() bool { return source.Stats().Servers[0].State == ticket.Quarantined })
	load.stop()
	wantFinding(t, source, ticket.ErrLayout, "CACHE 100")
	execute(t, server.DB, `ALTER SEQUENCE "snowkey_tickets.default" CACHE 1`)
	must(t, source.Readmit("server 1"))
	r.draw("after", source, 50)
	r.draw("a new process", sourceOf(t, config, d), 50)
}
