package merge

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// journalTable is the table of Into that says how far each table of each database was copied.
const journalTable = "snowkey_merges"

// journal is what that table holds.
type journal struct {
	into  *side
	marks map[[2]string]*mark // by the database's source, and the table
}

// mark is how far a table of a database was copied.
type mark struct {
	upto   []any // the last key that was copied, nil at first
	swept  []any // the last key up to which all copies were looked at
	copied int64
	there  bool // there is a row of it
}

// own takes the lock of merges for the session that writes into Into. A merge that was killed has it for as long as the server is at work on
// its last transaction, whose rows would otherwise be found in a moment, and be taken for rows that clash. SQLite has nothing of a process
// that is gone.
func (j *journal) own(ctx context.Context, into *side) error {
	got, err := into.dialect.WaitLock(ctx, into.conn, dialect.MergeLock, lockWait)
	switch {
	case err != nil:
		return fmt.Errorf("merge: %s: %w", into.label, err)
	case !got:
		return fmt.Errorf("%w: another merge into %s is at work: wait for its end, and call Merge again", ErrRunning, into.label)
	}
	return nil
}

// lockWait is how long the lock is waited for.
const lockWait = 3 * time.Second

// open reads the journal. Unless the merge is a dry one it makes it first.
func (j *journal) open(ctx context.Context, into *side, dry bool) error {
	j.into, j.marks = into, map[[2]string]*mark{}
	if !dry {
		if err := j.own(ctx, into); err != nil {
			return err
		}
	}
	t, err := into.catalog.Outline(ctx, catalog.Name{Name: journalTable})
	if err != nil {
		return err
	}
	if t == nil {
		if dry {
			return nil
		}
		ddl := "CREATE TABLE IF NOT EXISTS " + journalTable + " (source VARCHAR(64) NOT NULL, name VARCHAR(255) NOT NULL, upto TEXT NOT NULL, swept TEXT NOT NULL, copied BIGINT NOT NULL, PRIMARY KEY (source, name))"
		if into.dialect == dialect.MySQL {
			ddl += " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
		}
		if _, err := into.conn.ExecContext(ctx, ddl); err != nil {
			return fmt.Errorf("merge: %s: the journal: %w", into.label, err)
		}
	}
	return into.each(ctx, into.statement("SELECT source, name, upto, swept, copied FROM "+journalTable), func(scan func(...any) error) error {
		var source, name, upto, swept string
		m := &mark{there: true}
		err := scan(&source, &name, &upto, &swept, &m.copied)
		if err == nil {
			m.upto, err = restore(upto)
		}
		if err == nil {
			m.swept, err = restore(swept)
		}
		j.marks[[2]string{source, name}] = m
		return err
	})
}

// of returns how far a table of a database was copied.
func (j *journal) of(s *side, t *table) *mark {
	at := [2]string{s.source, t.text}
	if j.marks[at] == nil {
		j.marks[at] = &mark{}
	}
	return j.marks[at]
}

// move writes within a transaction that a table was copied further; that it was as far as before makes sure that no other merge has.
func (j *journal) move(ctx context.Context, tx *sql.Tx, s *side, t *table, from *mark, to mark) error {
	upto, err := store(to.upto)
	if err != nil {
		return err
	}
	swept, err := store(to.swept)
	if err != nil {
		return err
	}
	q := j.into.statement()
	if from.there {
		q.bind("UPDATE "+journalTable+" SET upto = ?, swept = ?, copied = ? WHERE source = ? AND name = ? AND copied = ?", upto, swept, to.copied, s.source, t.text, from.copied)
	} else {
		q.bind("INSERT INTO "+journalTable+" (source, name, upto, swept, copied) VALUES (?, ?, ?, ?, ?)", s.source, t.text, upto, swept, to.copied)
	}
	result, err := tx.ExecContext(ctx, q.String(), q.args...)
	if err != nil {
		return fmt.Errorf("merge: the journal of %s: %w", t.text, err)
	}
	changed, err := result.RowsAffected()
	if err == nil && changed == 0 && to.copied != from.copied {
		err = fmt.Errorf("%w: another merge copies %s of %s meanwhile: wait for its end, and call Merge again", ErrCopied, t.text, s.label)
	}
	return err
}
