package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// never is the lag of a replica that does not replicate.
const never = time.Duration(1<<63 - 1)

// awaitReplicas waits until no replica lags by more than Options.MaxLag.
func (r *runner) awaitReplicas(ctx context.Context) error {
	for r.o.MaxLag > 0 && r.dialect != dialect.SQLite {
		lag, err := r.replicaLag(ctx)
		if err != nil {
			return fmt.Errorf("the lag of replicas: %w", err)
		}
		if lag <= r.o.MaxLag {
			return nil
		}
		if lag == never {
			r.progress.waits("a replica that does not replicate")
		} else {
			r.progress.waits(fmt.Sprintf("a replica that is %s behind", lag.Round(time.Millisecond)))
		}
		if err := dialect.Sleep(ctx, min(max(r.o.MaxLag/4, 50*time.Millisecond), time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// replicaLag returns that of the replica which lags most.
func (r *runner) replicaLag(ctx context.Context) (most time.Duration, err error) {
	if r.dialect == dialect.Postgres {
		return r.standbyLag(ctx)
	}
	for i, replica := range r.o.Replicas {
		lag, err := replicaLagOf(ctx, replica)
		if err != nil {
			return 0, fmt.Errorf("replica %d: %w", i+1, err)
		}
		most = max(most, lag)
	}
	return most, nil
}

// standbyLag asks the primary. A standby that has replayed all has no replay_lag when nothing comes; one that has not, and has none, is
// stuck. A user who may not see others' connections sees NULLs only.
func (r *runner) standbyLag(ctx context.Context) (most time.Duration, err error) {
	const query = "SELECT state IS NULL, CASE WHEN replay_lsn >= pg_current_wal_lsn() THEN 0" +
		" ELSE CAST(extract(epoch FROM replay_lag) * 1000000 AS bigint) END FROM pg_stat_replication WHERE state IS NULL OR state <> 'backup'"
	err = dialect.Each(ctx, r.db, query, nil, func(rows *sql.Rows) error {
		var hidden bool
		var micros sql.NullInt64
		if err := rows.Scan(&hidden, &micros); err != nil {
			return err
		}
		switch {
		case hidden:
			return fmt.Errorf("%w: MaxLag needs the role pg_monitor to see it", ErrRights)
		case !micros.Valid:
			most = never
		default:
			most = max(most, time.Duration(micros.Int64)*time.Microsecond)
		}
		return nil
	})
	return most, err
}

// replicaLagOf asks a replica of MySQL's, by the newer name of the statement or the older one.
func replicaLagOf(ctx context.Context, db *sql.DB) (most time.Duration, err error) {
	found := false
	read := func(rows *sql.Rows) error {
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		values, targets := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, name := range names {
			if name != "Seconds_Behind_Source" && name != "Seconds_Behind_Master" {
				continue
			}
			found = true
			if values[i] == nil {
				most = never
				continue
			}
			seconds, err := strconv.ParseInt(string(values[i]), 10, 32)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			most = max(most, time.Duration(seconds)*time.Second)
		}
		return nil
	}
	err = dialect.Each(ctx, db, "SHOW REPLICA STATUS", nil, read)
	if dialect.MySQL.Code(err) == "1064" {
		err = dialect.Each(ctx, db, "SHOW SLAVE STATUS", nil, read)
	}
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, errors.New("it is no replica, or tells no lag")
	}
	return most, nil
}
