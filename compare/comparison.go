package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/snowkey-go/snowkey/compare/internal/measure"
	"github.com/snowkey-go/snowkey/compare/internal/verify"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// comparison is the run on one database.
type comparison struct {
	number       int
	target       *Target
	config       Config
	schedule     *schedule
	prefix       string
	begun        time.Time
	sharing      int       // databases that share the time left of the budget, this one among them
	deadline     time.Time // zero: none
	rows         int       // a table and round
	short        string    // why there were fewer rounds than the profile has
	broken       error     // of the participants that broke down
	participants []*participant

	interrupted bool // by the end of the context
}

// participant is a strategy in a comparison.
type participant struct {
	number   int
	strategy strategy.Strategy
	info     strategy.Info
	prefix   string
	out      bool // of the comparison
	// Of the pilot, or guessed before it:
	row   time.Duration   // of inserting a row
	fixed time.Duration   // of a round, whatever its rows are
	wrote []time.Duration // of inserting a row in each of the profile's ways of several writers
	spent map[string]time.Duration

	figures measure.Figures
	result  result.Strategy
}

// spend counts the time until the function that it returns is called.
func (e *participant) spend(doing string) (end func()) {
	start := time.Now()
	return func() { e.spent[doing] += time.Since(start) }
}

// pilotRows are inserted to see how fast that is.
const pilotRows = 2000

// The steps that are scheduled.
const (
	stepVerify  = "verify"
	stepExamine = "look at the keys of"
	stepRound   = "insert"
	stepCrash   = "kill the server under"
)

// during says of a step that an error ended it.
var during = map[string]string{
	stepVerify: "while it was verified", stepExamine: "while its keys were looked at", stepRound: "while rows were inserted",
	stepCrash: "while the server was killed",
}

func newComparison(number int, target *Target, c Config, schedule *schedule) *comparison {
	comparison := &comparison{number: number, target: target, config: c, schedule: schedule, prefix: newPrefix(), rows: c.Profile.Rows}
	for i, s := range c.Strategies {
		info := s.Info()
		e := &participant{number: i, strategy: s, info: info, prefix: fmt.Sprintf("%s_%03d", comparison.prefix, i), result: describe(info), spent: map[string]time.Duration{}}
		e.row, e.fixed = 50*time.Microsecond, 1200*time.Millisecond // what is usual
		comparison.participants = append(comparison.participants, e)
		schedule.add(comparison.kind(e, stepVerify), 1, time.Second)
		schedule.add(comparison.kind(e, stepExamine), 1, c.Profile.Steady+time.Second)
		schedule.add(comparison.kind(e, stepRound), c.Profile.Rounds, comparison.cost(e).round(c.Profile.Rows))
		for n := range comparison.writers() {
			schedule.add(comparison.kind(e, comparison.stepWriters(n)), c.Profile.Rounds, time.Duration(c.Profile.Rows)*e.row)
			e.result.Writers = append(e.result.Writers, result.Writers{Connections: c.Profile.Writers[n].Connections, Batch: c.Profile.Writers[n].Batch})
			e.wrote = append(e.wrote, e.row)
		}
		if comparison.kills() {
			schedule.add(comparison.kind(e, stepCrash), 1, time.Duration(c.Profile.Kills)*4*time.Second)
		}
	}
	return comparison
}

// writers are the ways of several writers that are measured.
func (c *comparison) writers() []Writers {
	if c.target.database.Kind() == dsn.SQLite {
		return nil
	}
	return c.config.Profile.Writers
}

// stepWriters is the step of one of the ways of several writers.
func (c *comparison) stepWriters(n int) string {
	w := c.config.Profile.Writers[n]
	return fmt.Sprintf("insert over %d connections, %d rows at a time, by", w.Connections, w.Batch)
}

// describe is what is known of a strategy before anything was measured.
func describe(info strategy.Info) result.Strategy {
	return result.Strategy{
		Name: info.Name, About: info.About, Origin: info.Origin, Needs: info.Needs, Cost: info.Cost,
		Coordination: info.Coordination, Decodes: info.Decodes, Guess: info.Guess,
	}
}

func (c *comparison) kind(e *participant, step string) kind {
	return kind{database: c.number, strategy: e.number, step: step}
}

// kills reports whether the server is killed.
func (c *comparison) kills() bool { return c.target.server != nil && c.config.Profile.Kills > 0 }

// run measures. What was measured is returned also with an error: of what ended the comparison early, of participants that broke down, and of what is
// left behind.
func (c *comparison) run(ctx context.Context) (result.Database, error) {
	measured := result.Database{Name: c.target.String(), Kind: c.target.database.Kind()}
	ended := c.steps(ctx, &measured)
	c.interrupted = ended != nil && ctx.Err() != nil
	if ended != nil {
		explainFigures(reflect.ValueOf(&measured).Elem(), ended.Error())
	}
	swept := c.target.sweep(ctx, c.prefix)
	failed := errors.Join(ended, swept)
	if c.interrupted { // which the document says
		failed = swept
	}
	if failed != nil {
		measured.Failed = failed.Error()
	}
	for _, e := range c.participants {
		c.close(e, ended)
		measured.Strategies = append(measured.Strategies, e.result)
	}
	return measured, errors.Join(ended, c.broken, swept)
}

func (c *comparison) steps(ctx context.Context, measured *result.Database) error {
	described, err := c.target.database.Describe(ctx)
	if err != nil {
		return cause(ctx, err)
	}
	described.Name = c.target.String()
	*measured = described
	if err := c.target.database.TryRights(ctx, c.prefix); err != nil {
		return cause(ctx, err)
	}
	for _, e := range c.participants {
		if err := c.step(ctx, e, stepVerify, "", c.verify); err != nil {
			return err
		}
	}
	for _, e := range c.participants {
		if err := c.step(ctx, e, stepExamine, "", c.examine); err != nil {
			return err
		}
	}
	c.plan(measured)
	if err := c.rounds(ctx); err != nil || !c.kills() {
		return err
	}
	for _, e := range c.participants {
		if err := c.step(ctx, e, stepCrash, "", c.crash); err != nil {
			return err
		}
	}
	return nil
}

// cause is why a context has ended, where it has: what fails then fails because of that.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// step does a step with a participant that is in the comparison still. An error that the database survives drops the participant out; any other, and the
// end of the context, ends the comparison, which leaves the sweeping to its end.
func (c *comparison) step(ctx context.Context, e *participant, name, more string, do func(context.Context, *participant, func(float64)) error) error {
	if e.out {
		return nil
	}
	part := c.schedule.begin(c.kind(e, name), fmt.Sprintf("%s %s%s on %s", name, e.info.Name, more, c.target))
	err := do(ctx, e, part)
	part(1)
	gone := err != nil && c.target.database.Gone(ctx)
	if ctx.Err() == nil && !gone {
		if sweeping := c.target.sweep(ctx, e.prefix); sweeping != nil {
			err, gone = errors.Join(err, sweeping), c.target.database.Gone(ctx)
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case gone:
		return fmt.Errorf("%s %s: %w", name, e.info.Name, err)
	}
	c.broken = errors.Join(c.broken, fmt.Errorf("%s %s: %w", name, e.info.Name, err))
	if name == stepCrash { // the last step: all else was measured
		explainCrash(&e.result.Crash, err.Error())
		return nil
	}
	c.drop(e, fmt.Sprintf("%s: %v", cmp.Or(during[name], during[stepRound]), err))
	return nil
}

// drop drops a strategy out of the comparison. What was measured of it stays.
func (c *comparison) drop(e *participant, why string) {
	e.out = true
	e.result.Skipped = why
	c.schedule.drop(func(k kind) bool { return k.database == c.number && k.strategy == e.number })
}

// environment is where a participant makes its keys.
func (c *comparison) environment(e *participant) strategy.Environment {
	at := strategy.Environment{Kind: c.target.database.Kind(), Prefix: e.prefix, Processes: 1}
	if c.target.database.Alone() == "" {
		at.DB, at.Pair = c.target.connections(e.info)
	}
	return at
}

func (c *comparison) verify(ctx context.Context, e *participant, _ func(float64)) error {
	defer e.spend("verifying")()
	tables := func(ctx context.Context, keys strategy.Keys) (strategy.Table, error) {
		session, err := c.target.database.Session(ctx)
		if err != nil {
			return nil, err
		}
		return keys.Table(ctx, session, e.prefix+"_verify")
	}
	options := verify.Options{Keys: c.config.Profile.Keys, Seed: c.config.Seed}
	checks, err := verify.Run(ctx, e.strategy, c.environment(e), tables, options)
	e.result.Verify = checks
	switch {
	case errors.Is(err, strategy.ErrUnavailable):
		c.drop(e, err.Error())
		return nil
	case err != nil:
		return err
	case !checks.OK():
		c.drop(e, "")
	}
	return nil
}

// examine looks at what needs no rounds: the keys, the shards that they fall on, how long one takes, and what a round will cost.
func (c *comparison) examine(ctx context.Context, e *participant, _ func(float64)) (err error) {
	at, profile := c.environment(e), c.config.Profile
	end := e.spend("shards")
	e.result.Shards, err = measure.Shards(ctx, e.strategy, at, c.config.Seed, profile.Slow)
	if end(); err != nil {
		return err
	}
	keys, err := e.strategy.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	if err := c.pilot(ctx, e, keys); err != nil {
		return err
	}
	defer e.spend("latency")()
	e.result.Latency, err = measure.Latency(ctx, keys, measure.LatencyOptions{Rate: profile.Rate, Calls: int(profile.Rate * profile.Steady.Seconds())})
	return err
}

// pilot measures what a round costs, by one of a few rows, whose figures do not count.
func (c *comparison) pilot(ctx context.Context, e *participant, keys strategy.Keys) error {
	defer e.spend("pilot")()
	start := time.Now()
	// With a figure that is there already, what the first round alone samples is left out.
	generation := result.Generation{Capped: []result.Speed{{}}}
	if err := measure.Generation(ctx, e.strategy, c.environment(e), &generation); err != nil {
		return err
	}
	var pilot measure.Figures
	if err := c.grow(ctx, e, keys, min(c.rows, pilotRows), func(int) {}, &pilot); err != nil {
		return err
	}
	e.result.Key = pilot.Key
	var inserts time.Duration
	for _, took := range pilot.Growth.Batches[0] {
		inserts += time.Duration(took) * time.Microsecond
	}
	e.row = inserts / time.Duration(pilot.Growth.Rows)
	e.fixed = max(0, time.Since(start)-inserts-2*inserts/loggedRows) // the keys of as many rows again are looked at
	for n := range c.writers() {
		rows, pilot := min(c.rows, pilotRows), e.result.Writers[n]
		if err := c.write(ctx, e, keys, n, rows, &pilot); err != nil {
			return err
		}
		e.wrote[n] = time.Duration(float64(time.Second) / pilot.RowsPerSecond.Samples[0])
	}
	return nil
}

// rounds lets all participants insert in turns.
func (c *comparison) rounds(ctx context.Context) error {
	random := rand.New(rand.NewPCG(c.config.Seed, 2))
	n := c.config.Profile.Rounds
	for round := range n {
		if round > 0 && !c.deadline.IsZero() && time.Now().Add(c.roundTime()).After(c.deadline) {
			c.short = c.overBudget(round)
			c.schedule.drop(func(k kind) bool { return k.database == c.number && k.step != stepCrash })
			return nil
		}
		more := fmt.Sprintf(" (round %d of %d)", round+1, n)
		for _, i := range random.Perm(len(c.participants)) {
			if err := c.step(ctx, c.participants[i], stepRound, more, c.round); err != nil {
				return err
			}
		}
		for way := range c.writers() {
			for _, i := range random.Perm(len(c.participants)) {
				err := c.step(ctx, c.participants[i], c.stepWriters(way), more, func(ctx context.Context, e *participant, _ func(float64)) error {
					return c.writing(ctx, e, way)
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *comparison) round(ctx context.Context, e *participant, part func(float64)) (err error) {
	at := c.environment(e)
	end := e.spend("making keys")
	err = measure.Generation(ctx, e.strategy, at, &e.result.Generation)
	if end(); err != nil {
		return err
	}
	defer e.spend("inserting and reading rows")()
	keys, err := e.strategy.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	tell := func(rows int) { part(min(0.99, float64(rows)/float64(c.rows+1))) }
	return c.grow(ctx, e, keys, c.rows, tell, &e.figures)
}

// writing has a way of several writers fill a table.
func (c *comparison) writing(ctx context.Context, e *participant, way int) (err error) {
	defer e.spend("inserting over several connections")()
	keys, err := e.strategy.Open(ctx, c.environment(e))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	return c.write(ctx, e, keys, way, c.rows, &e.result.Writers[way])
}

// write fills a table in a way of several writers. The table is dropped after the step.
func (c *comparison) write(ctx context.Context, e *participant, keys strategy.Keys, way, rows int, to *result.Writers) error {
	plan := measure.Plan{Rows: rows, Seed: c.config.Seed, Limit: c.slow(e)}
	return measure.Writers(ctx, c.target.database, keys, fmt.Sprintf("%s_by_%s", e.prefix, c.config.Profile.Writers[way]), plan, to)
}

// grow lets a table grow. What is left of it is dropped after the step.
func (c *comparison) grow(ctx context.Context, e *participant, keys strategy.Keys, rows int, tell func(int), to *measure.Figures) error {
	plan := measure.Plan{Rows: rows, Batch: c.config.Profile.Batch, Seed: c.config.Seed, Limit: c.slow(e), Progress: tell}
	return measure.Growth(ctx, c.target.database, e.info, keys, e.prefix+"_rows", plan, to)
}

// crash kills the server, which is the run's own, under a strategy.
func (c *comparison) crash(ctx context.Context, e *participant, _ func(float64)) (err error) {
	defer e.spend("killing the server")()
	application := func(ctx context.Context) (measure.Application, error) {
		d, err := c.target.process(ctx, e.info)
		if err != nil {
			return measure.Application{}, err
		}
		at := c.environment(e)
		at.DB = d.Pool()
		// What closing says matters as little as the server that was killed.
		return measure.Application{Environment: at, Session: d.Session, Close: func() { _ = d.Close() }}, nil
	}
	options := measure.CrashOptions{Kills: c.config.Profile.Kills, Seed: c.config.Seed}
	e.result.Crash, err = measure.Crash(ctx, e.strategy, application, c.target.server, options)
	return err
}
