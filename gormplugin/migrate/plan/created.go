package plan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/inspect"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// date gives each of the plan's keys what its new ids have their time from, and the name of its map; a key that is to be kept gets neither.
// The keys are in an order afterwards in which none goes through one that comes later.
func (b *builder) date(ctx context.Context) error {
	given := map[string]string{}
	for name, value := range b.options.Created {
		parsed, err := catalog.Parse(name)
		if err != nil {
			return fmt.Errorf("%w: the table %q: %v", ErrOption, name, err)
		}
		given[parsed.String()] = value
	}
	used := map[string]bool{}
	for i := range b.plan.Keys {
		k := &b.plan.Keys[i]
		value := given[k.Table]
		if value == "keep" {
			continue
		}
		if err := b.dateKey(ctx, k, value); err != nil {
			return err
		}
		var err error
		if k.Map, err = b.mapName(ctx, b.tables[k.Table].Name, used); err != nil {
			return err
		}
	}
	b.orderKeys()
	return nil
}

// dateKey says where the time of one key's new ids comes from.
func (b *builder) dateKey(ctx context.Context, k *Key, value string) error {
	if through, ok := strings.CutPrefix(value, "through "); ok {
		through = strings.TrimSpace(through)
		if b.columnOf(k.Table, through) == nil {
			return fmt.Errorf("%w: the time of %s cannot come through %s, which is no column of it", ErrOption, k.Table, through)
		}
		b.dateThrough(k, through)
		return nil
	}
	if instant, err := time.Parse(time.RFC3339Nano, value); err == nil {
		instant = instant.UTC()
		if _, err := b.options.Layout.MinID(instant); err != nil {
			b.block(fmt.Sprintf("%s: no id of the layout can have the time %s: %v.", k.Table, value, err))
		} else if instant.After(b.options.Now) {
			b.block(fmt.Sprintf("%s: the time %s of its rows is in the future.", k.Table, value))
		}
		k.Instant = &instant
		return nil
	}
	if value == "" {
		i := slices.IndexFunc(b.report.Tables, func(t inspect.Table) bool { return t.Name == k.Table })
		if i < 0 || b.report.Tables[i].Created == nil {
			b.block(fmt.Sprintf("%s: no column tells when its rows were created: name a column, a time, \"through COLUMN\" for a reference whose row's time "+
				"it has too, or \"keep\" for old ids to stay.", k.Table))
			return nil
		}
		value = b.report.Tables[i].Created.Column
	}
	return b.dateColumn(ctx, k, value)
}

// dateThrough takes the time of the row that a column refers to.
func (b *builder) dateThrough(k *Key, column string) {
	for _, r := range b.plan.References {
		if r.Table != k.Table || r.Column != column || r.Path != "" || r.OwnerType != "" {
			continue
		}
		if r.To == k.Table {
			b.block(fmt.Sprintf("%s: its time cannot come through %s, which refers to the same table.", k.Table, column))
			return
		}
		k.Through, k.Parent = column, r.To
		return
	}
	b.block(fmt.Sprintf("%s: its time cannot come through %s, which is no column of it that refers to the key of one of the plan's tables.", k.Table, column))
}

// dateColumn takes the time from a column of the table itself.
func (b *builder) dateColumn(ctx context.Context, k *Key, name string) error {
	c := b.columnOf(k.Table, name)
	sqlite := b.catalog.Dialect() == dialect.SQLite // where a column's type says little, and package mapping reads each value
	switch {
	case c == nil:
		return fmt.Errorf("%w: %s has no column %s that could tell when its rows were created; a time is written like 2025-01-31T00:00:00Z", ErrOption, k.Table, name)
	case c.Class != catalog.Time && !(sqlite && c.Class != catalog.JSON):
		b.block(fmt.Sprintf("%s: the column %s has the type %s, which is no date with a time of day.", k.Table, name, c.Type))
		return nil
	case !c.Zoned && !sqlite && b.options.Zone == "":
		b.block(fmt.Sprintf("%s: the times in %s (%s) do not say which instant they are: name the time zone that they are in.", k.Table, name, c.Type))
		return nil
	}
	k.Created = name
	if !c.Zoned {
		k.Zone = b.options.Zone
	}
	unit, err := b.exactness(ctx, k.Table, c)
	k.Unit = max(unit, b.options.Layout.Unit())
	return err
}

var precision = regexp.MustCompile(`\((\d)\)`)

// exactness returns the unit that a column's times are kept in.
func (b *builder) exactness(ctx context.Context, table string, c *catalog.Column) (time.Duration, error) {
	digits := 0 // of MySQL, when the type names none
	switch b.catalog.Dialect() {
	case dialect.SQLite:
		// The values tell. Where one has no fraction of a second, others may have lost theirs.
		column := b.catalog.Quote(c.Name)
		var whole bool
		query := fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %s WHERE %s IS NOT NULL AND %s NOT LIKE '%%:__.%%')", b.catalog.Quoted(b.tables[table].Name), column, column)
		if err := b.db.QueryRowContext(ctx, query).Scan(&whole); err != nil {
			return 0, fmt.Errorf("plan: the times in %s.%s: %w", table, c.Name, err)
		}
		if whole {
			return time.Second, nil
		}
		return time.Millisecond, nil
	case dialect.Postgres:
		digits = 6
	}
	if found := precision.FindStringSubmatch(c.Type); found != nil {
		digits, _ = strconv.Atoi(found[1]) // one digit
	}
	unit := time.Second
	for range digits {
		unit /= 10
	}
	return unit, nil
}

// orderKeys puts a key behind the one that it goes through, and blocks when there is no such order.
func (b *builder) orderKeys() {
	var ordered []Key
	state := map[string]int{} // 1: begun, 2: done
	var visit func(k Key)
	visit = func(k Key) {
		if state[k.Table] > 0 {
			if state[k.Table] == 1 {
				b.block(fmt.Sprintf("%s: its time comes through others from itself.", k.Table))
			}
			return
		}
		state[k.Table] = 1
		if k.Parent != "" {
			i := slices.IndexFunc(b.plan.Keys, func(p Key) bool { return p.Table == k.Parent })
			if i < 0 || b.plan.Keys[i].Map == "" {
				b.block(fmt.Sprintf("%s: its time comes through %s from %s, whose ids stay, so that no time is known of it.", k.Table, k.Through, k.Parent))
			} else {
				visit(b.plan.Keys[i])
				b.inherit(&k, ordered)
			}
		}
		state[k.Table] = 2
		ordered = append(ordered, k)
	}
	for _, k := range b.plan.Keys {
		visit(k)
	}
	b.plan.Keys = ordered
}

// inherit gives a key the time of the one that it goes through, which is among those that have theirs.
func (b *builder) inherit(k *Key, dated []Key) {
	i := slices.IndexFunc(dated, func(p Key) bool { return p.Table == k.Parent })
	switch {
	case i < 0: // they go through each other
	case dated[i].Through != "":
		b.block(fmt.Sprintf("%s: its time comes through %s from %s, whose own comes through another: one step is possible, not two.", k.Table, k.Through, k.Parent))
	case dated[i].Instant != nil:
		k.Instant, k.Through, k.Parent = dated[i].Instant, "", "" // all have the same
	default:
		k.Created, k.Zone, k.Unit = dated[i].Created, dated[i].Zone, dated[i].Unit
	}
}

// mapName returns a name for the map of a table's ids, in the table's schema, that neither a table nor another map has.
func (b *builder) mapName(ctx context.Context, table catalog.Name, used map[string]bool) (string, error) {
	for n := 0; ; n++ {
		name := catalog.Name{Schema: table.Schema, Name: b.cut("snowkey_map_"+table.Name, n)}
		folded := strings.ToLower(name.String()) // names that differ in case alone are one on MySQL and SQLite
		if used[folded] {
			continue
		}
		found, err := b.catalog.Table(ctx, name)
		if err != nil {
			return "", fmt.Errorf("plan: the name of a map: %w", err)
		}
		if found == nil {
			used[folded] = true
			return name.String(), nil
		}
	}
}

// longest is how long names may be: 64 characters on MySQL, 63 bytes on PostgreSQL, and anything on SQLite.
const longest = 63

// cut returns a name as it is when it is not too long and n is 0, else as much of it as leaves room for a digest of it and n.
func (b *builder) cut(name string, n int) string {
	if len(name) <= longest && n == 0 {
		return name
	}
	digest := sha256.Sum256([]byte(name + "\x00" + strconv.Itoa(n)))
	end := fmt.Sprintf("_%x", digest[:4])
	name = name[:min(len(name), longest-len(end))]
	for !utf8.ValidString(name) { // a character was cut in two
		name = name[:len(name)-1]
	}
	return name + end
}
