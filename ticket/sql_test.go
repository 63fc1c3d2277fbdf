package ticket_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/ticket"
)

const (
	mysqlSettings = "SELECT @@autocommit, 0 /*M! + @@in_transaction */, @@read_only, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@binlog_format, " +
		"@@auto_increment_increment, @@auto_increment_offset, " +
		"@@global.autocommit, @@global.auto_increment_increment, @@global.auto_increment_offset, " +
		"0 /*M! + (SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME = 'WSREP_PROVIDER' AND VARIABLE_VALUE NOT IN ('', 'none')) */"

	postgresSettings = "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('default_transaction_read_only'), " +
		"(SELECT count(*) FROM pg_stat_replication AS r WHERE current_setting('synchronous_standby_names') = ''" +
		" AND (r.state IS NULL OR r.state = 'streaming' AND r.replay_lsn IS NOT NULL)" +
		" AND NOT EXISTS (SELECT FROM pg_replication_slots AS s WHERE s.slot_type = 'logical' AND s.active_pid = r.pid))"

	durable = "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"

	drawn = " FROM (SELECT nextval(CAST(CAST($1 AS text) AS regclass)) AS id) AS drawn"

	logged = " || CASE WHEN id IS NOT NULL AND (current_setting('synchronous_standby_names') <> '' OR pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn())" +
		" THEN CAST(pg_logical_emit_message(true, 'snowkey', '') AS text) ELSE '' END"
)

// locked is a block of PL/pgSQL during which nobody draws from the SEQUENCE.
func locked(object, work string) string {
	return strings.ReplaceAll(`DO $$ DECLARE
		last bigint;
		said text;
	BEGIN
		PERFORM set_config('synchronous_commit', 'on', true);
		ALTER SEQUENCE OBJECT NO CYCLE;
		SELECT last_value INTO last FROM OBJECT;
		SELECT COALESCE(obj_description('OBJECT'::regclass, 'pg_class'), '') INTO said;
		`, "OBJECT", object) + work + " END $$"
}

// sent is a statement with its parameters.
type sent []any

// statements are all that a server is sent, by what is done. Blanks and line breaks of them are one blank each.
type statements struct {
	name       string
	kind       kind
	number, of int
	unsafe     bool
	table      string
	bare       bool
	sends      map[string][]sent
}

// columnsOf are how many columns the answer to a query has, by a part of it.
var columnsOf = []struct {
	part  string
	count int
}{
	{"SELECT @@autocommit", 13},
	{"SELECT current_setting('fsync')", 4},
	{"SELECT id, set_config", 2},
	{"SELECT id FROM (SELECT nextval", 1},
	{"RETURNING next, set_config", 2},
	{"RETURNING next", 1},
	{"RETURNING set_config", 1},
}

// answered is the statement with an answer: ones.
func (s sent) answered() step {
	text := s[0].(string)
	for _, c := range columnsOf {
		if strings.Contains(text, c.part) {
			answer := slices.Repeat(values("1"), c.count)
			if text == mysqlSettings {
				answer[c.count-1] = "0" // no cluster
			}
			return queried(text, answer).with(s.args()...)
		}
	}
	return executed(text, 1, 1).with(s.args()...)
}

func (s sent) args() []driver.Value {
	if len(s) == 1 {
		return []driver.Value{}
	}
	return s[1].([]driver.Value)
}

func TestStatements(t *testing.T) {
	for _, all := range [][]statements{
		replaceMySQLStatements, replaceSQLiteStatements, sequenceStatements, blockMySQLStatements, blockPostgresStatements, blockSQLiteStatements,
	} {
		for _, s := range all {
			sends := maps.Clone(all[0].sends)
			maps.Copy(sends, s.sends)
			t.Run(s.name, func(t *testing.T) { s.test(t, sends) })
		}
	}
}

func (s statements) test(t *testing.T, sends map[string][]sent) {
	l, to, units := fmt.Sprintf("%d/%d", s.number, s.of), fmt.Sprintf("%d/%d", s.number, s.of+1), int64(1)
	if s.kind.blocks {
		l, to, units = l+"x100", to+"x100", 5
	}
	row := l
	if s.bare {
		row = ""
	}
	o := ticket.Order{Layout: l, Bare: s.bare, Units: units, High: 9000, Last: 500, Limit: math.MaxInt64}
	// counter has its own mock, which is sent just those statements.
	counter := func(t *testing.T, steps ...step) (ticket.Counter, *sql.Conn) {
		mocks := make([]*mock, s.of)
		for i := range mocks {
			mocks[i] = newMock(t)
		}
		m := mocks[s.number-1]
		m.expect(steps...)
		return s.kind.servers(t, ticket.Config{AllowUnsafe: s.unsafe, Table: s.table}, mocks...).Counter(s.number), m.conn()
	}
	for name, do := range map[string]func(context.Context, ticket.Counter, *sql.Conn) error{
		"draw": func(ctx context.Context, c ticket.Counter, conn *sql.Conn) error {
			_, err := c.Draw(ctx, conn, o)
			if s.kind == replaceMySQL { // the answer is for all: one row
				return nil
			}
			return err
		},
		"fence":     func(ctx context.Context, c ticket.Counter, conn *sql.Conn) error { return c.Fence(ctx, conn, o) },
		"preflight": func(ctx context.Context, c ticket.Counter, conn *sql.Conn) error { return c.Preflight(ctx, conn, to) },
		"freeze":    func(ctx context.Context, c ticket.Counter, conn *sql.Conn) error { return c.Freeze(ctx, conn, l, to) },
		"thaw":      func(ctx context.Context, c ticket.Counter, conn *sql.Conn) error { return c.Thaw(ctx, conn, to, 9000) },
	} {
		t.Run(name, func(t *testing.T) {
			var steps []step
			for _, statement := range sends[name] {
				steps = append(steps, statement.answered())
			}
			c, conn := counter(t, steps...)
			if err := do(t.Context(), c, conn); err != nil {
				t.Error(err)
			}
		})
	}
	if !s.bare { // the published table's is among the tests of inspect
		t.Run("inspect", func(t *testing.T) {
			c, conn := counter(t, s.kind.look(sends["inspect"], l)...)
			if _, _, err := c.Inspect(t.Context(), conn); err != nil {
				t.Error(err)
			}
		})
	}
	c, _ := counter(t)
	for name, got := range map[string][]string{
		"tables": c.Tables(), "row": c.Row(row, 0), "after": c.Row(row, 9000), "frozen": c.Row(">"+l, 0), "register": {c.Enter(2)},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, statement := range sends[name] {
				want = append(want, statement[0].(string))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}
