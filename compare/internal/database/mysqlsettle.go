package database

import (
	"context"
	"errors"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

const (
	// settleLimit bounds the wait for what is dirty.
	settleLimit = 10 * time.Second
	// settleStep lies between two looks, and settleStill looks without a change say that nothing is written back: InnoDB does so once a second.
	settleStep, settleStill = 50 * time.Millisecond, 22
	// settleFew are so few dirty pages that they slow nobody.
	settleFew = 16
)

// settle waits until nearly no page is dirty, or until their number no longer falls: many servers leave pages dirty while they have memory. The
// run's own server is told to write them back at once.
func (e mysqlEngine) settle(ctx context.Context) (err error) {
	if e.d.private {
		var before [4]string
		const query = "SELECT @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_max_dirty_pages_pct_lwm, @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max"
		if err := e.d.keys.QueryRowContext(ctx, query).Scan(&before[0], &before[1], &before[2], &before[3]); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := undoing(ctx)
			defer cancel()
			err = errors.Join(err, e.flushing(ctx, before))
		}()
		if err := e.flushing(ctx, [4]string{"0", "0", "20000", "40000"}); err != nil {
			return err
		}
		if err := e.checkpoint(ctx); err != nil {
			return err
		}
	}
	least, still := int64(1)<<62, 0
	for end := time.Now().Add(settleLimit); time.Now().Before(end) && still < settleStill; {
		status, err := e.status(ctx)
		if err != nil {
			return err
		}
		dirty := status["Innodb_buffer_pool_pages_dirty"]
		if dirty <= settleFew {
			return nil
		}
		if still++; dirty < least || e.d.private {
			least, still = dirty, 0
		}
		if err := dialect.Sleep(ctx, settleStep); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint has all that is dirty written back now, where the server has a setting for that, as MariaDB 10.11.19 has: otherwise it is done in
// steps, one a second. One that takes longer than [settleLimit] goes on without being waited for.
func (e mysqlEngine) checkpoint(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	_, err := e.d.keys.ExecContext(bounded, "SET GLOBAL innodb_log_checkpoint_now = ON")
	if dialect.MySQL.Code(err) == "1193" /* no such variable */ || ctx.Err() == nil && bounded.Err() != nil {
		return nil
	}
	return err
}

// flushing sets the share of dirty pages to keep, at most and at least, and the pages to write a second, usually and at most. The second of each
// pair comes last, as the server changes it with the first.
func (e mysqlEngine) flushing(ctx context.Context, to [4]string) (failed error) {
	for i, name := range []string{"innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm", "innodb_io_capacity", "innodb_io_capacity_max"} {
		if _, err := e.d.keys.ExecContext(ctx, "SET GLOBAL "+name+" = "+to[i]); err != nil {
			failed = errors.Join(failed, err) // what can be put back is
		}
	}
	return failed
}
