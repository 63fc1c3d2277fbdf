package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// Dialect is a database's SQL: mysql, which is MariaDB's as well, or postgres. [New] refuses SQLite.
type Dialect = dialect.Dialect

// The dialects. MySQL is MariaDB's as well.
const (
	MySQL    = dialect.MySQL
	Postgres = dialect.Postgres
)

// LookupDialect returns the dialect with a name: mysql or postgres. The error wraps [ErrUnsupported].
func LookupDialect(name string) (Dialect, error) {
	d, _ := dialect.Lookup(name)
	return d, supported(d)
}

func supported(d Dialect) error {
	switch d {
	case dialect.MySQL, dialect.Postgres:
		return nil
	case dialect.SQLite:
		return fmt.Errorf("%w: sqlite; a table of its own for each period, or DELETE by a range of ids, does there", ErrUnsupported)
	}
	return fmt.Errorf("%w: the dialect is none of mysql, postgres", ErrUnsupported)
}

// Old is what becomes of a partition past the retention.
type Old int

// What becomes of old partitions.
const (
	// Drop removes the partition with its rows.
	Drop Old = iota + 1
	// Detach makes the partition a table of its own, which stays.
	Detach
	// Archive makes the partition a table of its own, calls [Table.Archive], and drops the table when that has succeeded.
	Archive
)

var oldNames = map[Old]string{Drop: "drop", Detach: "detach", Archive: "archive"}

// String returns "drop", "detach" or "archive".
func (o Old) String() string {
	if name, ok := oldNames[o]; ok {
		return name
	}
	return fmt.Sprintf("Old(%d)", int(o))
}

// ParseOld reads what [Old.String] returns. The error wraps [ErrTable].
func ParseOld(text string) (Old, error) { return named(oldNames, "fate of old partitions", text) }

// The defaults of [Table].
const (
	DefaultMost     = 10
	DefaultMove     = 100_000
	DefaultLockWait = 2 * time.Second
	DefaultTries    = 10
)

// longestName is how many bytes a table's name has at most: PostgreSQL cuts names after 63, and those of partitions have up to 15 more.
const longestName = 48

// longestUnit is how long a tick may be: a bound is cut to the tick that it lies in, so rows of up to a tick before a period lie in its partition.
const longestUnit = time.Hour

// Table says how a table is divided by the time of its keys. A Table is checked by [New]; the zero values of the fields are the defaults.
type Table struct {
	// Name is the table's, with its schema's and a dot before it or without: letters, digits and underlines, at most 48 of them.
	Name string
	// Key is the column of the ids, "id" by default.
	Key string
	// Layout is that of the ids, with the time on top and a tick of at most an hour. The zero Layout is that of [idgen.Snowkey].
	Layout idgen.Layout
	// Every is how much time a partition holds. It has no default.
	Every Every
	// In is the time zone whose calendar counts, UTC by default.
	In *time.Location
	// Ahead is how many partitions there are to be after that of now: 7 days, 4 weeks or 3 months by default.
	Ahead int
	// Keep is how many periods before that of now keep their partitions, 0 for all.
	Keep int
	// Old is what becomes of partitions before those. It has no default where Keep is not 0.
	Old Old
	// Archive is called for each table of an old partition, where Old is [Archive]. It may be called again for a table that it has archived before: after a
	// kill. So it has to do again, or leave, what it did. It is called while other runs wait, and should end with the context: one that goes on after that, or after its process was killed, may go on beside a
	// second call for the same table.
	Archive func(context.Context, Detached) error
	// Most is how many partitions are old at most before a run refuses to touch any of them, 10 by default: a clock may be wrong. When
	// no run was called for longer than so many periods, an operator has to raise it for one run.
	Most int
	// Move is how many rows of the default partition, or on MySQL of the last one, a run moves at most to where they belong, 100,000 by default.
	Move int64
	// TrustClock has the retention count by the database's clock alone, not also by the newest key and the keeper's clock: for tables that nobody writes to any more.
	TrustClock bool
	// LockWait is how long a step waits for other transactions, with all that comes after it waiting behind, 2 s by default. MySQL counts whole seconds.
	LockWait time.Duration
	// Tries is how often a step is tried, with growing pauses of up to five seconds, before it is [ErrBusy]; 10 by default.
	Tries int
}

// checked returns the settings with the defaults in them.
func (t Table) checked() (Table, error) {
	wrong := func(format string, args ...any) (Table, error) {
		return Table{}, fmt.Errorf("%w: "+format, append([]any{ErrTable}, args...)...)
	}
	t.Key, t.Layout, t.In = cmp.Or(t.Key, "id"), cmp.Or(t.Layout, idgen.Snowkey.Layout), cmp.Or(t.In, time.UTC)
	_, name := dialect.SplitName(t.Name)
	switch {
	case !dialect.ValidName(t.Name):
		return wrong("the table's name %q; want letters, digits and underlines, with a schema and a dot before it or without", t.Name)
	case len(name) > longestName:
		return wrong("the table's name %q has %d bytes, at most %d: those of its partitions are longer by 15", name, len(name), longestName)
	case !dialect.ValidName(t.Key):
		return wrong("the column %q; want letters, digits and underlines", t.Key)
	case everyNames[t.Every] == "":
		return wrong("Every is %v; want Day, Week or Month", t.Every)
	case t.Ahead < 0 || t.Ahead > 1000:
		return wrong("Ahead is %d, want 0 to 1000", t.Ahead)
	case t.Keep < 0 || t.Keep > 100_000:
		return wrong("Keep is %d, want 0 to 100000", t.Keep)
	case t.Keep > 0 && oldNames[t.Old] == "":
		return wrong("Keep is %d, and Old is none of Drop, Detach and Archive", t.Keep)
	case t.Old == Archive && t.Archive == nil:
		return wrong("Old is Archive, and there is no function Archive")
	case t.Most < 0 || t.Move < 0 || t.LockWait < 0 || t.Tries < 0:
		return wrong("Most, Move, LockWait and Tries are not negative")
	}
	switch _, err := t.Layout.MinID(t.Layout.Epoch()); {
	case errors.Is(err, idgen.ErrLayout):
		return wrong("partitions hold ranges of ids, which are ranges of time only in a layout with the time on top: %w", err)
	case err != nil:
		return wrong("%w", err)
	case t.Layout.Unit() > longestUnit:
		return wrong("a tick of the layout is %v, at most %v: a partition begins with the tick that its first instant lies in", t.Layout.Unit(), longestUnit)
	}
	t.Ahead = cmp.Or(t.Ahead, map[Every]int{Day: 7, Week: 4, Month: 3}[t.Every])
	t.Most, t.Move = cmp.Or(t.Most, DefaultMost), cmp.Or(t.Move, DefaultMove)
	t.Tries, t.LockWait = cmp.Or(t.Tries, DefaultTries), cmp.Or(t.LockWait, DefaultLockWait)
	return t, nil
}

// bound returns the least id of an instant: 0 before the layout's epoch, and false after its end.
func (t Table) bound(at time.Time) (int64, bool) {
	if !at.After(t.Layout.Epoch()) {
		return 0, true
	}
	id, err := t.Layout.MinID(at)
	return id, err == nil
}

// lastID returns the bound of a partition that ends with the layout: the id after its last.
func (t Table) lastID() int64 {
	last, err := t.Layout.MaxID(t.Layout.ExhaustsAt().Add(-1))
	if err != nil || last == math.MaxInt64 {
		return math.MaxInt64
	}
	return last + 1
}

// period returns what is left from an instant on of the period that it lies in. It is false where there is no id of that time.
func (t Table) period(from time.Time) (Range, bool) {
	r := Range{From: from, To: t.Every.next(from, t.In)}
	first, ok := t.bound(r.From)
	end, within := t.bound(r.To)
	if !within {
		end = t.lastID()
	}
	r.FromID, r.ToID = first, end
	return r, ok && first < end
}

// timeOf returns the instant that a bound stands for. A bound is cut to its tick, so the first instant of a period that the tick has comes before the tick's.
func (t Table) timeOf(id int64) time.Time {
	parts, err := t.Layout.Decode(id)
	if err != nil {
		return time.Time{}
	}
	at := parts.Time.In(t.In)
	if next := t.Every.next(at, t.In); next.Sub(at) < t.Layout.Unit() {
		if least, ok := t.bound(next); ok && least == id {
			return next
		}
	}
	return at
}

// nameOf returns the name of a partition that begins at an instant. Names of one table sort by time.
func nameOf(at time.Time) string {
	if at.Hour() == 0 && at.Minute() == 0 {
		return at.Format("p20060102")
	}
	return at.Format("p20060102t1504")
}

// Clause returns the PARTITION BY of a CREATE TABLE, such as GORM's AutoMigrate has it made with db.Set("gorm:table_options", clause). On MySQL the
// clause has the last partition, without a bound. On PostgreSQL there is no default partition until one is made, see [Table.Create]: rows that no partition
// is there for are an error then, and an INSERT after the first [Keeper.Run] finds its partition. The error wraps [ErrTable] or [ErrUnsupported].
func (t Table) Clause(d Dialect) (string, error) {
	t, err := t.checked()
	if err == nil {
		err = supported(d)
	}
	if err != nil {
		return "", err
	}
	clause := "PARTITION BY RANGE (" + d.Quote(t.Key) + ")"
	if d == dialect.MySQL {
		clause += " (PARTITION " + d.Quote(lastName) + " VALUES LESS THAN MAXVALUE)"
	}
	return clause, nil
}

// lastName is the name of MySQL's partition without a bound.
const lastName = "pmax"

// Create returns the statements that make the table: with the columns and constraints given, as CREATE TABLE has them, the key's primary key, and a
// partition for rows that no other is there for: PostgreSQL's default partition, MySQL's last one without a bound. All others are made by [Keeper.Run], which
// is to be called before rows come. MySQL refuses foreign keys from and to such a table, and unique keys without the key's column in them; PostgreSQL refuses
// the latter. The error wraps [ErrTable] or [ErrUnsupported].
func (t Table) Create(d Dialect, columns ...string) ([]string, error) {
	clause, err := t.Clause(d)
	if err != nil {
		return nil, err
	}
	if t, err = t.checked(); err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%w: no columns are given; the key's is one of them, such as %s bigint NOT NULL", ErrTable, d.Quote(t.Key))
	}
	text := "CREATE TABLE " + d.Quote(t.Name) + " (\n"
	for _, column := range columns {
		text += "  " + column + ",\n"
	}
	text += "  PRIMARY KEY (" + d.Quote(t.Key) + ")\n) " + clause
	statements := []string{text}
	if d == dialect.Postgres {
		statements = append(statements, "CREATE TABLE "+d.Quote(t.Name+"_default")+" PARTITION OF "+d.Quote(t.Name)+" DEFAULT")
	}
	return statements, nil
}
