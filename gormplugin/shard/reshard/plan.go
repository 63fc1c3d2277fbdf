package reshard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
)

// NewPlan compares the map in force with the next one, and checks that all can be moved. Nothing is written. The error wraps [ErrPlan], [ErrOther] when
// a plan that was begun is not done, or one of idgen/shard.
//
// Tables that rows come from or go to need ids of an integer type that are unique, no foreign keys, no triggers, and the same columns; their databases
// are of one dialect. Target tables that are missing are made by the move where the source is in the same database: with its columns, indexes and
// checks, but with no grants.
func NewPlan(ctx context.Context, w World, name string, next *idshard.Map) (*Plan, error) {
	store, err := w.store()
	if err != nil {
		return nil, err
	}
	now, err := store.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	if next == nil || next.Version() != now.Version()+1 {
		return nil, fmt.Errorf("%w: %w: the map %q is of version %d, and the next one has to be made of it", ErrPlan, idshard.ErrVersion, name, now.Version())
	}
	row, err := readJournal(ctx, w.Own, name)
	if err != nil {
		return nil, err
	}
	if row != nil && !row.ended() {
		return nil, fmt.Errorf("%w: the plan to version %d of the map %q is in the state %q: run it to its end, or abort it", ErrOther, row.plan.Next.Version(), name, row.state)
	}
	p := &Plan{Map: name, From: now.Version(), Tables: slices.Clone(w.Tables), Before: now, Next: next}
	moves, err := now.Moves(next)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	s, err := look(ctx, w, p)
	if err != nil {
		return nil, err
	}
	if err := s.checkLegacy(ctx, now, next); err != nil {
		return nil, err
	}
	if len(moves) > 0 {
		if err := s.forgotten(ctx); err != nil {
			return nil, err
		}
	}
	for _, t := range p.Tables {
		if err := s.plan(ctx, p, t, moves); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// hash names the plan.
func (p *Plan) hash() (string, string, error) {
	text, err := json.Marshal(p)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), string(text), err
}

// scene is what the catalogs say of all tables of a plan.
type scene struct {
	world    World
	catalogs map[string]*catalog.Catalog // by the name of the database
	places   map[string]*place           // by the table and the name of its shard
	now      *idshard.Map
	next     *idshard.Map
}

func placeKey(table, shard string) string { return table + "\x00" + shard }

// look reads the tables of all shards of both maps, and refuses databases and tables that are the same under two names: rows that were copied there
// would be removed.
func look(ctx context.Context, w World, p *Plan) (*scene, error) {
	s := &scene{world: w, catalogs: map[string]*catalog.Catalog{}, now: p.Before, next: p.Next}
	shards := map[string]idshard.Shard{}
	for _, m := range []*idshard.Map{p.Before, p.Next} {
		for _, shard := range m.Shards() {
			if before, ok := shards[shard.Name]; ok && before != shard {
				return nil, fmt.Errorf("%w: the shard %q is in another place in the next map: give it another name", ErrPlan, shard.Name)
			}
			shards[shard.Name] = shard
		}
	}
	known := map[string]string{}
	var tables []Table
	var in []idshard.Shard
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		shard := shards[name]
		db, err := w.database(shard.Database)
		if err != nil {
			return nil, err
		}
		c := s.catalogs[shard.Database]
		if c == nil {
			if c, err = catalog.New(db.DB, db.Dialect); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrPlan, err)
			}
			s.catalogs[shard.Database] = c
			server, err := c.Server(ctx)
			if err != nil {
				return nil, fmt.Errorf("reshard: the database %q: %w", shard.Database, err)
			}
			id := server.ID + "\x00" + server.Name
			if other, ok := known[id]; ok && server.Name != ":memory:" {
				return nil, fmt.Errorf("%w: %q and %q are the same database", ErrPlan, other, shard.Database)
			}
			known[id] = shard.Database
		}
		for _, t := range p.Tables {
			tables, in = append(tables, t), append(in, shard)
		}
	}
	var err error
	s.places, err = gather(ctx, func(database string) *catalog.Catalog { return s.catalogs[database] }, tables, in)
	return s, err
}

// plan adds the steps of a table.
func (s *scene) plan(ctx context.Context, p *Plan, t Table, moves []idshard.Move) error {
	steps, buckets := map[string]*Step{}, map[string]int64{}
	for b := range s.now.Buckets() {
		i, err := s.now.OfBucket(b)
		if err != nil {
			return err
		}
		buckets[s.now.Shard(i).Name]++
	}
	gained := map[string][]int64{}
	for _, m := range moves {
		step := steps[m.From]
		if step == nil {
			step = &Step{Table: t.Name, From: m.From, To: map[string]idshard.Buckets{}}
			steps[m.From] = step
		}
		step.To[m.To] = append(step.To[m.To], m.Bucket)
		gained[m.To] = append(gained[m.To], m.Bucket)
	}
	for _, from := range slices.Sorted(maps.Keys(steps)) {
		step, moved := steps[from], int64(0)
		source := s.places[placeKey(t.Name, from)]
		if source.there == nil {
			return fmt.Errorf("%w: the table %s is not there", ErrPlan, source)
		}
		for _, to := range slices.Sorted(maps.Keys(step.To)) {
			moved += int64(len(step.To[to]))
			target := s.places[placeKey(t.Name, to)]
			if target.there == nil && target.shard.Database != source.shard.Database {
				return fmt.Errorf("%w: the table %s is not there: run AutoMigrate with the shards of the next map first", ErrPlan, target)
			}
			if target.there == nil {
				if _, err := target.statements(s.catalogs[source.shard.Database], source); err != nil {
					return err
				}
				step.Missing = append(step.Missing, to)
			}
		}
		if err := s.checkStep(ctx, step); err != nil {
			return err
		}
		step.Rows = max(0, source.there.Rows) * moved / buckets[from]
		p.Steps = append(p.Steps, *step)
	}
	for _, to := range slices.Sorted(maps.Keys(gained)) {
		if err := s.checkEmpty(ctx, s.places[placeKey(t.Name, to)], gained[to]); err != nil {
			return err
		}
	}
	return nil
}

// checkStep refuses what cannot be moved.
func (s *scene) checkStep(ctx context.Context, step *Step) error {
	source := s.places[placeKey(step.Table, step.From)]
	if source == nil || source.there == nil {
		return fmt.Errorf("%w: the table %s of the shard %s is not there", ErrPlan, step.Table, step.From)
	}
	dialect := s.catalogs[source.shard.Database].Dialect()
	if err := source.check(dialect); err != nil {
		return err
	}
	tables := []*place{source}
	for to := range step.To {
		target := s.places[placeKey(step.Table, to)]
		if d := s.catalogs[target.shard.Database].Dialect(); d != dialect {
			return fmt.Errorf("%w: %s is in a database of %s, %s of %s: rows are compared as their texts, which differ", ErrPlan, source, dialect, target, d)
		}
		if target.there == nil {
			continue
		}
		if err := errors.Join(target.check(dialect), source.same(target)); err != nil {
			return err
		}
		if target.shard.Database == source.shard.Database && (strings.EqualFold(target.there.Full.String(), source.there.Full.String())) {
			return fmt.Errorf("%w: %s and %s are the same table", ErrPlan, source, target)
		}
		tables = append(tables, target)
	}
	for _, p := range tables {
		references, err := s.catalogs[p.shard.Database].References(ctx, p.there)
		if err != nil {
			return fmt.Errorf("reshard: %w", err)
		}
		for _, r := range references {
			return fmt.Errorf("%w: %s has the foreign key %q from %s to %s, which rows that move would break: drop it", ErrPlan, p, r.Name, r.Child, r.Parent)
		}
	}
	return nil
}

// checkEmpty refuses a target that has rows already of buckets that come: nothing tells whether they are the same.
func (s *scene) checkEmpty(ctx context.Context, target *place, buckets []int64) error {
	if target.there == nil {
		return nil
	}
	c := s.catalogs[target.shard.Database]
	condition, err := target.condition(c.Dialect(), s.next, "", buckets)
	if err != nil {
		return err
	}
	found, err := c.Texts(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT 1", c.Quote(target.table.Key), target.quoted, condition))
	if err != nil {
		return fmt.Errorf("reshard: %s: %w", target, err)
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %s has the row %s already, of a bucket that is elsewhere by the map in force", ErrPlan, target, found[0])
	}
	return nil
}

// checkLegacy refuses a map by which rows that are in a shard count as older than the sharding, and are looked for in another one.
func (s *scene) checkLegacy(ctx context.Context, now, next *idshard.Map) error {
	before, _ := now.Legacy()
	after, ok := next.Legacy()
	if !ok || before == after {
		return nil
	}
	for _, p := range s.places {
		if p.there == nil || p.shard.Name == after.Shard {
			continue
		}
		c := s.catalogs[p.shard.Database]
		key := c.Quote(p.table.Key)
		found, err := c.Texts(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s >= %d AND %s < %d LIMIT 1", key, p.quoted, key, before.Below, key, after.Below))
		if err != nil {
			return fmt.Errorf("reshard: %s: %w", p, err)
		}
		if len(found) > 0 {
			return fmt.Errorf("%w: %s has the row %s, which the next map takes for one from before, in the shard %s", ErrPlan, p, found[0], after.Shard)
		}
	}
	return nil
}
