package reshard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mover is a move at work.
type mover struct {
	world    World
	plan     *Plan
	options  Options
	pass     string // of the fences
	sessions map[string]*session
	journal  *journal
	places   map[string]*place
}

// newMover opens the databases of a plan, and reads its row in the journal, nil when another plan's or none is there.
func newMover(ctx context.Context, w World, p *Plan, o Options) (m *mover, row *journalRow, err error) {
	if p == nil || p.Next == nil || p.Before == nil {
		return nil, nil, fmt.Errorf("%w: it is nil, or has no map", ErrPlan)
	}
	if o.Batch < 0 || o.Throttle < 0 {
		return nil, nil, fmt.Errorf("%w: an option is negative", ErrPlan)
	}
	if o.Batch == 0 {
		o.Batch = 500
	}
	hash, _, err := p.hash()
	if err != nil {
		return nil, nil, err
	}
	m = &mover{world: w, plan: p, options: o, pass: hash[:32], sessions: map[string]*session{}, places: map[string]*place{}}
	opened := m
	defer func() {
		if err != nil {
			opened.close(ctx)
		}
	}()
	own, err := m.session(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	m.journal = &journal{session: own, name: p.Map}
	if err := m.journal.setup(ctx); err != nil {
		return nil, nil, err
	}
	if row, err = m.journal.read(ctx); err != nil {
		return nil, nil, err
	}
	if row != nil && !row.ended() && row.hash != hash {
		return nil, nil, fmt.Errorf("%w: the plan to version %d of the map %q is in the state %q", ErrOther, row.plan.Next.Version(), p.Map, row.state)
	}
	if row != nil && row.hash != hash {
		row.state = stateAborted // of this plan nothing was done
	}
	return m, row, nil
}

// close ends the sessions.
func (m *mover) close(ctx context.Context) {
	for _, s := range m.sessions {
		s.close(ctx)
	}
}

// session returns that of a database.
func (m *mover) session(ctx context.Context, name string) (*session, error) {
	if s := m.sessions[name]; s != nil {
		return s, nil
	}
	db, err := m.world.database(name)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, name, db, m.plan.Map, m.pass)
	if err != nil {
		return nil, err
	}
	m.sessions[name] = s
	return s, nil
}

// prepare reads the map that the plan was made of, and all tables; before the flip it checks them as NewPlan does.
func (m *mover) prepare(ctx context.Context, flipped bool) error {
	// Sessions first, in one order, so that no other mover is at work from here on.
	names := map[string]bool{}
	for _, which := range []*idshard.Map{m.plan.Before, m.plan.Next} {
		for _, shard := range which.Shards() {
			names[shard.Database] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, err := m.session(ctx, name); err != nil {
			return err
		}
	}
	if !flipped {
		s, err := look(ctx, m.world, m.plan)
		if err != nil {
			return err
		}
		for _, step := range m.plan.Steps {
			if err := s.checkStep(ctx, &step); err != nil {
				return err
			}
		}
	}
	return m.reload(ctx)
}

// reload reads the tables of all steps.
func (m *mover) reload(ctx context.Context) error {
	shards := map[string]idshard.Shard{}
	for _, which := range []*idshard.Map{m.plan.Before, m.plan.Next} {
		for _, shard := range which.Shards() {
			shards[shard.Name] = shard
		}
	}
	tables := map[string]Table{}
	for _, t := range m.plan.Tables {
		tables[t.Name] = t
	}
	seen := map[string]bool{}
	var of []Table
	var in []idshard.Shard
	for _, step := range m.plan.Steps {
		for _, name := range append(slices.Collect(maps.Keys(step.To)), step.From) {
			shard, known := shards[name]
			t, there := tables[step.Table]
			if !known || !there {
				return fmt.Errorf("%w: a step from the shard %q to %q of the table %q, which the plan does not have", ErrPlan, step.From, name, step.Table)
			}
			if at := placeKey(t.Name, name); !seen[at] {
				seen[at] = true
				of, in = append(of, t), append(in, shard)
			}
		}
	}
	places, err := gather(ctx, func(database string) *catalog.Catalog { return m.sessions[database].catalog }, of, in)
	if err == nil {
		m.places = places
	}
	return err
}

// at returns the place of a table in a shard, and its session.
func (m *mover) at(table, shard string) (*place, *session) {
	p := m.places[placeKey(table, shard)]
	return p, m.sessions[p.shard.Database]
}

// transact runs work in a transaction of a session. On SQLite, where no lock tells that another mover is at work, the journal does, and stays locked
// for as long.
func (m *mover) transact(ctx context.Context, s *session, work func() error) error {
	if s.dialect != dialect.SQLite {
		return s.transact(ctx, work)
	}
	own := m.journal.session
	return own.transact(ctx, func() error {
		if err := m.journal.mine(ctx); err != nil {
			return err
		}
		if s == own {
			return work()
		}
		return s.transact(ctx, work)
	})
}

// ddl runs statements that define something; none fails when it was run before.
func (m *mover) ddl(ctx context.Context, s *session, again func() error, statements ...string) error {
	if s.dialect != dialect.SQLite {
		return s.patient(ctx, again, statements...)
	}
	return m.transact(ctx, s, func() error {
		for _, statement := range statements {
			if err := s.execute(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// write runs work in a transaction that the fence of a table lets through. SQLite has no settings of sessions, so that its fence is down within the
// transaction, which nobody else can see.
func (m *mover) write(ctx context.Context, p *place, s *session, buckets []int64, work func() error) error {
	if s.dialect != dialect.SQLite {
		return s.transact(ctx, work)
	}
	fence := p.fence(m.plan.Next, m.pass, buckets)
	drop, err := fence.Drop(s.dialect)
	if err != nil {
		return err
	}
	make, err := fence.Make(s.dialect)
	if err != nil {
		return err
	}
	return m.transact(ctx, s, func() error {
		for _, statement := range drop {
			if err := s.execute(ctx, statement); err != nil {
				return err
			}
		}
		if err := work(); err != nil {
			return err
		}
		for _, statement := range make {
			if err := s.execute(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// tell calls the progress function.
func (m *mover) tell(step *Step, state string, done, behind int64) {
	if m.options.Progress == nil {
		return
	}
	p := Progress{State: state, Done: done, Behind: behind}
	if step != nil {
		p.Table, p.Shard, p.Total = step.Table, step.From, step.Rows
	}
	m.options.Progress(p)
}

// moved returns the buckets that leave the source of a step.
func (s *Step) moved() (buckets []int64) {
	for _, list := range s.To {
		buckets = append(buckets, list...)
	}
	slices.Sort(buckets)
	return buckets
}
