//go:build linux

package grant_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// tortureCopies is where the test keeps copies of the table of grants. Its columns have other names, so that it is none itself.
const (
	tortureCopies    = "kept_copy"
	tortureCopyTable = "CREATE TABLE " + tortureCopies + " (taken BIGINT NOT NULL, a VARCHAR(64) NOT NULL, b BIGINT NOT NULL, c VARCHAR(128) NOT NULL," +
		" d BIGINT NOT NULL, e BIGINT NOT NULL, f VARCHAR(255) NOT NULL)"
	tortureTakeCopy = "INSERT INTO " + tortureCopies + " (taken, a, b, c, d, e, f)" +
		" SELECT %d, space, node, holder, from_tick, until_tick, layout FROM snowkey_nodes"
	tortureRestoreCopy = "INSERT INTO snowkey_nodes (space, node, holder, from_tick, until_tick, layout)" +
		" SELECT a, b, c, d, e, f FROM " + tortureCopies + " WHERE taken = %d"
)

// The copies that are kept, and how old one is at least when it is restored. With the older ones all that was granted then has ended, and
// all numbers are granted a second time.
const (
	tortureKept      = 8
	tortureCopyEvery = 700 * time.Millisecond
	tortureCopyAge   = time.Second
)

// tableCopy is a copy of the table of grants.
type tableCopy struct {
	number  int
	taken   time.Time
	deleted int // rows
}

// session runs work on a connection of its own, again after errors, until it succeeds: the server may just be killed or paused, and a
// process that has stopped may hold a lock. Between the attempts the processes are tended to.
func (r *torture) session(doing string, work func(context.Context, *sql.Conn) error) {
	r.t.Helper()
	db, err := sql.Open(r.database.DriverName, r.database.DriverDSN)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close() // before the server is killed
	// A statement that waits for a lock gives up by itself: when its client gives up, MariaDB's goes on waiting.
	settings := map[string][]string{
		"sqlite":   {"PRAGMA busy_timeout = 1000"},
		"mysql":    {"SET SESSION lock_wait_timeout = 1, SESSION innodb_lock_wait_timeout = 1"},
		"postgres": {"SET lock_timeout = '1s'"},
	}[r.database.Kind]
	attempt := func() error {
		ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
		defer cancel()
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := execute(ctx, conn, settings...); err != nil {
			return err
		}
		return work(ctx, conn)
	}
	for deadline := time.Now().Add(torturePatience); ; {
		err := attempt()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: %v", doing, err)
		}
		r.rest(r.between(50*time.Millisecond, 200*time.Millisecond))
	}
}

func execute(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// transaction runs statements in one transaction.
func transaction(ctx context.Context, conn *sql.Conn, statements ...string) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", statement, err), tx.Rollback())
		}
	}
	return tx.Commit()
}

// takeCopy copies the table of grants.
func (r *torture) takeCopy() {
	r.t.Helper()
	r.taken++
	r.session("copying the table of grants", func(ctx context.Context, conn *sql.Conn) error {
		var rows int
		err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM snowkey_nodes").Scan(&rows)
		if err != nil || rows == 0 {
			return errors.Join(errors.New("there are no rows"), err)
		}
		return transaction(ctx, conn, fmt.Sprintf("DELETE FROM %s WHERE taken = %d OR taken <= %d", tortureCopies, r.taken, r.taken-tortureKept),
			fmt.Sprintf(tortureTakeCopy, r.taken))
	})
	r.copies = append(r.copies, tableCopy{r.taken, time.Now(), r.deleted})
	r.copies = r.copies[max(0, len(r.copies)-tortureKept):]
}

// pick returns a copy that is old enough to be restored, and whether there is one.
func (r *torture) pick() (tableCopy, bool) {
	n := 0
	for n < len(r.copies) && time.Since(r.copies[n].taken) > tortureCopyAge {
		n++
	}
	if n == 0 {
		return tableCopy{}, false
	}
	if r.random.IntN(2) == 0 {
		return r.copies[0], true
	}
	return r.copies[r.random.IntN(n)], true
}

// forget makes the store forget what it was told since a copy was taken, or all. The store's time is the machine's meanwhile, and never
// goes back before it again: grants of a store that has forgotten others begin after its time, so it must not be one that ids were made
// at already.
func (r *torture) forget(doing string, work func(context.Context, *sql.Conn) error) {
	r.t.Helper()
	r.clock.offset.Store(0)
	from := r.now()
	r.session("listing losses", r.recordedLosses)
	r.session(doing, work)
	until := r.now()
	r.floor = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgotten = append(r.forgotten, tickRange{from, until})
}

// restore puts a copy in place of the table's rows. Those that were taken later are of what is forgotten then.
func (r *torture) restore(from tableCopy) {
	r.t.Helper()
	r.forget("restoring the table of grants", func(ctx context.Context, conn *sql.Conn) error {
		return transaction(ctx, conn, "DELETE FROM snowkey_nodes", fmt.Sprintf(tortureRestoreCopy, from.number))
	})
	r.copies = slices.DeleteFunc(r.copies, func(c tableCopy) bool { return c.number > from.number })
	r.deleted = from.deleted
}

// restoreEnded restores the table as it is to be done: all processes end, or are killed, before that. No id may come twice.
func (r *torture) restoreEnded(from tableCopy) {
	r.t.Helper()
	var ending []*tortureChild
	for _, c := range r.running {
		if c.stopped || r.random.IntN(2) == 0 {
			_ = c.cmd.Process.Kill()
		} else {
			_ = c.stdin.Close()
			ending = append(ending, c)
		}
	}
	for _, c := range r.running {
		if slices.Contains(ending, c) {
			r.end(c)
		} else {
			r.kill(c)
		}
	}
	r.running = nil
	r.restore(from)
	r.ended = append(r.ended, r.started)
	for range tortureChildren {
		r.running = append(r.running, r.start(r.slight()))
	}
}

// drop drops the table, which the processes make again.
func (r *torture) drop() {
	r.t.Helper()
	r.forget("dropping the table of grants", func(ctx context.Context, conn *sql.Conn) error {
		return execute(ctx, conn, "DROP TABLE IF EXISTS snowkey_nodes")
	})
	r.copies, r.deleted = nil, 0
}

// deleteRow deletes a number's row.
func (r *torture) deleteRow() {
	r.t.Helper()
	r.session("deleting a row", func(ctx context.Context, conn *sql.Conn) error {
		var nodes []int64
		rows, err := conn.QueryContext(ctx, "SELECT node FROM snowkey_nodes WHERE node >= 0")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var node int64
			if err := rows.Scan(&node); err != nil {
				return err
			}
			nodes = append(nodes, node)
		}
		if err := rows.Err(); err != nil || len(nodes) == 0 {
			return errors.Join(errors.New("there are no rows"), err)
		}
		return execute(ctx, conn, fmt.Sprintf("DELETE FROM snowkey_nodes WHERE node = %d", nodes[r.random.IntN(len(nodes))]))
	})
	r.deleted++
}

// recordedLosses reads what the table has of losses.
func (r *torture) recordedLosses(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, "SELECT holder, from_tick, until_tick, layout FROM snowkey_nodes WHERE node < -2")
	if err != nil {
		return nil // there is no table just now; the errors of a server are found by what comes next
	}
	defer rows.Close()
	for rows.Next() {
		var holder, text string
		var number int64
		var ticks tickRange
		if err := rows.Scan(&holder, &ticks.from, &ticks.until, &text); err != nil {
			return err
		}
		if _, err := fmt.Sscanf(text, "lost number %d", &number); err != nil {
			return fmt.Errorf("the recorded loss %q: %w", text, err)
		}
		r.mu.Lock()
		r.recorded[tortureLoss{number, holder, ticks}] = true
		r.mu.Unlock()
	}
	return rows.Err()
}
