package run_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/internal/run"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// While another transaction holds a row that a batch needs, the run gives up after its attempts, and leaves the journal as far as it is. It
// goes on once the lock is free.
func TestRowLocked(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		before := w.contents(t)
		conn, err := w.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begin := w.of("BEGIN IMMEDIATE", "START TRANSACTION", "BEGIN")
		for _, text := range []string{begin, "UPDATE parent SET name = name WHERE id = 900", w.of("SELECT 1", "SELECT * FROM parent WHERE id = 900 FOR UPDATE", "SELECT 1")} {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		o := fast
		o.Attempts = 2
		var waited []string
		o.Progress = func(p run.Progress) {
			if p.Waits != "" {
				waited = append(waited, p.Waits)
			}
		}
		outcome, err := passing(run.Plan)(t.Context(), w.db, w.plan, o)
		if !errors.Is(err, run.ErrLocked) {
			t.Errorf("got %+v, %v, want ErrLocked", outcome, err)
		}
		if w.dialect != dialect.SQLite {
			if !strings.Contains(err.Error(), "run again goes on at step 5 of 11") {
				t.Errorf("got %v, want it to say how to go on", err)
			}
			if len(waited) == 0 {
				t.Error("nothing was said of the wait")
			}
			_, steps := w.journal(t)
			if len(steps) != 5 || steps[4].State != "begun" || steps[4].Rows == 0 {
				t.Errorf("got %+v, want step 5 begun, with some rows", steps)
			}
		}
		if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		w.run(t)
		finish(t, w.db, w.plan, run.Rollback)
		w.want(t, before)
	})
}

// While a transaction that has read a table stays open, DDL on it waits, and readers queue behind the wait. They come through while that
// transaction is open still, since the wait is given up.
func TestTableLocked(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"mysql", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			ddl := plan.Action{Kind: plan.Transactional, SQL: []string{"ALTER TABLE parent ADD COLUMN more int NULL"}}
			if w.dialect == dialect.MySQL {
				ddl = autocommit(ddl.SQL[0], "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'parent' AND column_name = 'more'", true)
			}
			w.plan.Steps = []plan.Step{{Title: "add a column", Do: ddl}}
			holder, err := w.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer holder.Rollback()
			if _, err := holder.ExecContext(t.Context(), "SELECT COUNT(*) FROM parent"); err != nil {
				t.Fatal(err)
			}
			started := make(chan struct{}, 100)
			db := w.through(t, func(query string, do func() error) error {
				if strings.HasPrefix(query, "ALTER TABLE") {
					started <- struct{}{}
				}
				return do()
			})
			ended := make(chan error)
			o := fast
			o.Attempts = 2
			go func() {
				_, err := run.Plan(t.Context(), db, w.plan, o)
				ended <- err
			}()
			<-started
			if got := w.number(t, "SELECT COUNT(*) FROM parent"); got != rowCount {
				t.Errorf("got %d rows", got)
			}
			if err := <-ended; !errors.Is(err, run.ErrLocked) {
				t.Errorf("got %v, want ErrLocked", err)
			}
			if err := holder.Rollback(); err != nil {
				t.Fatal(err)
			}
			w.run(t)
			w.number(t, "SELECT COUNT(more) FROM parent")
		})
	}
}
