package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

// doubtAdvice says what to do with what the statements find.
const doubtAdvice = `-- An id that is found was made by the lost number's holder, or by another generator that was granted the number, or by both. A table whose
-- key is unique has refused the second row. What is left to look at: ids that two tables or databases share, references to them, and what
-- was sent elsewhere, such as messages and URLs. Of the rows of one id keep one, and give the others new ids, with all that refers to them.
-- Of tables in several databases run the first statement in each, and compare.
`

func newNodesDoubt() *cobra.Command {
	c := &cobra.Command{
		Use:   "doubt",
		Short: "Print the SQL that finds ids which may exist twice",
		Long: `Print the ids in doubt: when a database has forgotten a grant, as after a restore from an older copy, another generator may have been
granted the same number. Each keeper that notices records its loss. For each loss this prints the least and the greatest id in doubt, a
statement that selects the rows of a table with such ids, and one that selects the ids that exist twice, in one table or in
several. Only ids that were made with the number in the time of the loss are found.

What is printed is SQL with comments. It is not run, and nothing is written. --table and --column may be given again; one --column is that of all
tables. Names are quoted, so PostgreSQL takes them letter by letter.

A process that has ended before it noticed records no loss. --from and --until ask for the ids of such a time instead, for instance from
the time to which the database was restored until the last process of before was ended; with --number for those of one number.

The exit status is 0 with and without ids in doubt, and 1 when a key space cannot be read, or is in two tables: then all ids that were made
since are in doubt. Losses stay recorded. When the rows have been seen to,
  DELETE FROM snowkey_nodes WHERE space = 'default' AND node < -2
forgets them; after a change of the layout some have the space default~1. In Redis it is the key snowkey:{default}:losses, in etcd
snowkey/default/losses, in ZooKeeper the nodes below /snowkey/default that begin with loss. For a space that has changed its layout, the ids in doubt are given in each.`,
		Example: `  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey nodes doubt --table orders --table payments
  snowkey nodes doubt --db sqlite:app.db --table orders --column order_id --table users --column id
  snowkey nodes doubt --db sqlite:app.db --table orders --from 2026-03-01T12:00:00Z --until 2026-03-01T12:07:30Z
  snowkey nodes doubt --db-file /run/secrets/app --space orders --json
  snowkey nodes doubt --store-file /run/secrets/redis --dialect postgres --table orders`,
		Args: cobra.NoArgs,
	}
	named, stored := databaseFlag(c), storeFlag(c)
	grants := c.Flags().String("grants", grant.DefaultTable, "table that the grants are in, of a database")
	dialectName := c.Flags().String("dialect", "", "with a store, what database the tables with ids are in: mysql (MariaDB too), postgres or sqlite")
	complete(c, "dialect", "mysql", "postgres", "sqlite")
	space := c.Flags().String("space", "", "look at this key space alone")
	tables := c.Flags().StringArray("table", nil, `table with ids, "schema.table" or its name alone; may be given again (default your_table)`)
	columns := c.Flags().StringArray("column", nil, "column of the ids, one for all tables or one for each (default id)")
	from := c.Flags().String("from", "", "take the ids from this time on, rather than those of recorded losses; a time of RFC 3339")
	until := c.Flags().String("until", "", "take the ids from before this time")
	number := c.Flags().Int64("number", anyNumber, "with --from, take those of this number alone")
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var asked *timeRange
		if c.Flags().Changed("from") || c.Flags().Changed("until") || c.Flags().Changed("number") {
			var err error
			if asked, err = parseRange(*from, *until, *number); err != nil {
				return usageError{err}
			}
		}
		in, err := parseIDColumns(*tables, *columns)
		if err != nil {
			return usageError{err}
		}
		byStore, err := usesStore(c, named, stored)
		if err != nil {
			return err
		}
		if byStore != c.Flags().Changed("dialect") {
			return usageError{errors.New("--dialect goes with a store, which does not tell what database the tables with ids are in: mysql, postgres or sqlite")}
		}
		var ofTables grant.Dialect
		if byStore {
			if ofTables, err = grant.LookupDialect(*dialectName); err != nil {
				return usageError{fmt.Errorf("--dialect: %w", err)}
			}
		}
		write := writeDoubts
		if *asJSON {
			write = writeJSONLines[doubtLine]
		}
		return withNodes(c, named, stored, "grants", *grants, *space, func(dialect grant.Dialect, nodes nodeList) error {
			if byStore {
				dialect = ofTables
			}
			if asked != nil {
				nodes.ask(*asked)
			}
			doubts, unknown := listDoubts(dialect, nodes, in)
			return errors.Join(write(c.OutOrStdout(), doubts), unknown)
		})
	}
	return c
}

// timeRange is a time of which ids were asked for, of a number or any.
type timeRange struct {
	from, until time.Time
	number      int64
}

func parseRange(from, until string, number int64) (*timeRange, error) {
	first, end, err := parseTimes(from, "until", until)
	if err != nil {
		return nil, err
	}
	if !end.After(first) {
		return nil, fmt.Errorf("--until %s is not after --from %s", until, from)
	}
	if number < anyNumber {
		return nil, fmt.Errorf("--number %d: want a number that nodes lists", number)
	}
	return &timeRange{first, end, number}, nil
}

// ask puts what was asked for in place of the losses of each space.
func (n nodeList) ask(r timeRange) {
	for i := range n.spaces {
		s := &n.spaces[i]
		s.losses = []grant.Loss{{Number: r.number}}
		if s.known && r.number < s.numbers() {
			epoch, unit := s.layout.Epoch(), s.layout.Unit()
			s.losses[0].From, s.losses[0].Until = int64(r.from.Sub(epoch)/unit), int64((r.until.Sub(epoch)-1)/unit)+1
		}
	}
}

// idColumn is a column that holds ids.
type idColumn struct{ table, column string }

// parseIDColumns returns the columns that were asked for, or one with names to be replaced.
func parseIDColumns(tables, columns []string) (in []idColumn, err error) {
	if len(tables) == 0 {
		tables = []string{"your_table"}
	}
	if len(columns) == 0 {
		columns = []string{"id"}
	}
	if len(columns) != 1 && len(columns) != len(tables) {
		return nil, fmt.Errorf("--column is given %d times and --table %d times; want one column, or one for each table", len(columns), len(tables))
	}
	for i, table := range tables {
		c := idColumn{table, columns[min(i, len(columns)-1)]}
		for _, part := range append(strings.Split(c.table, "."), c.column) {
			if part == "" || printable(part) != part || strings.Count(c.table, ".") > 1 {
				return nil, fmt.Errorf("--table %q, --column %q: want a table, or a schema, a dot and a table, and a column", c.table, c.column)
			}
		}
		in = append(in, c)
	}
	return in, nil
}

// doubtLine is the JSON object of a loss with its ids.
type doubtLine struct {
	Space     string   `json:"space"`
	Table     string   `json:"table"`  // of the grants
	Node      int64    `json:"node"`   // -1 for all
	Holder    string   `json:"holder"` // empty when it was asked for by --from
	From      string   `json:"from"`
	Until     string   `json:"until"`
	FromTick  int64    `json:"from_tick"`
	UntilTick int64    `json:"until_tick"`
	Layout    string   `json:"layout"`
	Least     string   `json:"least,omitempty"` // none of the three when no id was made
	Greatest  string   `json:"greatest,omitempty"`
	Rows      []string `json:"rows,omitempty"` // a statement for each table
	Twice     string   `json:"twice,omitempty"`
	kind      string   // "table" or "store"
}

// listDoubts returns the losses of all spaces with their SQL. The error names losses of which the layout is not known, and spaces that may have had more.
func listDoubts(dialect grant.Dialect, nodes nodeList, in []idColumn) (doubts []doubtLine, unknown error) {
	for _, s := range nodes.spaces {
		if len(s.losses) > 0 && !s.known {
			unknown = errors.Join(unknown, fmt.Errorf("space %q has losses, and a layout that this version cannot read: %q", s.Name, s.Layout))
			continue
		}
		if s.kind == "store" && len(s.losses) >= grant.MostLosses {
			unknown = errors.Join(unknown, fmt.Errorf("space %q has %d losses, and its store keeps no more: ids of older ones may exist twice too; name their time with --from and --until", s.Name, len(s.losses)))
		}
		for _, loss := range s.losses {
			line := doubtLine{
				kind: s.kind, Space: s.Name, Table: s.table, Node: loss.Number, Holder: loss.Holder,
				From: s.formatTick(loss.From), Until: s.formatTick(loss.Until), FromTick: loss.From, UntilTick: loss.Until,
			}
			for _, phase := range s.phases { // a loss may be of a time that a restore gave another layout
				line := line
				line.Layout = phase.Layout.String()
				if ids, some := newDoubt(phase.Layout, loss.Number, loss.From, loss.Until); some {
					least, greatest := ids.bounds()
					line.Least, line.Greatest = fmt.Sprint(least), fmt.Sprint(greatest)
					line.Rows, line.Twice = ids.statements(dialect, in)
				}
				doubts = append(doubts, line)
			}
		}
	}
	return doubts, unknown
}

// statements returns the SQL that selects the ids in each column, and the SQL for those that are there twice.
func (d doubt) statements(dialect grant.Dialect, in []idColumn) (rows []string, twice string) {
	var all []string
	for _, c := range in {
		column := dialect.QuoteAny(c.column)
		table := dialect.QuoteAny(c.table)
		if schema, name, found := strings.Cut(c.table, "."); found {
			table = dialect.QuoteAny(schema) + "." + dialect.QuoteAny(name)
		}
		from := fmt.Sprintf("FROM %s WHERE %s", table, d.condition(column))
		rows = append(rows, fmt.Sprintf("SELECT %s %s ORDER BY %[1]s", column, from))
		all = append(all, fmt.Sprintf("SELECT %s AS id %s", column, from))
	}
	return rows, fmt.Sprintf("SELECT id, COUNT(*) FROM (%s) AS doubt GROUP BY id HAVING COUNT(*) > 1 ORDER BY id", strings.Join(all, " UNION ALL "))
}

func writeDoubts(w io.Writer, doubts []doubtLine) error {
	text := new(strings.Builder)
	some := false
	for _, d := range doubts {
		fmt.Fprintf(text, "-- space %s in %s %s: ", d.Space, d.kind, printable(d.Table))
		switch {
		case d.Holder != "":
			fmt.Fprintf(text, "number %d, lost by %s\n", d.Node, nameOf(d.Holder))
		case d.Node == anyNumber:
			text.WriteString("all numbers\n")
		default:
			fmt.Fprintf(text, "number %d\n", d.Node)
		}
		if d.Least == "" {
			fmt.Fprintf(text, "-- no ids from %s until %s\n\n", d.From, d.Until)
			continue
		}
		some = true
		fmt.Fprintf(text, "-- ids of %s made from %s until %s are in doubt: of those from %s to %s\n", d.Layout, d.From, d.Until, d.Least, d.Greatest)
		for _, statement := range d.Rows {
			fmt.Fprintf(text, "%s;\n", statement)
		}
		fmt.Fprintf(text, "-- of these, ids that exist twice\n%s;\n\n", d.Twice)
	}
	if some {
		text.WriteString(doubtAdvice)
	} else {
		text.WriteString("-- no ids in doubt\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
