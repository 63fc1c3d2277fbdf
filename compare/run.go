package compare

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"time"
)

// ErrConfig says that a setting of a run is out of its range.
var ErrConfig = errors.New("compare: invalid setting")

// ErrVerify says that a table does not hold what was inserted.
var ErrVerify = errors.New("compare: the rows are not all there")

// The limits of a run.
const (
	DefaultRows = 100_000
	MaxRows     = 100_000_000

	batch  = 1000 // rows an INSERT
	rounds = 25

	bursts    = 4 // of generated keys in a round
	burst     = 1000
	burstRest = 2 * time.Millisecond // so that the next burst finds a fresh tick

	cleanup = 30 * time.Second // to drop the tables after the context has ended
)

// Config says what to run.
type Config struct {
	Databases  []*Database
	Strategies []Strategy // nil: all
	Rows       int        // a table, 1 to MaxRows; 0: DefaultRows
	// Progress is told now and then, from the goroutine of Run, how many rows of all are inserted; nil: nobody is.
	Progress func(done, all int)
}

// Run measures the strategies on the databases, one database after the other. Its tables are dropped before it returns, also after an
// error or the end of the context.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Rows == 0 {
		c.Rows = DefaultRows
	}
	if c.Rows < 1 || c.Rows > MaxRows {
		return Result{}, fmt.Errorf("%w: %d rows, must be 1 to %d", ErrConfig, c.Rows, MaxRows)
	}
	if len(c.Strategies) == 0 {
		c.Strategies = Strategies()
	}
	result := Result{
		Schema: 1, Made: time.Now().UTC().Truncate(time.Second), Rows: c.Rows, Batch: min(batch, c.Rows), Rounds: min(rounds, c.Rows),
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()},
	}
	progress := progress{all: c.Rows * len(c.Strategies) * len(c.Databases), tell: c.Progress}
	for _, d := range c.Databases {
		r := run{database: d, rows: c.Rows, progress: &progress}
		measured, err := r.measure(ctx, c.Strategies)
		if err != nil {
			return Result{}, fmt.Errorf("compare: on %s: %w", d.dsn, err)
		}
		result.Database = append(result.Database, measured)
	}
	return result, nil
}

type progress struct {
	done, all int
	tell      func(done, all int)
}

func (p *progress) add(n int) {
	p.done += n
	if p.tell != nil {
		p.tell(p.done, p.all)
	}
}

// run measures on one database.
type run struct {
	database *Database
	rows     int
	progress *progress
	entrants []*entrant
}

// entrant is a strategy with its table and its figures.
type entrant struct {
	Table
	name   string
	result StrategyResult
}

func (r *run) measure(ctx context.Context, strategies []Strategy) (result DatabaseResult, err error) {
	version, settings, err := r.database.describe(ctx)
	if err != nil {
		return DatabaseResult{}, err
	}
	defer func() { err = errors.Join(err, r.dropTables(ctx)) }()
	if err := r.makeTables(ctx, strategies); err != nil {
		return DatabaseResult{}, err
	}
	if err := r.rounds(ctx); err != nil {
		return DatabaseResult{}, err
	}
	result = DatabaseResult{DSN: r.database.dsn.String(), Kind: r.database.dsn.Kind, Version: version, Settings: settings}
	for _, e := range r.entrants {
		if err := r.weigh(ctx, e); err != nil {
			return DatabaseResult{}, fmt.Errorf("%s: %w", e.result.Name, err)
		}
		result.Strategies = append(result.Strategies, e.result)
	}
	return result, nil
}

func (r *run) makeTables(ctx context.Context, strategies []Strategy) error {
	suffix := make([]byte, 4)
	_, _ = rand.Read(suffix) // never fails
	if err := r.tryRights(ctx, fmt.Sprintf("snowkey_compare_rights_%x", suffix)); err != nil {
		return err
	}
	for _, s := range strategies {
		e := &entrant{
			name:   fmt.Sprintf("snowkey_compare_%s_%x", s.Name(), suffix),
			result: StrategyResult{Name: s.Name(), About: s.About(), Limit: s.Limit()},
		}
		r.entrants = append(r.entrants, e) // before it is made: a table half made is dropped too
		session, err := r.database.session()
		if err != nil {
			return err
		}
		table, err := s.Open(ctx, session, e.name)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		e.Table = table
	}
	return nil
}

// dropTables drops the tables even when the context has ended.
func (r *run) dropTables(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var failed error
	for _, e := range r.entrants {
		tables := r.database.db.WithContext(ctx).Migrator()
		// A table that could not be made is only there when it was half made; one that was made is, whatever the database says now.
		if err := tables.DropTable(e.name); err != nil && (e.Table != nil || tables.HasTable(e.name)) {
			failed = errors.Join(failed, fmt.Errorf("the table %s is left behind: %w", e.name, err))
		}
	}
	return failed
}

// tryRights makes a table and drops it again, so that a user who may not do both learns it before the work and not after it.
func (r *run) tryRights(ctx context.Context, name string) error {
	db := r.database.db.WithContext(ctx)
	if err := db.Exec("CREATE TABLE " + name + " (id INTEGER)").Error; err != nil {
		return fmt.Errorf("create a table: %w", err)
	}
	drop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	if err := db.WithContext(drop).Exec("DROP TABLE " + name).Error; err != nil {
		return fmt.Errorf("drop the table %s, which is empty and left behind: %w", name, err)
	}
	return nil
}

// rounds inserts the rows into all tables in turns, and generates keys in between.
func (r *run) rounds(ctx context.Context) error {
	orders := newOrders()
	n := min(rounds, r.rows)
	for round := range n {
		rows := orders.make(r.rows*(round+1)/n - r.rows*round/n)
		for i := range r.entrants {
			e := r.entrants[(i+round)%len(r.entrants)]
			if err := r.generate(ctx, e); err != nil {
				return fmt.Errorf("%s: generate keys: %w", e.result.Name, err)
			}
			if err := r.insert(ctx, e, rows); err != nil {
				return fmt.Errorf("%s: insert: %w", e.result.Name, err)
			}
		}
	}
	return nil
}

func (r *run) insert(ctx context.Context, e *entrant, rows []Order) error {
	var took time.Duration
	for at := 0; at < len(rows); at += batch {
		part := rows[at:min(at+batch, len(rows))]
		start := time.Now()
		if err := e.Insert(ctx, part); err != nil {
			return err
		}
		took += time.Since(start)
		r.progress.add(len(part))
	}
	e.result.RowsPerSecond = append(e.result.RowsPerSecond, float64(len(rows))/took.Seconds())
	return nil
}

func (r *run) generate(ctx context.Context, e *entrant) error {
	var took time.Duration
	for range bursts {
		start := time.Now()
		err := e.Generate(ctx, burst)
		took += time.Since(start)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(burstRest):
		}
	}
	e.result.GenerationNS = append(e.result.GenerationNS, float64(took.Nanoseconds())/(bursts*burst))
	return nil
}

// weigh counts the rows of a table, which its primary key makes different ones, and takes its size.
func (r *run) weigh(ctx context.Context, e *entrant) error {
	var rows int64
	if err := r.database.db.WithContext(ctx).Table(e.name).Count(&rows).Error; err != nil {
		return err
	}
	if rows != int64(r.rows) {
		return fmt.Errorf("%w: the table holds %d, want %d", ErrVerify, rows, r.rows)
	}
	size, err := r.database.size(ctx, e.name)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		e.result.NoSize = err.Error()
		return nil
	}
	e.result.TableBytes, e.result.IndexBytes = size.table, size.indexes
	return nil
}

// orders makes the same rows in each run.
type orders struct {
	random *mathrand.Rand
	at     time.Time
}

func newOrders() *orders {
	return &orders{random: mathrand.New(mathrand.NewPCG(2025, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (o *orders) make(n int) []Order {
	rows := make([]Order, n)
	for i := range rows {
		o.at = o.at.Add(time.Duration(o.random.Int64N(int64(time.Second)))).Truncate(time.Millisecond)
		rows[i] = Order{
			CustomerID: o.random.Int64N(50_000),
			Status:     [...]string{"open", "paid", "shipped", "returned"}[o.random.IntN(4)],
			Total:      o.random.Int64N(500_00),
			CreatedAt:  o.at,
		}
	}
	return rows
}
