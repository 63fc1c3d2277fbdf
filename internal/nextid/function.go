package nextid

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// The errors of this package, to be tested with errors.Is.
var (
	// ErrDatabase says that a database cannot have such a function.
	ErrDatabase = errors.New("nextid: the database has no functions that keep a state")
	// ErrLayout says that the function cannot make keys of a layout.
	ErrLayout = errors.New("nextid: no function for this layout")
	// ErrName says that a name is none.
	ErrName = errors.New("nextid: invalid name")
)

// DefaultName is the name of the function.
const DefaultName = "snowkey_next_id"

// lag is how far the time of a key may be behind the clock on PostgreSQL. With a tick for each millisecond, 16 sessions that insert batches would
// wait for the lock most of the time: they made 5,000 to 27,000 keys a second.
const lag = 10 * time.Millisecond

// ahead is how far the time of a key may be ahead of the clock before the function looks for its row with each key.
const ahead = time.Second

// mostName is how long the name of a function can be: those of its state are longer, and names have 63 characters on PostgreSQL.
const mostName = 48

// Function is a function that makes keys of a layout with one number.
type Function struct {
	Dialect grant.Dialect
	Name    string // without a schema: the function is in that of the grants
	Layout  idgen.Layout
	Schema  string // of the table of grants, which is a database on MySQL
	Grants  string // the table's name
	Space   string // the key space
	Number  grant.Reservation
	Columns []Column // that get the function's keys
}

// Column is a column of keys.
type Column struct {
	Table  string // with its schema and a dot, or without
	Column string
}

// Check reports whether a database can have the function of that name for keys of the layout and for the columns. Nothing has to be reserved for that. The
// error wraps [ErrDatabase], [ErrLayout] or [ErrName].
func Check(d grant.Dialect, name string, layout idgen.Layout, columns []Column) error {
	switch {
	case d == grant.SQLite:
		return fmt.Errorf("%w: SQLite has no functions of SQL; let a program with the plugin insert the rows, or take keys of snowkey next", ErrDatabase)
	case !d.Valid():
		return fmt.Errorf("%w: %v, want postgres or mysql", ErrDatabase, d)
	case !dialect.ValidName(name) || strings.Contains(name, ".") || len(name) > mostName:
		return fmt.Errorf("%w: the function %q, want up to %d letters, digits and underlines, and no digit first; it is made in the schema of the table of grants", ErrName, name, mostName)
	case layout.Bits(idgen.Sequence) == 0:
		return fmt.Errorf("%w: %s has no sequence", ErrLayout, layout)
	case layout.Bits(idgen.Shard) > 0:
		return fmt.Errorf("%w: %s has a shard, and the function knows none", ErrLayout, layout)
	case layout.Unit()%time.Microsecond != 0:
		return fmt.Errorf("%w: %s has ticks of %s, and the database's clock counts microseconds", ErrLayout, layout, layout.Unit())
	}
	for _, c := range columns {
		if !dialect.ValidName(c.Table) || !dialect.ValidName(c.Column) || strings.Contains(c.Column, ".") {
			return fmt.Errorf("%w: table %q, column %q: want up to 63 letters, digits and underlines, before the table its schema and a dot or nothing", ErrName, c.Table, c.Column)
		}
	}
	return nil
}

// Statements returns the statements that make the function, its state, and the columns' use of it, in their order and without semicolons. Again they change
// nothing: the state stays. The error is that of [Check].
func (f Function) Statements() ([]string, error) {
	if err := Check(f.Dialect, f.Name, f.Layout, f.Columns); err != nil {
		return nil, err
	}
	if f.Dialect == grant.Postgres {
		return f.postgres(), nil
	}
	return f.mysql(), nil
}

// expand replaces what stands for the function's parts in SQL. All are constants of the statement.
func (f Function) expand(text string) string {
	sequence := f.Layout.Bits(idgen.Sequence)
	most := uint64(f.Layout.Max(idgen.Time))<<sequence | uint64(f.Layout.Max(idgen.Sequence))
	grants := f.Dialect.QuotePlace(dialect.Place{Schema: f.Schema, Table: f.Grants})
	word, turn := fmt.Sprintf("%s_word%d", f.Name, sequence), f.Name+"_turn" // a layout with another sequence has a word of its own
	inSchema := func(name string) string { return f.Dialect.QuoteAny(f.Schema) + "." + f.Dialect.QuoteAny(name) }
	gone := fmt.Sprintf("%s: number %d of key space %s is not reserved in %s.%s any more: the table was restored or replaced, or the space has another layout; run snowkey ddl function again",
		f.Name, f.Number.Number, f.Space, f.Schema, f.Grants)
	if f.Dialect == grant.MySQL && len(gone) > 128 { // as much as MESSAGE_TEXT has room for
		gone = fmt.Sprintf("number %d of space %.32s is not reserved any more; run snowkey ddl function again", f.Number.Number, f.Space)
	}
	return strings.NewReplacer(
		"<function>", inSchema(f.Name),
		"<word>", inSchema(word),
		"<turn>", inSchema(turn),
		"<word name>", dialect.Literal(inSchema(word)),
		"<turn name>", dialect.Literal(inSchema(turn)),
		"<grants>", grants,
		"<space>", dialect.Literal(f.Number.StoredAs),
		"<holder>", dialect.Literal(f.Number.Holder),
		"<gone>", dialect.Literal(gone),
		"<number>", fmt.Sprint(f.Number.Number),
		"<forever>", fmt.Sprint(int64(grant.Forever)),
		"<lock>", fmt.Sprint(dialect.FunctionLock(f.Schema, f.Name).Number()),
		"<epoch>", fmt.Sprint(f.Layout.Epoch().UnixMicro()),
		"<unit>", fmt.Sprint(f.Layout.Unit().Microseconds()),
		"<from>", fmt.Sprint(f.Number.From),
		"<first>", fmt.Sprint(max(1, f.Number.From<<sequence)),
		"<most>", fmt.Sprint(most),
		"<lag>", fmt.Sprint(int64(lag/f.Layout.Unit())<<sequence+1),
		"<ahead>", fmt.Sprint((int64(ahead/f.Layout.Unit())+1)<<sequence),
		"<sequence>", fmt.Sprint(sequence),
		"<spread>", fmt.Sprint(max(1, (f.Layout.Max(idgen.Sequence)+1)/4)-1),
		"<key>", f.key(),
	).Replace(text)
}

// key is the expression for the key of a word.
func (f Function) key() string {
	l := f.Layout
	sequence := l.Bits(idgen.Sequence)
	lowShift, low := l.LowTime()
	// Of the word, the bits of the time above the lower part, the lower part and the sequence, each moved to its place.
	parts := []string{fmt.Sprintf("(word >> %d) << %d", sequence+low, l.Shift(idgen.Time))}
	if low > 0 {
		parts = append(parts, fmt.Sprintf("((word >> %d) & %d) << %d", sequence, int64(1)<<low-1, lowShift))
	}
	parts = append(parts, fmt.Sprintf("(word & %d) << %d", l.Max(idgen.Sequence), l.Shift(idgen.Sequence)))
	number := f.Number.Number
	placed := number>>l.Bits(idgen.Node)<<l.Shift(idgen.Datacenter) | number&l.Max(idgen.Node)<<l.Shift(idgen.Node)
	return "(" + strings.Join(append(parts, fmt.Sprint(placed)), ") | (") + ")"
}
