package shard

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// Fence is what has a table refuse to write rows of buckets that are no longer its own: triggers, so that no process can write past it, whatever
// map it holds.
//
// It refuses an INSERT, UPDATE or DELETE, and any statement that amounts to one, when the row before or after it is of such a bucket. What fires no
// trigger it cannot see: TRUNCATE on MySQL (on PostgreSQL it is refused, but not of one partition by that one's name), partitions that are truncated,
// dropped, exchanged, attached or detached, what a foreign key's CASCADE does on MySQL, the rows that SQLite's REPLACE deletes because of another
// unique column while recursive_triggers is off, and on PostgreSQL sessions whose session_replication_role is replica. On MySQL the table has to be of
// an engine with transactions, such as InnoDB: MyISAM and Aria tell of the error and keep what was written.
type Fence struct {
	Table   string  // as SQL names it, quoted
	Key     string  // the column with the ids, not quoted; of an integer type
	Name    string  // what the names of the triggers begin with, up to 40 letters, digits and underlines; one fence of a name a table, which Table spells the same each time
	Map     *Map    // for the layout, and the ids from before, which are not refused
	Buckets []int64 // whose rows are
	Pass    string  // sessions with this text in @snowkey_mover (MySQL) or the setting snowkey.mover (PostgreSQL) are not refused; empty: none
}

// fenced begins the message of the triggers.
const fenced = "snowkey:fenced: the bucket of this row has moved; read the map again"

// IsFenced tells whether an error of a database is that of a [Fence]: the row's bucket has moved, and the writer has an old map. Or resharding has
// ended at this moment, and MariaDB has looked for the table that its trigger wrote to when both were gone: nothing was written, and once more it is.
func IsFenced(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "snowkey:fenced:") || strings.Contains(text, ".snowkey_notes_") && strings.Contains(text, "1146")
}

// Make returns the statements that put the fence up, in the place of one of the same name, and Drop those that take it down; none fails when it is
// there, or is not there, already. A fence is whole when the last statement is done: then every write of such a row that was not committed before
// fails with an error that [IsFenced] knows. In the place of another one, what both refuse is refused at every moment between. Buckets none: a fence
// that refuses nothing.
//
// Each statement is to be run by itself, on any connection, in the order given; when one fails, all are run again. They wait for the transactions
// that have written to the table, as long as the session's lock_wait_timeout or lock_timeout says, and keep others waiting meanwhile. MySQL has to be
// 8.0.29 or newer. The error wraps [ErrMap] for a fence that is not valid, and [ErrLayout].
func (f Fence) Make(d Dialect) ([]string, error) {
	table, err := f.parse(d)
	if err != nil {
		return nil, err
	}
	if len(f.Buckets) == 0 {
		return f.Drop(d)
	}
	if d == Postgres {
		return []string{f.makePostgres(table)}, nil
	}
	// None of the two has a portable statement that replaces a trigger. The second one of each pair refuses while the first one is made anew. The
	// first statement is for a run that was killed when only the second one was there.
	var list []string
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		first, second := f.trigger(d, table, event, ""), f.trigger(d, table, event, "2")
		create := func(name string) string { return f.create(d, table, event, name) }
		drop := func(name string) string { return "DROP TRIGGER IF EXISTS " + name }
		list = append(list, create(first), drop(second), create(second), drop(first), create(first), drop(second))
	}
	return list, nil
}

// Drop returns the statements that take the fence down.
func (f Fence) Drop(d Dialect) ([]string, error) {
	table, err := f.parse(d)
	if err != nil {
		return nil, err
	}
	if d == Postgres {
		return []string{f.dropPostgres(table)}, nil
	}
	var list []string
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		for _, which := range []string{"", "2"} {
			list = append(list, "DROP TRIGGER IF EXISTS "+f.trigger(d, table, event, which))
		}
	}
	return list, nil
}

// Condition returns the SQL condition that a row is of one of the buckets; row is what stands before the column, such as "NEW." in a trigger. It is
// FALSE of ids from before, and of negative ones. The errors are those of Make.
func (f Fence) Condition(d Dialect, row string) (string, error) {
	if _, err := f.parse(d); err != nil {
		return "", err
	}
	return f.condition(d, row), nil
}

// fenceTable is the parts of a table's name, as SQL has them.
type fenceTable struct{ schema, name string }

// parse refuses a fence that no statement can be made of.
func (f Fence) parse(d Dialect) (fenceTable, error) {
	table := fenceTable{name: f.Table}
	if at := lastDot(f.Table); at >= 0 {
		table = fenceTable{f.Table[:at], f.Table[at+1:]}
	}
	valid := func(text string) bool {
		return !strings.ContainsFunc(text, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
		})
	}
	switch {
	case !d.Valid():
		return table, fmt.Errorf("%w: a fence in no dialect: %v", ErrMap, d)
	case table.name == "":
		return table, fmt.Errorf("%w: a fence of no table", ErrMap)
	case f.Key == "" || strings.ContainsRune(f.Key, 0):
		return table, fmt.Errorf("%w: a fence of table %s needs the column of its ids", ErrMap, f.Table)
	case f.Name == "" || len(f.Name) > 40 || !valid(f.Name):
		return table, fmt.Errorf("%w: the fence's name %q is not 1 to 40 letters, digits and underlines", ErrMap, f.Name)
	case !valid(f.Pass):
		return table, fmt.Errorf("%w: the fence's pass is not of letters, digits and underlines", ErrMap)
	case f.Map == nil:
		return table, fmt.Errorf("%w: a fence of table %s without a map", ErrMap, f.Table)
	}
	if bits := f.Map.Layout().Bits(idgen.Shard); bits == 0 {
		return table, fmt.Errorf("%w: %v has no shard field", ErrLayout, f.Map.Layout())
	}
	for _, b := range f.Buckets {
		if b < 0 || b > f.Map.Layout().Max(idgen.Shard) {
			return table, fmt.Errorf("%w: the fence has the bucket %d; the greatest is %d", ErrMap, b, f.Map.Layout().Max(idgen.Shard))
		}
	}
	return table, nil
}
