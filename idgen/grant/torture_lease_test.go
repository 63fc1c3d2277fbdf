//go:build linux

package grant_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// leased is what grants are compared with: a generator whose number is leased for some time by the database's clock, and kept with
// heartbeats. A process that is stopped for longer has lost its number, and goes on with it until its next heartbeat is answered.
type leased struct {
	db        *sql.DB
	clock     string // the database's, in SQL, in microseconds
	holder    string
	options   []idgen.Option
	generator atomic.Pointer[idgen.Snowflake] // nil while there is no lease
	number    int                             // of the goroutine that keeps the lease
	all       [leases]*idgen.Snowflake        // of that goroutine: for the numbers that it has had
	stop      context.CancelFunc
	done      chan struct{} // closed when that has ended
}

var _ tortureSource = (*leased)(nil)

var errNoLease = errors.New("no number is leased")

const (
	leaseFor   = 600 * time.Millisecond
	leaseEvery = leaseFor / 3
	leaseBits  = 2
	leases     = 1 << leaseBits // so few numbers that there is always a process that waits for one
)

// leaseTable returns the statements that make a table of leases.
func leaseTable() []string {
	statements := []string{"CREATE TABLE leases (node BIGINT PRIMARY KEY, holder VARCHAR(40) NOT NULL, until_us BIGINT NOT NULL)"}
	for node := range leases {
		statements = append(statements, fmt.Sprintf("INSERT INTO leases (node, holder, until_us) VALUES (%d, '', 0)", node))
	}
	return statements
}

func openLeased(ctx context.Context, db *sql.DB, kind, holder string, options []idgen.Option) (*leased, error) {
	l := &leased{db: db, holder: holder, options: options, done: make(chan struct{}), clock: map[string]string{
		"mysql":    "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
		"postgres": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
		"sqlite":   "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000",
	}[kind]}
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.done)
		for ctx.Err() == nil {
			l.beat(ctx)
			torturePause(ctx, leaseEvery)
		}
	}()
	return l, nil
}

// beat renews the lease, or takes a number when there is none. While the database does not answer, the number is kept.
func (l *leased) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaseFor)
	defer cancel()
	until := fmt.Sprintf("%s + %d", l.clock, leaseFor.Microseconds())
	if l.generator.Load() != nil {
		renewed, err := l.change(ctx, "UPDATE leases SET until_us = %s WHERE node = %d AND holder = '%s'", until, l.number, l.holder)
		if err != nil || renewed {
			return
		}
		l.generator.Store(nil)
	}
	for _, node := range rand.Perm(leases) {
		taken, err := l.change(ctx, "UPDATE leases SET until_us = %s, holder = '%s' WHERE node = %d AND until_us < %s", until, l.holder, node, l.clock)
		if err != nil {
			return
		}
		if !taken {
			continue
		}
		if l.all[node] == nil {
			l.all[node], err = idgen.New(append(l.options[:len(l.options):len(l.options)], idgen.WithNode(int64(node)))...)
		}
		if err == nil {
			l.number = node
			l.generator.Store(l.all[node])
		}
		return
	}
}

func (l *leased) change(ctx context.Context, format string, args ...any) (bool, error) {
	result, err := l.db.ExecContext(ctx, fmt.Sprintf(format, args...))
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// Next is that of the generator.
func (l *leased) Next(ctx context.Context) (int64, error) {
	if g := l.generator.Load(); g != nil {
		return g.Next(ctx)
	}
	return 0, errNoLease
}

// Fill is that of the generator.
func (l *leased) Fill(ctx context.Context, ids []int64) error {
	if g := l.generator.Load(); g != nil {
		return g.Fill(ctx, ids)
	}
	return errNoLease
}

// Close ends the heartbeats; the lease ends by itself.
func (l *leased) Close() error {
	l.stop()
	<-l.done
	return nil
}
