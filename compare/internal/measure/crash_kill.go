package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/compare/strategy"
)

// kill is one kill, with what comes before and after it.
type kill struct {
	strategy strategy.Strategy
	open     func(context.Context) (Application, error)
	server   Server
	CrashOptions
	number int
	wait   time.Duration // before it

	began   time.Time
	first   []drawn // by which it was seen that keys come
	drawers []*drawer
	ends    []func() error // of what was opened, the last first
	at      timestamps
}

// timestamps are those of a kill, counted from when drawing began.
type timestamps struct {
	killed time.Duration // Kill was called
	up     time.Duration // Start returned
}

// run does it, and closes all that it has opened.
func (k *kill) run(ctx context.Context) (seen crashed, err error) {
	k.began = time.Now()
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.openProcesses(ctx); err != nil {
		return crashed{}, err
	}
	stop := k.begin(ctx, k.drawers)
	stuck, err := k.crash(ctx)
	stop()
	if err != nil {
		return crashed{}, err
	}
	old := k.drawers
	if stuck == "" && old[0].table == nil {
		if err := k.restart(ctx); err != nil {
			return crashed{}, err
		}
	}
	seen = k.reckon(old)
	seen.stuck = stuck
	return seen, nil
}

// crash kills the server amid the drawing, starts it, and returns when keys have flowed again for a while, or says why they do not.
func (k *kill) crash(ctx context.Context) (stuck string, err error) {
	if why, err := k.flow(ctx, 0); err != nil {
		return "", err
	} else if why != "" {
		return "", fmt.Errorf("before it: %s", why)
	}
	if err := sleep(ctx, k.wait); err != nil {
		return "", err
	}
	m := &k.at
	m.killed = time.Since(k.began)
	if err := k.server.Kill(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrServer, err)
	}
	interrupted := sleep(ctx, k.Down)        // from when it is gone: killing takes a while on a busy machine
	if err := k.server.Start(); err != nil { // even when interrupted: what was made on it is to be dropped
		return "", errors.Join(fmt.Errorf("%w: it did not come back: %w", ErrServer, err), interrupted)
	}
	m.up = time.Since(k.began)
	if interrupted != nil {
		return "", interrupted
	}
	why, err := k.flow(ctx, m.up)
	if err != nil {
		return "", err
	}
	if why != "" {
		return fmt.Sprintf("after kill %d, with the server back: %s", k.number+1, why), nil
	}
	return "", sleep(ctx, k.After)
}

// restart closes the processes, and opens and draws from new ones.
func (k *kill) restart(ctx context.Context) error {
	if err := k.close(); err != nil {
		return err
	}
	old := len(k.drawers)
	if err := k.openProcesses(ctx); err != nil {
		return fmt.Errorf("the restarted application: %w", err)
	}
	defer k.begin(ctx, k.drawers[old:])()
	if why, err := k.flow(ctx, 0); err != nil {
		return err
	} else if why != "" {
		return fmt.Errorf("the restarted application: %s", why)
	}
	return sleep(ctx, k.After)
}

// processes are those of the application.
const processes = 2

// openProcesses opens the processes one after the other, and adds their drawers.
func (k *kill) openProcesses(ctx context.Context) error {
	for process := range processes {
		app, err := k.open(ctx)
		if err != nil {
			return err
		}
		if app.Close != nil {
			k.ends = append(k.ends, func() error { app.Close(); return nil })
		}
		if app.Environment.Kind == "sqlite" {
			return errNoServer
		}
		app.Environment.Process, app.Environment.Processes = process, processes
		keys, err := k.strategy.Open(ctx, app.Environment)
		if err != nil {
			return err
		}
		k.ends = append(k.ends, k.ending(keys))
		byDatabase, err := k.tryKeys(ctx, keys)
		if err != nil {
			return err
		}
		for n := process; n < k.Goroutines; n += processes {
			d := &drawer{keys: keys}
			if byDatabase {
				if err := k.openTable(ctx, app, d, n); err != nil {
					return err
				}
			}
			k.drawers = append(k.drawers, d)
		}
		if process == processes-1 {
			return k.settle(ctx, app.Environment)
		}
	}
	return nil
}

// settle makes what was made in the database durable, by making and dropping a table. MariaDB does not wait for the disk for the one row of
// a new SEQUENCE: killed before something else is committed, it has a SEQUENCE without a row, which gives no numbers any more.
func (k *kill) settle(ctx context.Context, at strategy.Environment) error {
	if at.DB == nil {
		return nil
	}
	for _, statement := range []string{"CREATE TABLE " + at.Prefix + "_crash_settled (n INT)", "DROP TABLE " + at.Prefix + "_crash_settled"} {
		if _, err := at.DB.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// ending closes keys. Those that went through the kill may have had connections of their own, and closing a dead one fails.
func (k *kill) ending(keys strategy.Keys) func() error {
	before := k.at.killed
	return func() error {
		if err := keys.Close(); err != nil && k.at.killed == before {
			return fmt.Errorf("close a process: %w", err)
		}
		return nil
	}
}

// tryKeys asks for a key, to know whether the database makes them.
func (k *kill) tryKeys(ctx context.Context, keys strategy.Keys) (byDatabase bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	key, err := keys.Next(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	k.first = append(k.first, drawn{key, time.Since(k.began)})
	return false, nil
}

// openTable makes the table that the drawer inserts into. It is dropped when the processes are closed.
func (k *kill) openTable(ctx context.Context, app Application, d *drawer, n int) error {
	db, err := app.Session(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s_crash_%d_%d", app.Environment.Prefix, k.number, n)
	if d.table, err = d.keys.Table(ctx, db, name); err != nil {
		return err
	}
	d.scope, d.orders = n, strategy.NewOrders(k.Seed+uint64(n))
	k.ends = append(k.ends, func() error { return dropTable(ctx, db, name) })
	return nil
}

// dropTable drops a table, even when the context has ended.
func dropTable(ctx context.Context, db *gorm.DB, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	if err := db.WithContext(ctx).Migrator().DropTable(name); err != nil {
		return fmt.Errorf("drop the table %s: %w", name, err)
	}
	return nil
}

// close ends what was opened. A second call does nothing.
func (k *kill) close() error {
	var err error
	for len(k.ends) > 0 {
		last := k.ends[len(k.ends)-1]
		k.ends = k.ends[:len(k.ends)-1]
		err = errors.Join(err, last())
	}
	return err
}

// begin has the drawers draw until the function that it returns is called, which waits for them.
func (k *kill) begin(ctx context.Context, drawers []*drawer) (stop func()) {
	// No call is cut off by the end of drawing: its key would have been given, and not received.
	enough := make(chan struct{})
	var all sync.WaitGroup
	for _, d := range drawers {
		d.drawing = true
		all.Go(func() { d.draw(ctx, k.began, enough) })
	}
	return func() {
		close(enough)
		all.Wait()
		for _, d := range drawers {
			d.drawing = false
		}
	}
}

// flow waits until every drawer that draws has received a key after the moment, or says which error keeps one from it.
func (k *kill) flow(ctx context.Context, after time.Duration) (why string, err error) {
	began := time.Now()
	for _, d := range k.drawers {
		for d.drawing && time.Duration(d.latest.Load()) <= after {
			if time.Since(began) > k.Timeout {
				return fmt.Sprintf("no key for %v: %v", k.Timeout, d.failure()), nil
			}
			if err := sleep(ctx, retryPause); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}
