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

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// date gives each of the plan's keys what its new ids have their time from, and the name of its map; a key that is to be kept gets neither.
// The keys are in an order afterwards in which none goes through one that comes later. What is missing is a need, and a time is taken for the
// time being, so that all that is missing is found.
func (b *builder) date(ctx context.Context) error {
	given, rest, err := b.createdOptions()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	var missing []string
	for i := range b.plan.Keys {
		k := &b.plan.Keys[i]
		value := given[k.Table]
		if value == "" {
			value = b.guess(k, given)
		}
		if value == "" {
			value = rest
		}
		if value == "" {
			missing, value = append(missing, k.Table), b.oneTime().Format(time.RFC3339)
		}
		if value == "keep" {
			continue
		}
		if err := b.dateKey(ctx, k, value); err != nil {
			return err
		}
		if k.Created == "" && k.Through == "" && k.Instant == nil { // it is blocked
			one := b.oneTime()
			k.Instant = &one
		}
		if k.Map, err = b.mapName(ctx, b.tables[k.Table].Name, used); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		all := "*=" + b.oneTime().Format(time.RFC3339)
		b.need(fmt.Sprintf("%s: no column tells when rows were created. --created %s gives all of them one time, --created '*=keep' leaves them their ids; "+
			"for one table --created TABLE=COLUMN names a column, and --created 'TABLE=through COLUMN' a reference whose row's time it has too.",
			strings.Join(missing, ", "), shellQuote(all)), "created", all)
	}
	if len(b.zoneless) > 0 {
		b.need(fmt.Sprintf("%s: these times do not say which instant they are. Name the zone that they were written in: --zone UTC, or one such as Asia/Shanghai.",
			strings.Join(b.zoneless, ", ")), "zone", "UTC")
	}
	b.orderKeys()
	return nil
}

// createdOptions returns what Options.Created says by table, and for all others.
func (b *builder) createdOptions() (by map[string]string, rest string, err error) {
	by = map[string]string{}
	for name, value := range b.options.Created {
		if name == everyTable {
			if _, wrong := time.Parse(time.RFC3339Nano, value); wrong != nil && value != "keep" {
				return nil, "", fmt.Errorf("%w: %q for all other tables, want a time like 2025-01-31T00:00:00Z, or keep", ErrOption, value)
			}
			rest = value
			continue
		}
		parsed, err := catalog.Parse(name)
		if err != nil {
			return nil, "", fmt.Errorf("%w: the table %q: %v", ErrOption, name, err)
		}
		by[parsed.String()] = value
	}
	return by, rest, nil
}

// everyTable stands in Options.Created for the tables that neither it nor a guess says anything of.
const everyTable = "*"

// guess returns what a key's time is taken from when nobody has said: a column by its name, or a foreign key that is never NULL to a table
// that has such a column. Of several it takes the one whose rows go with their parent's, or whose table's name begins with the parent's.
func (b *builder) guess(k *Key, given map[string]string) string {
	if c := b.inReport(k.Table).Created; c != nil {
		if c.Guessed {
			k.Guessed = "by its name"
		}
		return c.Column
	}
	found := map[string]Reference{}
	for _, r := range b.plan.References {
		dated := b.inReport(r.To).Created != nil && given[r.To] == ""
		if r.Table == k.Table && r.To != k.Table && r.Origin == inspect.Declared && !r.Nullable && r.Path == "" && r.OwnerType == "" && len(r.Columns) < 2 && dated && b.plan.Key(r.To) != nil {
			found[r.Column] = r
		}
	}
	for _, rule := range []func(Reference) bool{
		func(Reference) bool { return true },
		func(r Reference) bool { return r.OnDelete == "CASCADE" },
		func(r Reference) bool {
			return strings.HasPrefix(strings.ToLower(k.Table), strings.ToLower(strings.TrimSuffix(r.To, "s")))
		},
	} {
		var column string
		n := 0
		for _, r := range found {
			if rule(r) {
				column, n = r.Column, n+1
			}
		}
		if n == 1 {
			k.Guessed = "by its foreign key"
			return "through " + column
		}
	}
	return ""
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
			b.need(fmt.Sprintf("%s: no id of the layout can have the time %s: %v.", k.Table, value, err), "created", k.Table+"="+b.oneTime().Format(time.RFC3339))
			instant = b.oneTime()
		} else if instant.After(b.options.Now) {
			b.block(fmt.Sprintf("%s: the time %s of its rows is in the future.", k.Table, value))
		}
		k.Instant = &instant
		return nil
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
	case c.Class != catalog.Time && !isDate(c) && !(sqlite && c.Class != catalog.JSON):
		b.need(fmt.Sprintf("%s: the column %s has the type %s, which is no date. --created %s=COLUMN names another, "+
			"--created %[1]s=%[5]s gives all of its rows one time.", k.Table, name, c.Type, shellQuote(k.Table), b.oneTime().Format(time.RFC3339)), "created", k.Table+"="+b.oneTime().Format(time.RFC3339))
		return nil
	case !c.Zoned && !sqlite && b.options.Zone == "":
		b.zoneless = append(b.zoneless, k.Table+"."+name)
	}
	k.Created = name
	if !c.Zoned {
		k.Zone = b.options.Zone
		if k.Zone == "" && !sqlite {
			k.Zone = "UTC" // for the time being
		}
	}
	if isDate(c) && !sqlite {
		k.Unit = 24 * time.Hour
		return nil
	}
	unit, err := b.exactness(ctx, k.Table, c)
	k.Unit = max(unit, b.options.Layout.Unit())
	return err
}

// isDate reports whether a column has dates without a time of day: days of the zone, over which the ids of their rows are spread from the day's beginning on.
func isDate(c *catalog.Column) bool { return strings.EqualFold(c.Type, "date") }

var precision = regexp.MustCompile(`\((\d)\)`)

// exactness returns the unit that a column's times are kept in.
func (b *builder) exactness(ctx context.Context, table string, c *catalog.Column) (time.Duration, error) {
	digits := 0 // of MySQL, when the type names none
	switch b.catalog.Dialect() {
	case dialect.SQLite:
		// The values tell. Where one has no fraction of a second, others may have lost theirs.
		column := b.catalog.Quote(c.Name)
		var whole, more bool
		// Digits alone count since 1970, in seconds up to eleven.
		query := fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM %[1]s WHERE CASE WHEN %[2]s NOT GLOB '*[^0-9]*' THEN length(%[2]s) < 12 ELSE %[2]s NOT LIKE '%%:__.%%' AND %[2]s NOT LIKE '%%:__,%%' END), EXISTS (SELECT 1 FROM %[1]s WHERE %[2]s NOT GLOB '????-??-??')",
			b.catalog.Quoted(b.tables[table].Name), column)
		if err := b.db.QueryRowContext(ctx, query).Scan(&whole, &more); err != nil {
			return 0, fmt.Errorf("plan: the times in %s.%s: %w", table, c.Name, err)
		}
		switch {
		case whole && !more:
			return 24 * time.Hour, nil
		case whole:
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
