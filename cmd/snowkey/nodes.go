package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

func newNodes() *cobra.Command {
	c := &cobra.Command{
		Use:   "nodes",
		Short: "List the node numbers that are granted in a database",
		Long: `List the node numbers that are granted in a database: where the table is, and for each key space its identity, who has
each number, from when until when, and whether it is held, free (given back), or ended (its holder stopped without giving it
back, or cannot reach the database); rows that are gone; and the losses: grants that the database has forgotten, so that ids may
exist twice, see "snowkey nodes doubt". A space that has changed its layout, or is about to, shows each with its time, see
"snowkey nodes change". Nothing is written. The time that counts is the database's. Grants in Redis, etcd or ZooKeeper are listed as well.

The exit status is 1 when a key space cannot be listed, such as one with a name that is not valid, and when a key space is in
two tables, which are both listed. The rest is listed all the same. With --max-held 80% it is 1 too when more than that part of
a space's numbers is held; where rows are gone, numbers without a row count as held. A space with one number is not judged.`,
		Example: `  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey nodes
  snowkey nodes --db sqlite:app.db --max-held 80%
  snowkey nodes --db-file /run/secrets/app --space orders --json
  SNOWKEY_STORE=rediss://app:secret@redis.internal:6379 snowkey nodes
  snowkey nodes --store etcd://127.0.0.1:2379 --json
  snowkey nodes --store zk://127.0.0.1:2181,127.0.0.1:2182 --max-held 80%
  snowkey nodes doubt --db sqlite:app.db --table orders
  snowkey nodes change --db sqlite:app.db --to packed --dry-run
  snowkey nodes ddl --dialect mysql`,
		Args: cobra.NoArgs,
	}
	named, stored := databaseFlag(c), storeFlag(c)
	table := c.Flags().String("table", grant.DefaultTable, "table that the grants are in, of a database")
	space := c.Flags().String("space", "", "list this key space alone")
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	maxHeld := c.Flags().String("max-held", "", "exit with 1 when more of a space's numbers are held than this `percentage`, such as 80%")
	c.RunE = func(c *cobra.Command, _ []string) error {
		most := 0.0 // for none
		if c.Flags().Changed("max-held") {
			var err error
			if most, err = parsePercentage(*maxHeld); err != nil {
				return usageError{fmt.Errorf("--max-held: %w", err)}
			}
		}
		write := writeNodes
		if *asJSON {
			write = writeNodesJSON
		}
		var full error
		err := withNodes(c, named, stored, "table", *table, *space, func(_ grant.Dialect, nodes nodeList) error {
			full = nodes.checkHeld(most)
			return write(c.OutOrStdout(), nodes)
		})
		return errors.Join(err, full)
	}
	c.AddCommand(newNodesDDL(), newNodesDoubt(), newNodesChange())
	return c
}

// withNodes reads what a database has in the table of that name, which a flag gave, or what a store has, has it written, and fails with what could not be
// read. The dialect is that of the database.
func withNodes(c *cobra.Command, named, stored *dsnFlag, flag, table, space string, write func(grant.Dialect, nodeList) error) error {
	list := func(ctx context.Context, dialect grant.Dialect, store nodeStore) error {
		nodes, err := listNodes(ctx, store, space)
		if err != nil {
			return err
		}
		if err := write(dialect, nodes); err != nil {
			return err
		}
		return nodes.failed()
	}
	return withGrants(c, named, stored, flag, table, list)
}

// withGrants calls do with the grants of a database, in the table of that name, which a flag gave, or with those of a store, whose dialect is 0.
func withGrants(c *cobra.Command, named, stored *dsnFlag, flag, table string, do func(context.Context, grant.Dialect, nodeStore) error) error {
	byStore, err := usesStore(c, named, stored)
	if err != nil {
		return err
	}
	if byStore {
		if c.Flags().Changed(flag) {
			return usageError{fmt.Errorf("--%s is for databases; the keys of a store begin with the prefix in its URL", flag)}
		}
		return stored.withStore(c, func(ctx context.Context, store nodeStore) error { return do(ctx, 0, store) })
	}
	return named.with(c, func(ctx context.Context, d database, pool *sql.DB) error {
		if _, err := grant.DDL(d.dialect, table); err != nil {
			return usageError{fmt.Errorf("--%s: %w", flag, err)}
		}
		return do(ctx, d.dialect, grant.SQL(pool, d.dialect, grant.WithTable(table)))
	})
}

func newNodesDDL() *cobra.Command {
	c := &cobra.Command{
		Use:   "ddl --dialect NAME",
		Short: "Print the statement that makes the table of grants",
		Long: `Print the statement that makes the table of grants, for databases where the application may not make
tables itself. It needs SELECT, INSERT and UPDATE on this one then.`,
		Example: `  snowkey nodes ddl --dialect postgres
  snowkey nodes ddl --dialect mysql --table app.snowkey_nodes`,
		Args: cobra.NoArgs,
	}
	name := c.Flags().String("dialect", "", "mysql (MariaDB too), postgres or sqlite")
	table := c.Flags().String("table", grant.DefaultTable, "name of the table")
	complete(c, "dialect", "mysql", "postgres", "sqlite")
	c.RunE = func(c *cobra.Command, _ []string) error {
		dialect, err := grant.LookupDialect(*name)
		if err != nil {
			return usageError{fmt.Errorf("--dialect: %w", err)}
		}
		statement, err := grant.DDL(dialect, *table)
		if err != nil {
			return usageError{fmt.Errorf("--table: %w", err)}
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), statement+";")
		return err
	}
	return c
}

// nodeList is what the tables of a database have, or a store.
type nodeList struct {
	kind     string // "table" or "store"
	table    string // where it is
	warnings []string
	spaces   []nodeSpace
	twice    error // names the spaces that are in two tables
}

// nodeSpace is a key space with its numbers.
type nodeSpace struct {
	grant.Space
	kind   string // "table" or "store"
	table  string
	phases idgen.Phases
	layout idgen.Layout // in force
	known  bool         // the space's layout is that one
	err    error        // why the numbers cannot be listed, nil when they are in the Listing
	losses []grant.Loss
	grant.Listing
}

// listNodes reads the numbers of all spaces, or of the one with a name. A space that cannot be listed has the error, and the others are
// read. One that is in several tables comes once for each.
func listNodes(ctx context.Context, store nodeStore, name string) (nodes nodeList, err error) {
	tables, isDatabase := store.(*grant.SQLStore)
	nodes.kind = kindOf(store)
	if isDatabase {
		if err := tables.Locate(ctx); err != nil {
			return nodes, err
		}
	}
	found, err := listSpaces(ctx, store, name)
	if err != nil {
		return nodes, err
	}
	nodes.table, nodes.warnings = store.Place(), store.Warnings() // a store knows them once it was asked
	for _, space := range found {
		nodes.spaces = append(nodes.spaces, space)
		if space.err != nil || !isDatabase {
			continue
		}
		others, err := tables.Others(ctx, space.Name)
		if err != nil && !errors.Is(err, grant.ErrTwoTables) {
			return nodes, err
		}
		nodes.twice = errors.Join(nodes.twice, err)
		for _, other := range others {
			again, err := listSpaces(ctx, other, space.Name)
			if err != nil {
				return nodes, err
			}
			nodes.spaces = append(nodes.spaces, again...)
		}
	}
	return nodes, nil
}

// kindOf says what a store is.
func kindOf(store nodeStore) string {
	if _, isDatabase := store.(*grant.SQLStore); isDatabase {
		return "table"
	}
	return "store"
}

// listSpaces reads the spaces of one table or store, or the one with a name.
func listSpaces(ctx context.Context, store nodeStore, name string) (spaces []nodeSpace, err error) {
	found, err := store.Spaces(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
		if name != "" && f.Name != name {
			continue
		}
		space := nodeSpace{Space: f, kind: kindOf(store), table: store.Place()}
		if space.Listing, space.err = store.List(ctx, f.StoredAs, 0, math.MaxInt64); space.err == nil {
			space.losses, space.err = losses(ctx, store, f)
		}
		if ctx.Err() != nil {
			return nil, space.err
		}
		if space.phases, err = idgen.ParsePhases(f.Layout); err == nil { // else one of a version to come: its ticks are shown
			space.layout, space.known = space.phases.At(space.Now).Layout, true
			space.Layout = space.layout.String()
		}
		spaces = append(spaces, space)
	}
	switch {
	case name == "" || len(spaces) > 0:
		return spaces, nil
	case len(names) == 0:
		return nil, fmt.Errorf("no key space %q; there is none at all", name)
	}
	return nil, fmt.Errorf("no key space %q; there are %q", name, names)
}

// losses reads those of a space. A keeper records a loss under the space's own name, and a change of the layout takes what it finds there along.
func losses(ctx context.Context, store nodeStore, space grant.Space) ([]grant.Loss, error) {
	found, err := store.Losses(ctx, space.StoredAs)
	if err != nil || space.StoredAs == space.Name {
		return found, err
	}
	later, err := store.Losses(ctx, space.Name)
	return append(found, later...), err
}

// failed joins the errors of the spaces that could not be listed, and names those that are in two tables.
func (n nodeList) failed() error {
	var failed error
	for _, s := range n.spaces {
		failed = errors.Join(failed, s.err)
	}
	return errors.Join(failed, n.twice)
}

// time returns when a tick begins, as far as it is known.
func (s nodeSpace) time(tick int64) (time.Time, bool) {
	if !s.known || tick < 0 || tick > math.MaxInt64/int64(s.layout.Unit()) {
		return time.Time{}, false
	}
	return s.layout.Epoch().Add(time.Duration(tick) * s.layout.Unit()), true
}

// absent returns the tick until which numbers without a row are held because rows are gone, 0 for none.
func (s nodeSpace) absent() int64 {
	until := s.Absent
	if s.Gone > 0 {
		until = max(until, s.Mark)
	}
	if at, ok := s.time(until); ok && !at.After(s.Now) {
		return 0
	}
	return until
}

// formatTick shows a tick as the time that it begins at.
func (s nodeSpace) formatTick(tick int64) string {
	if tick == grant.Forever {
		return "for good"
	}
	if at, ok := s.time(tick); ok {
		return formatTime(at, s.layout.Unit())
	}
	return fmt.Sprintf("tick %d", tick)
}

// state says whether a number is held, free or ended.
func (s nodeSpace) state(row grant.Row) string {
	until, ok := s.time(row.Until)
	switch {
	case row.Until == grant.Forever:
		return "reserved"
	case row.Holder == "":
		return "free"
	case !ok:
		return "unknown"
	case until.After(s.Now):
		return "held"
	}
	return "ended"
}

// numbers returns how many numbers the space has.
func (s nodeSpace) numbers() int64 {
	if !s.known {
		return 1
	}
	return 1 << (s.layout.Bits(idgen.Datacenter) + s.layout.Bits(idgen.Node))
}

// count returns how many numbers are in each state.
func (s nodeSpace) count() map[string]int64 {
	states := map[string]int64{}
	for _, row := range s.Rows {
		states[s.state(row)]++
	}
	return states
}

func writeNodes(w io.Writer, nodes nodeList) error {
	text := new(strings.Builder)
	for _, warning := range nodes.warnings {
		fmt.Fprintf(text, "warning: %s\n", printable(warning))
	}
	if len(nodes.spaces) == 0 {
		fmt.Fprintf(text, "no key spaces yet in %s %s\n", nodes.kind, printable(nodes.table))
	}
	for _, s := range nodes.spaces {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		if s.err != nil {
			fmt.Fprintf(text, "space %q cannot be listed: %s\n", s.Name, printable(s.err.Error()))
			continue
		}
		s.writeTo(text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeTo prints a space and its numbers.
func (s nodeSpace) writeTo(text *strings.Builder) {
	states := s.count()
	fmt.Fprintf(text, "space %s, %d of %d held at %s, %d given back, %d ended\n%s %s\nidentity %s\nlayout %s\n", s.Name, states["held"], s.numbers(),
		s.Now.Format(time.RFC3339), states["free"], states["ended"], s.kind, printable(s.table), printable(s.Space.ID), printable(s.Layout))
	if len(s.phases) > 1 {
		for _, line := range s.phaseLines() {
			fmt.Fprintf(text, "from %s, key %d: %s\n", line.From, line.FirstID, line.Layout)
		}
	}
	rows := newColumns(text, "NODE", "STATE", "FROM", "UNTIL", "HOLDER")
	for _, line := range s.lines() {
		rows.line(line.Node, line.State, s.formatTick(line.FromTick), s.formatTick(line.UntilTick), nameOf(line.Holder))
	}
	rows.end()
	if until := s.absent(); until > 0 {
		fmt.Fprintf(text, "rows are gone: numbers without a row count as held until %s\n", s.formatTick(until))
	}
	if len(s.losses) > 0 {
		fmt.Fprintf(text, "ids that were made with a lost number in its time may exist twice: snowkey nodes doubt has the SQL that finds them\n")
	}
}

// nameOf returns the name of a holder that is for people, without what makes it unique.
func nameOf(holder string) string {
	name, _, _ := strings.Cut(printable(holder), "#")
	return name
}

// nodeLine is the JSON object of a number, or of a loss.
type nodeLine struct {
	Kind      string `json:"kind"` // "node", or "loss"
	Space     string `json:"space"`
	Table     string `json:"table"`
	Node      int64  `json:"node"`
	State     string `json:"state"` // "lost" of a loss
	Holder    string `json:"holder"`
	From      string `json:"from,omitempty"`
	Until     string `json:"until,omitempty"`
	FromTick  int64  `json:"from_tick"`
	UntilTick int64  `json:"until_tick"`
	Now       string `json:"now"`
	Layout    string `json:"layout"`
}

// spaceLine is the JSON object of a space.
type spaceLine struct {
	Kind     string      `json:"kind"` // "space"
	Space    string      `json:"space"`
	Table    string      `json:"table"`
	ID       string      `json:"id"`
	Layout   string      `json:"layout"`
	Now      string      `json:"now"`
	Numbers  int64       `json:"numbers"`
	Held     int64       `json:"held"`
	Free     int64       `json:"free"`
	Ended    int64       `json:"ended"`
	Gone     int64       `json:"gone"`                // rows
	Mark     string      `json:"mark,omitempty"`      // until when numbers without a row count as held, if rows are gone
	MarkTick int64       `json:"mark_tick,omitempty"` // the same
	Losses   int         `json:"losses"`
	Layouts  []phaseLine `json:"layouts,omitempty"`  // of a space that changes its layout, each from when on; Layout is the one in force
	Warnings []string    `json:"warnings,omitempty"` // of the database
}

// phaseLine is a layout of a space that changes it.
type phaseLine struct {
	Layout  string `json:"layout"`
	From    string `json:"from"`
	FirstID int64  `json:"first_id,string"`
}

// layouts returns the layouts of a space that changes it.
func (s nodeSpace) phaseLines() (lines []phaseLine) {
	if len(s.phases) < 2 {
		return nil
	}
	for _, phase := range s.phases {
		lines = append(lines, phaseLine{phase.Layout.String(), formatTime(phase.Begin(), phase.Layout.Unit()), phase.FirstID()})
	}
	return lines
}

// spaceError is the JSON object of a space that cannot be listed.
type spaceError struct {
	Kind  string `json:"kind"` // "error"
	Space string `json:"space"`
	Error string `json:"error"`
}

// lines returns the objects of the numbers and the losses.
func (s nodeSpace) lines() (lines []nodeLine) {
	for _, row := range s.Rows {
		lines = append(lines, nodeLine{Kind: "node", Node: row.Number, State: s.state(row), Holder: row.Holder, FromTick: row.From, UntilTick: row.Until})
	}
	for _, loss := range s.losses {
		lines = append(lines, nodeLine{Kind: "loss", Node: loss.Number, State: "lost", Holder: loss.Holder, FromTick: loss.From, UntilTick: loss.Until})
	}
	for i := range lines {
		line := &lines[i]
		line.Space, line.Table, line.Layout, line.Now = s.Name, s.table, s.Layout, s.Now.Format(time.RFC3339Nano)
		if _, ok := s.time(max(line.FromTick, line.UntilTick)); ok {
			line.From, line.Until = s.formatTick(line.FromTick), s.formatTick(line.UntilTick)
		}
	}
	return lines
}

func writeNodesJSON(w io.Writer, nodes nodeList) error {
	var lines []any
	for _, s := range nodes.spaces {
		if s.err != nil {
			lines = append(lines, spaceError{Kind: "error", Space: s.Name, Error: s.err.Error()})
			continue
		}
		states := s.count()
		whole := spaceLine{
			Kind: "space", Space: s.Name, Table: s.table, ID: s.Space.ID, Layout: s.Layout, Now: s.Now.Format(time.RFC3339Nano), Numbers: s.numbers(),
			Held: states["held"], Free: states["free"], Ended: states["ended"], Gone: s.Gone, Losses: len(s.losses), Warnings: nodes.warnings, Layouts: s.phaseLines(),
		}
		if until := s.absent(); until > 0 {
			whole.Mark, whole.MarkTick = s.formatTick(until), until
		}
		lines = append(lines, whole)
		for _, line := range s.lines() {
			lines = append(lines, line)
		}
	}
	return writeJSONLines(w, lines)
}
