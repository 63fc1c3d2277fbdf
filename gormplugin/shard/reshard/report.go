package reshard

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	idshard "github.com/snowkey-go/snowkey/idgen/shard"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Report is what Verify has found.
type Report struct {
	Version int64   `json:"version"`
	Tables  []Found `json:"tables"`
}

// Found is a table's: OK when all its rows belong there and no id is in two tables.
type Found struct {
	Table   string   `json:"table"` // with its suffix
	Shard   string   `json:"shard"`
	Rows    int64    `json:"rows"`
	Strays  int64    `json:"strays"` // rows of buckets that are elsewhere
	Left    int64    `json:"left"`   // of these, copies that a move makes, or has not removed yet
	Wrong   int64    `json:"wrong"`  // rows whose sharding key has another bucket than the id
	Twice   int64    `json:"twice"`  // ids that another table has too, without the copies of a move
	Samples []string `json:"samples,omitempty"`
}

// OK tells whether nothing is wrong.
func (f Found) OK() bool { return f.Strays == f.Left && f.Wrong == 0 && f.Twice == 0 }

// Verify reads all tables and finds what does not belong where it is. The error wraps [ErrMismatch] when there is such, and the Report is whole. Rows
// that are written meanwhile may be seen or not; a map that changes meanwhile is an error that wraps [ErrState].
func Verify(ctx context.Context, w World, name string, progress func(Progress)) (*Report, error) {
	store, err := w.store()
	if err != nil {
		return nil, err
	}
	m, err := store.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	row, err := readJournal(ctx, w.Own, name)
	if err != nil {
		return nil, err
	}
	v := &verifier{world: w, m: m, row: row, progress: progress, catalogs: map[string]*catalog.Catalog{}}
	report := &Report{Version: m.Version()}
	for _, t := range w.Tables {
		v.strays = map[int64]string{}
		for _, shard := range m.Shards() {
			found, err := v.table(ctx, t, shard)
			if err != nil {
				return nil, err
			}
			report.Tables = append(report.Tables, *found)
		}
	}
	if version, err := store.Version(ctx, name); err != nil || version != m.Version() {
		return nil, errors.Join(err, fmt.Errorf("%w: the map %q has changed from version %d meanwhile", ErrState, name, m.Version()))
	}
	var bad []string
	for _, f := range report.Tables {
		if !f.OK() {
			bad = append(bad, fmt.Sprintf("%s: %d rows in a wrong table, %d with the sharding key of another bucket, %d twice", f.Table, f.Strays-f.Left, f.Wrong, f.Twice))
		}
	}
	if bad != nil {
		return report, fmt.Errorf("%w: %s", ErrMismatch, strings.Join(bad, "; "))
	}
	return report, nil
}

// verifier is a Verify at work.
type verifier struct {
	world    World
	m        *idshard.Map
	row      *journalRow
	progress func(Progress)
	catalogs map[string]*catalog.Catalog
	strays   map[int64]string // of the table that is read, with the tables that they are in
}

// The sizes of pages, and of what is kept as an example.
const (
	verifyPage = 5000
	samples    = 5
)

// place returns the table of a shard, and the catalog of its database.
func (v *verifier) place(ctx context.Context, t Table, shard idshard.Shard) (*place, *catalog.Catalog, error) {
	c := v.catalogs[shard.Database]
	if c == nil {
		db, err := v.world.database(shard.Database)
		if err != nil {
			return nil, nil, err
		}
		if c, err = catalog.New(db.DB, db.Dialect); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrPlan, err)
		}
		v.catalogs[shard.Database] = c
	}
	found, err := newPlaces(ctx, c, []Table{t}, []idshard.Shard{shard})
	if err != nil {
		return nil, nil, err
	}
	if found[0].there == nil {
		return nil, nil, fmt.Errorf("%w: the table %s is not there", ErrMismatch, found[0])
	}
	return found[0], c, nil
}

// table reads the table of a shard.
func (v *verifier) table(ctx context.Context, t Table, shard idshard.Shard) (*Found, error) {
	p, c, err := v.place(ctx, t, shard)
	if err != nil {
		return nil, err
	}
	found := &Found{Table: p.name.String(), Shard: shard.Name}
	fold := c.Dialect() != dialect.Postgres
	by := p.there.Column(t.By, fold)
	if by == nil || p.there.Column(t.Key, fold) == nil {
		return nil, fmt.Errorf("%w: %s has no column %q or %q", ErrMismatch, p, t.Key, t.By)
	}
	key, where := c.Quote(t.Key), ""
	for {
		var last int64
		n := 0
		suspects := map[int64][]int64{} // strays by the shard that they belong to
		query := fmt.Sprintf("SELECT r.%s, %s FROM %s AS r %s ORDER BY r.%[1]s LIMIT %[5]d", key, expressions(c, []*catalog.Column{by}), p.quoted, where, verifyPage)
		err := c.Each(ctx, query, nil, func(scan func(...any) error) error {
			var value any
			if err := scan(&last, &value); err != nil {
				return err
			}
			n++
			v.look(found, shard, by, last, value, c.Dialect(), suspects)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reshard: %s: %w", p, err)
		}
		if err := v.twice(ctx, t, found, suspects); err != nil {
			return nil, err
		}
		if v.progress != nil {
			v.progress(Progress{Table: t.Name, Shard: shard.Name, State: stateVerify, Done: found.Rows, Total: max(found.Rows, p.there.Rows)})
		}
		if n < verifyPage {
			return found, nil
		}
		where = fmt.Sprintf("WHERE r.%s > %d", key, last)
	}
}

// look judges a row.
func (v *verifier) look(found *Found, shard idshard.Shard, by *catalog.Column, id int64, value any, d dialect.Dialect, suspects map[int64][]int64) {
	found.Rows++
	sample := func(what string, args ...any) {
		if len(found.Samples) < samples {
			found.Samples = append(found.Samples, fmt.Sprintf("%d: ", id)+fmt.Sprintf(what, args...))
		}
	}
	at, err := v.m.OfID(id)
	switch {
	case err != nil:
		found.Strays++
		sample("no id of the map")
		return
	case v.m.Shard(at).Name != shard.Name:
		found.Strays++
		if v.copied(found, shard, id) {
			found.Left++
		} else {
			sample("belongs to the shard %s", v.m.Shard(at).Name)
			suspects[int64(at)] = append(suspects[int64(at)], id)
		}
	}
	for _, key := range keysOf(by, value, d) {
		if err = v.m.Check(id, key); err == nil {
			return
		}
	}
	found.Wrong++
	if err == nil {
		err = errors.New("its sharding key is NULL")
	}
	sample("%v", err)
}

// copied tells whether a row is where a plan that is at work copies it to, or has it removed from.
func (v *verifier) copied(found *Found, shard idshard.Shard, id int64) bool {
	bucket, legacy, err := v.m.Bucket(id)
	if err != nil || legacy || v.row == nil || v.row.ended() {
		return false
	}
	flipped := v.m.Version() == v.row.plan.Next.Version()
	for _, step := range v.row.plan.Steps {
		name, err := catalog.Parse(step.Table)
		if err != nil {
			continue
		}
		if name.Name += shard.Suffix; name.String() != found.Table {
			continue
		}
		if flipped && step.From == shard.Name && slices.Contains(step.moved(), bucket) || !flipped && slices.Contains(step.To[shard.Name], bucket) {
			return true
		}
	}
	return false
}

// twice counts the strays that are also where they belong, or in a table that was read before.
func (v *verifier) twice(ctx context.Context, t Table, found *Found, suspects map[int64][]int64) error {
	for at, ids := range suspects {
		p, c, err := v.place(ctx, t, v.m.Shard(int(at)))
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(ids, 500) {
			there := map[int64]bool{}
			err := c.Each(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %[1]s IN (%[3]s)", c.Quote(t.Key), p.quoted, numbers(chunk)), nil, func(scan func(...any) error) error {
				var id int64
				err := scan(&id)
				there[id] = true
				return err
			})
			if err != nil {
				return fmt.Errorf("reshard: %s: %w", p, err)
			}
			for _, id := range chunk {
				if other, ok := v.strays[id]; ok && other != found.Table || there[id] {
					found.Twice++
				}
				v.strays[id] = found.Table
			}
		}
	}
	return nil
}

// keysOf returns what a value of the sharding column may be in the program: a UUID is either its bytes or its text.
func keysOf(c *catalog.Column, value any, d dialect.Dialect) []any {
	if b, ok := value.([]byte); ok && c.Class == catalog.Integer {
		value = string(b)
	}
	if text, ok := value.(string); ok && c.Class == catalog.Integer && d != dialect.SQLite {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return []any{n}
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return []any{n}
		}
	}
	if value == nil {
		return nil
	}
	keys := []any{value}
	text, ok := value.(string)
	if b, isBytes := value.([]byte); isBytes {
		text, ok = string(b), true
	}
	if !ok {
		return keys
	}
	if uuid, err := hex.DecodeString(strings.ReplaceAll(text, "-", "")); err == nil && len(uuid) == 16 {
		keys = append(keys, uuid)
	}
	if binary, found := strings.CutPrefix(text, "\\x"); found && d == dialect.Postgres {
		if b, err := hex.DecodeString(binary); err == nil {
			keys = append(keys, b)
		}
	}
	return keys
}
