package plan

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// Errors of this package.
var (
	ErrOption  = errors.New("plan: invalid option")              // a table, column, time or number
	ErrBlocked = errors.New("plan: something stands in the way") // the message has all of it, and what to do
	ErrText    = errors.New("plan: not a plan")                  // Parse, ReadFiles
	ErrChanged = errors.New("plan: changed since it was made")   // Parse, ReadFiles: a file is not what it was made as
)

// Options say what to plan.
type Options struct {
	Mode    Mode              // default Widen; Shadow is PostgreSQL's alone
	Tables  []string          // whose keys change; default: all tables of the report that have a key; with "!" in front: not that one
	Layout  idgen.Layout      // of the new ids; default idgen.Snowkey's
	Node    *int64            // the node number in the new ids of old rows; default: the greatest that was never granted
	Grants  string            // table of grants; default grant.DefaultTable
	Space   string            // key space in it; default grant.DefaultSpace
	Created map[string]string // where new ids have their time from, by table, "*" for all others: a column, a time as RFC 3339, "through COLUMN" (a reference: the time of that row), or "keep" (ids stay); see [Key.Guessed]
	Zone    string            // IANA name of the zone of times that have none; without it such times are refused
	Below   int64             // ids below are old; default 2^42
	Accept  []string          // obstacles that are accepted: "KIND:TABLE.NAME", as the error prints them
	Window  time.Duration     // for how long the database must make no key before the flip, once for all tables; default 2 s on MySQL and MariaDB, which refuse snowflakes meanwhile, and 10 s elsewhere
	// Exclusive says, of a rekey, that nobody else writes from the first step to the last. One transaction locks and rewrites all tables, and there is no window. It is
	// an option of the plan and not of the run, since the steps differ.
	Exclusive bool
	Keep      bool      // without the last phase, which drops maps and old columns
	Tool      string    // the program and its version, for the plan's head
	Now       time.Time // default time.Now
}

// Make plans. It reads the database that the report is of, and writes nothing. The error wraps [ErrOption], or is a [Blocked] with all that
// stands in the way, or is the database's. The times of rows are looked at by migrate.MakePlan, and by a run before it writes.
func Make(ctx context.Context, db *sql.DB, report *inspect.Report, o Options) (*Plan, error) {
	b, err := newBuilder(ctx, db, report, o)
	if err != nil {
		return nil, err
	}
	if err := b.scope(ctx); err != nil {
		return nil, err
	}
	b.obstruct()
	if err := b.composite(ctx); err != nil {
		return nil, err
	}
	if err := b.number(ctx); err != nil {
		return nil, err
	}
	switch b.options.Mode {
	case Widen:
		err = widenBuilder{b}.steps(ctx)
	case Rekey:
		err = (&rekeyBuilder{builder: b}).steps(ctx)
	case Shadow:
		if postgres, ok := b.engine.(*postgresEngine); ok {
			err = (&shadowBuilder{postgres}).steps(ctx)
		} else {
			b.block("The mode shadow is not for SQLite, which has one writer at a time and rebuilds tables in one go: use the mode rekey.")
		}
	}
	if err != nil && (len(b.blocked) == 0 || ctx.Err() != nil || errors.Is(err, ErrOption)) { // else it may be for what stands in the way
		return nil, err
	}
	if len(b.blocked) > 0 {
		return nil, &Blocked{Needs: b.blocked, Draft: b.plan}
	}
	if len(b.plan.Steps) == 0 {
		nothing := "There is nothing to do: the keys and all that refers to them have 64 bits, and the database makes none of them."
		if b.dialect() == dialect.SQLite {
			nothing = "There is nothing to do: SQLite's integers have 64 bits, whatever their type is called. The program that fills its keys can be deployed at once."
		}
		b.plan.Notes = slices.Insert(b.plan.Notes, 0, nothing)
	}
	return b.plan, nil
}

// builder is one making of a plan: what all modes need. A mode has a builder of its own, widenBuilder, rekeyBuilder, exclusiveBuilder and shadowBuilder, and a
// database an engine.
type builder struct {
	engine     engine
	catalog    *catalog.Catalog
	db         *sql.DB
	report     *inspect.Report
	options    Options                             // complete: with the defaults
	tables     map[string]*catalog.Table           // by the name that the report has; of all keys and references
	names      map[catalog.Name]string             // the report's names, by the full ones
	leaves     map[*catalog.Table][]*catalog.Table // of a partitioned table of PostgreSQL, the partitions that have its rows
	references []*catalog.Reference                // the foreign keys of and to these
	columns    []*column                           // that get 64 bits: the keys, and what refers to them; each once
	plan       *Plan                               // Keys and References are complete before the steps are made
	silent     bool                                // sessions that rewrite rows fire no triggers, and none of the foreign keys': PostgreSQL's session_replication_role
	quiet      []string                            // the triggers that do not fire for it, with their tables
	guards     []guarded                           // the triggers of MariaDB that do not
	zoneless   []string                            // columns with times whose zone is to be named
	blocked    []Need                              // what stands in the way

	orphansCounted int // the number of the step that counts the orphans of references before the first row changes
	gated          int // the number of the step that makes the gates
}

// column is a column that has to hold snowflakes.
type column struct {
	table  string // as the report has it
	of     *catalog.Table
	column *catalog.Column
	key    bool // the column alone is its table's primary key, and snowflakes are to be put in it: the database has to stop making it
}

// newBuilder completes the options, and makes sure that the report is of this database.
func newBuilder(ctx context.Context, db *sql.DB, report *inspect.Report, o Options) (*builder, error) {
	if report == nil || report.Schema != inspect.Schema {
		return nil, fmt.Errorf("%w: the report is none of form %d: inspect the database with this version", ErrOption, inspect.Schema)
	}
	d, ok := dialect.Lookup(report.Database.Kind)
	if !ok {
		return nil, fmt.Errorf("%w: the report is of a database of the unknown kind %q", ErrOption, report.Database.Kind)
	}
	if o.Window == 0 {
		o.Window = defaultWindow
		if d == dialect.MySQL {
			o.Window = gatedWindow
		}
	}
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if o.Mode == Shadow && d == dialect.MySQL {
		return nil, fmt.Errorf("%w: the mode shadow is not for MySQL and MariaDB, where the copy of a table never ends while others add rows, "+
			"and the swap is no single moment: use rekey, which gives old rows new ids in batches, or widen, which keeps old ids and gives new rows snowflakes", ErrOption)
	}
	c, err := catalog.New(db, d)
	if err != nil {
		return nil, err
	}
	server, err := c.Server(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan: which database this is: %w", err)
	}
	if server.Kind != report.Database.Kind || server.Name != report.Database.Name || server.ID != report.Database.ID {
		return nil, fmt.Errorf("%w: the report is of the database %s (%s), this is %s (%s)", ErrOption,
			report.Database.Name, report.Database.ID, server.Name, server.ID)
	}
	silent := false
	if o.Mode != Widen {
		if silent, err = c.Silences(ctx); err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
	}
	b := &builder{catalog: c, db: db, report: report, options: o, silent: silent, tables: map[string]*catalog.Table{}, names: map[catalog.Name]string{}, leaves: map[*catalog.Table][]*catalog.Table{}}
	b.plan = &Plan{
		Schema: Schema, Tool: o.Tool, Made: o.Now.UTC().Truncate(time.Second), Mode: o.Mode, Database: inspect.Database(server),
		Layout: o.Layout.String(), Node: -1, Grants: o.Grants, Space: o.Space, Keys: []Key{}, References: []Reference{}, Notes: []string{}, Steps: []Step{},
	}
	b.engine = b.newEngine()
	return b, nil
}

// add appends steps.
func (b *builder) add(s ...Step) { b.plan.Steps = append(b.plan.Steps, s...) }

// block notes that something stands in the way.
func (b *builder) block(sentence string) { b.need(sentence, "", "") }

// need notes that something stands in the way that a flag settles.
func (b *builder) need(sentence, flag, value string) {
	if n := (Need{Text: sentence, Flag: flag, Value: value}); !slices.Contains(b.blocked, n) {
		b.blocked = append(b.blocked, n)
	}
}

// refuse blocks unless what stands in the way is accepted under the name that the sentence gets at its end. The name may be empty.
func (b *builder) refuse(kind, table, name, sentence string) {
	accept := inspect.Obstacle{Kind: kind, Table: table, Name: name}.Accept()
	for _, a := range b.options.Accept {
		if a == accept {
			return
		}
	}
	b.need(fmt.Sprintf("%s Or accept it: --accept %s", sentence, shellQuote(accept)), "accept", accept)
}

// note adds what is to be known before the plan is run.
func (b *builder) note(sentence string) { b.plan.Notes = append(b.plan.Notes, sentence) }

// dialect returns the database's.
func (b *builder) dialect() dialect.Dialect { return b.catalog.Dialect() }

// quoted returns a table as statements have it, by the report's name.
func (b *builder) quoted(table string) string { return b.catalog.Quoted(b.tables[table].Name) }

// quote returns a column, or another name of one part, as statements have it.
func (b *builder) quote(part string) string { return b.catalog.Quote(part) }

// rows and bytes return the estimates of a table, -1 where they are unknown.
func (b *builder) rows(table string) int64  { return b.tables[table].Rows }
func (b *builder) bytes(table string) int64 { return b.tables[table].Bytes }

// rowsIn returns the estimate of a table that the plan may not have.
func (b *builder) rowsIn(table string) int64 {
	if t := b.tables[table]; t != nil {
		return t.Rows
	}
	return -1
}

// ref returns an action as an Undo.
func ref(a Action) *Action { return &a }

// transactional returns the action of statements in one transaction.
func transactional(sql ...string) Action { return Action{Kind: Transactional, SQL: sql} }

// autocommit returns the action of statements that commit by themselves, with a query for the effect of each, and notes which privileges they need on MySQL.
func (b *builder) autocommit(sql, applied []string, privileges ...string) Action {
	for _, p := range privileges {
		if !slices.Contains(b.plan.Privileges, p) {
			b.plan.Privileges = append(b.plan.Privileges, p)
		}
	}
	return Action{Kind: Autocommit, SQL: sql, Applied: applied}
}

// concurrently returns the action of a statement of PostgreSQL's for an index, during which others write.
func concurrently(sql, applied string, repair ...string) Action {
	return Action{Kind: Autocommit, Concurrently: true, SQL: []string{sql}, Applied: []string{applied}, Repair: repair}
}

// literal returns a text as statements have it.
func (b *builder) literal(text string) string {
	if strings.Contains(text, `\`) {
		switch b.dialect() { // a backslash is special or not, by the session's settings
		case dialect.MySQL:
			return "CONVERT(0x" + hex.EncodeToString([]byte(text)) + " USING utf8mb4)"
		case dialect.Postgres:
			return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
		}
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// orphans returns the query for the number of rows whose foreign key points to no row.
func (b *builder) orphans(r *catalog.Reference) string {
	return "SELECT COUNT(*) " + b.catalog.Orphans(r, b.short(r.Child), b.short(r.Parent))
}

// short returns the name of a table that statements have: without the schema where the table is read and needs none.
func (b *builder) short(full catalog.Name) catalog.Name {
	if name, ok := b.names[full]; ok {
		return b.tables[name].Name
	}
	return full
}
