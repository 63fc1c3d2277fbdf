package reshard

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// JournalTable is the table, in the database of the map, that says how far a plan is:
//
//	map      which map; the primary key
//	plan     as JSON
//	hash     of it
//	state    of the whole
//	steps    as JSON, what is known of each
//	runner   who is at work, or was
//	turn     counts the changes
//	changed  when, microseconds since 1970 by the database's clock
const JournalTable = "snowkey_shard_moves"

// The states of a plan and its steps.
const (
	statePlanned = "planned"
	stateCapture = "capture"
	stateCopy    = "copy"
	stateCatchUp = "catch up"
	stateCompare = "compare"
	stateFence   = "fence"
	stateDrain   = "drain"
	stateVerify  = "verify"
	stateFlip    = "flip"
	stateLease   = "lease"
	stateRemove  = "remove"
	stateDone    = "done"
	stateAbort   = "aborting"
	stateAborted = "aborted"
)

// stepRow is what the journal has of a step.
type stepRow struct {
	State  string `json:"state"`
	Cursor int64  `json:"cursor"` // up to which id rows were copied, or removed
	Upto   int64  `json:"upto"`   // the greatest id when the copy began
	Rows   int64  `json:"rows"`   // copied
}

// journalRow is a row of the journal.
type journalRow struct {
	plan   Plan
	hash   string
	state  string
	steps  []stepRow
	runner string
	turn   int64
	at     time.Time
}

// ended tells whether another plan may begin.
func (r *journalRow) ended() bool { return r.state == stateDone || r.state == stateAborted }

// flipped tells whether the next map is in force.
func (r *journalRow) flipped() bool {
	return r.state == stateLease || r.state == stateRemove || r.state == stateDone
}

// journal is the row of a map, and who writes it.
type journal struct {
	session *session
	row     journalRow
	name    string
	runner  string
}

var clocks = map[dialect.Dialect]string{
	dialect.MySQL:    "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
	dialect.Postgres: "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
	dialect.SQLite:   "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000",
}

const journalSelect = "SELECT plan, hash, state, steps, runner, turn, changed FROM " + JournalTable + " WHERE map = ?"

// readJournal returns the row of a map, nil when there is none.
func readJournal(ctx context.Context, db Database, name string) (*journalRow, error) {
	c, err := catalog.New(db.DB, db.Dialect)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	table, err := c.Outline(ctx, catalog.Name{Name: JournalTable})
	if err != nil || table == nil {
		return nil, err
	}
	return scanJournal(ctx, c, name)
}

func scanJournal(ctx context.Context, c *catalog.Catalog, name string) (row *journalRow, err error) {
	err = c.Each(ctx, c.Dialect().Bind(journalSelect), []any{name}, func(scan func(...any) error) error {
		row = &journalRow{}
		var plan, steps string
		var changed int64
		if err := scan(&plan, &row.hash, &row.state, &steps, &row.runner, &row.turn, &changed); err != nil {
			return err
		}
		row.at = time.UnixMicro(changed).UTC()
		if err := json.Unmarshal([]byte(plan), &row.plan); err != nil {
			return fmt.Errorf("the plan: %w", err)
		}
		return json.Unmarshal([]byte(steps), &row.steps)
	})
	if err != nil {
		return nil, fmt.Errorf("reshard: the journal of the map %q: %w", name, err)
	}
	return row, nil
}

// setup makes the table.
func (j *journal) setup(ctx context.Context) error {
	table, err := j.session.catalog.Outline(ctx, catalog.Name{Name: JournalTable})
	if err != nil || table != nil {
		return err
	}
	text, end := "text", ""
	if j.session.dialect == dialect.MySQL {
		text, end = "longtext", " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	create := j.session.execute(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (map varchar(64) NOT NULL PRIMARY KEY, plan %[2]s NOT NULL, hash varchar(64) NOT NULL, state varchar(16) NOT NULL, "+
		"steps %[2]s NOT NULL, runner varchar(64) NOT NULL, turn bigint NOT NULL, changed bigint NOT NULL)%[3]s", JournalTable, text, end))
	// Of processes that make a table at once, PostgreSQL lets some fail.
	if table, err := j.session.catalog.Outline(ctx, catalog.Name{Name: JournalTable}); err != nil || table != nil {
		return err
	}
	return create
}

// read returns the row of the map.
func (j *journal) read(ctx context.Context) (*journalRow, error) {
	return scanJournal(ctx, j.session.catalog, j.name)
}

// begin writes the row of a plan that begins.
func (j *journal) begin(ctx context.Context, p *Plan, before *journalRow) error {
	hash, text, err := p.hash()
	if err != nil {
		return err
	}
	j.runner = rand.Text()
	j.row = journalRow{plan: *p, hash: hash, state: statePlanned, runner: j.runner, turn: 1}
	for range p.Steps {
		j.row.steps = append(j.row.steps, stepRow{State: statePlanned})
	}
	steps, err := json.Marshal(j.row.steps)
	if err != nil {
		return err
	}
	clock := clocks[j.session.dialect]
	if before == nil {
		return j.change(ctx, "INSERT INTO "+JournalTable+" (map, plan, hash, state, steps, runner, turn, changed) VALUES (?, ?, ?, ?, ?, ?, 1, "+clock+")",
			j.name, text, hash, statePlanned, string(steps), j.runner)
	}
	j.row.turn = before.turn + 1
	return j.change(ctx, "UPDATE "+JournalTable+" SET plan = ?, hash = ?, state = ?, steps = ?, runner = ?, turn = turn + 1, changed = "+clock+" WHERE map = ? AND turn = ?",
		text, hash, statePlanned, string(steps), j.runner, j.name, before.turn)
}

// take goes on with a plan.
func (j *journal) take(ctx context.Context, row *journalRow) error {
	j.row, j.runner = *row, rand.Text()
	j.row.runner = j.runner
	j.row.turn++
	return j.change(ctx, "UPDATE "+JournalTable+" SET runner = ?, turn = turn + 1 WHERE map = ? AND turn = ?", j.runner, j.name, row.turn)
}

// save writes the states.
func (j *journal) save(ctx context.Context) error {
	steps, err := json.Marshal(j.row.steps)
	if err != nil {
		return err
	}
	return j.change(ctx, "UPDATE "+JournalTable+" SET state = ?, steps = ?, turn = turn + 1, changed = "+clocks[j.session.dialect]+" WHERE map = ? AND runner = ?",
		j.row.state, string(steps), j.name, j.runner)
}

// change runs a statement that has to change one row.
func (j *journal) change(ctx context.Context, statement string, args ...any) error {
	result, err := j.session.conn.ExecContext(ctx, j.session.dialect.Bind(statement), args...)
	if err != nil {
		return j.session.failed(err, "the journal")
	}
	changed, err := result.RowsAffected()
	if err == nil && changed != 1 {
		err = fmt.Errorf("%w: it has taken over the journal of the map %q", ErrOther, j.name)
	}
	return err
}

// mine makes sure that nobody has taken over, as may be on SQLite; within a transaction of it nobody does until it ends.
func (j *journal) mine(ctx context.Context) error {
	var runner sql.NullString
	err := j.session.each(ctx, j.session.dialect.Bind("SELECT runner FROM "+JournalTable+" WHERE map = ?"), func(scan func(...any) error) error { return scan(&runner) }, j.name)
	if err == nil && runner.String != j.runner {
		err = fmt.Errorf("%w: it has taken over the journal of the map %q", ErrOther, j.name)
	}
	return err
}
