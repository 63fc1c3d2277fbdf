package partition

import (
	"context"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// SetClocks gives the keeper clocks of the test's: the database's, and its own.
func (k *Keeper) SetClocks(database, local func() time.Time) {
	k.clock = func(context.Context, dialect.Queryer) (time.Time, error) { return database(), nil }
	k.local = local
}

// OnStatement has a function called before each statement of a step. Its error ends the run.
func (k *Keeper) OnStatement(f func(step Step, statement int) error) { k.began = f }

// Start is the first instant of the period that an instant lies in.
func (e Every) Start(t time.Time, in *time.Location) time.Time { return e.start(t, in) }

// Next is that of the period after it.
func (e Every) Next(t time.Time, in *time.Location) time.Time { return e.next(t, in) }

// SetVersion has the keeper take the server for another one.
func (k *Keeper) SetVersion(version string) { k.version = version }

// PingEvery changes how often the connection is used while an archive function is at work.
func (k *Keeper) PingEvery(d time.Duration) { k.ping = d }
