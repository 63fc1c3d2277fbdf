package run

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// CounterWarnings says, after a rollback, for which of the plan's keys the database goes on from a snowflake, at which number, and
// what has it go on from the old ids. MySQL and MariaDB do so, whose AUTO_INCREMENT is never below the greatest id, and
// SQLite; PostgreSQL does not, whose sequences see no id that is given.
func CounterWarnings(ctx context.Context, db *sql.DB, p *plan.Plan) (warnings []string, err error) {
	r, err := newRunner(db, p)
	if err != nil || r.dialect == dialect.Postgres {
		return nil, err
	}
	c := r.catalog
	for _, k := range p.Keys {
		name, err := catalog.Parse(k.Table)
		if err != nil {
			return nil, err
		}
		t, err := c.Table(ctx, name)
		if err != nil {
			return nil, err
		}
		if t == nil || t.Column(k.Column, false) == nil || !t.Counts(t.Column(k.Column, false)) {
			continue
		}
		var old, greatest int64
		column, table := c.Quote(k.Column), c.Quoted(t.Name)
		query := fmt.Sprintf("SELECT COALESCE((SELECT MAX(%[1]s) FROM %[2]s WHERE %[1]s < %[3]d), 0), COALESCE((SELECT MAX(%[1]s) FROM %[2]s), 0)", column, table, k.Below)
		if err := db.QueryRowContext(ctx, query).Scan(&old, &greatest); err != nil {
			return nil, fmt.Errorf("run: which number %s gets next: %w", k.Table, err)
		}
		next := max(t.Next, greatest+1)
		if next <= k.Below || k.Next > k.Below { // it was there before
			continue
		}
		old = max(old, k.Next-1)
		text := fmt.Sprintf("%s.%s: rows without a key get the number %d next, which programs with keys of 32 bits cannot read", k.Table, k.Column, next)
		if greatest >= k.Below {
			text += fmt.Sprintf(": the database goes on from the greatest id. Rows with ids from %d on came since the plan was run, or had such ids before. Without them it", k.Below)
		} else {
			text += ", though no row has such an id any more. The database"
		}
		switch {
		case r.dialect == dialect.MySQL:
			text += fmt.Sprintf(" goes on at %d after: ALTER TABLE %s AUTO_INCREMENT = %[1]d", old+1, table)
		case t.Column(k.Column, false).Auto != "":
			text += fmt.Sprintf(" goes on at %d after: UPDATE %s.sqlite_sequence SET seq = %d WHERE name = '%s'", old+1, c.Quote(t.Full.Schema), old, strings.ReplaceAll(t.Full.Name, "'", "''"))
		default:
			text += fmt.Sprintf(" goes on at %d", old+1)
		}
		warnings = append(warnings, text)
	}
	return warnings, nil
}
