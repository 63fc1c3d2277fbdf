package run

import (
	"context"
	"database/sql"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// For tests of what has no other way to be seen.
var (
	Bind         = bind
	Like         = like
	LagOfReplica = replicaLagOf
	Free         = free
)

// Never is the lag of a replica that does not replicate.
const Never = never

// Granted reports whether a line of SHOW GRANTS grants something on a table.
func Granted(line, want, schema, table string) bool {
	p, ok := parseGrant(line)
	return ok && p.covers(want, schema, table)
}

// LagOfStandbys is what a primary of PostgreSQL's tells.
func LagOfStandbys(ctx context.Context, db *sql.DB) (time.Duration, error) {
	return (&runner{db: db, dialect: dialect.Postgres}).standbyLag(ctx)
}

// BatchSizes returns the rows of the ranges that follow ranges of these times; a negative one met a lock.
func BatchSizes(target time.Duration, times ...time.Duration) (rows []int) {
	b := newBatchSize(Options{Target: target})
	for _, d := range times {
		if d < 0 {
			b.blocked()
		} else {
			b.took(d)
		}
		rows = append(rows, b.rows)
	}
	return rows
}
