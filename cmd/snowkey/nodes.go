package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

func newNodes() *cobra.Command {
	c := &cobra.Command{
		Use:   "nodes",
		Short: "List the node numbers that are granted in a database",
		Long: `List the node numbers that are granted in a database: who has each, from when until when, and whether it is held,
free (given back), or ended (its holder stopped without giving it back, or cannot reach the database).
Nothing is written. The time that counts is the database's. A key space that cannot be listed, such as one with a name that
is not valid, is printed with the error; the others are listed, and the exit status is 1.`,
		Example: `  SNOWKEY_DB=postgres://app:secret@127.0.0.1:5432/app snowkey nodes
  snowkey nodes --db-file /run/secrets/app --space orders --json
  snowkey nodes --db sqlite:app.db
  snowkey nodes ddl --dialect mysql`,
		Args: cobra.NoArgs,
	}
	named := databaseFlag(c)
	table := c.Flags().String("table", grant.DefaultTable, "table that the grants are in")
	space := c.Flags().String("space", "", "list this key space alone")
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		d, err := named.parse(c)
		if err != nil {
			return err
		}
		if _, err := grant.DDL(d.dialect, *table); err != nil {
			return usageError{fmt.Errorf("--table: %w", err)}
		}
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		pool, err := d.Open()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pool.Close()) }()
		spaces, err := listSpaces(ctx, grant.SQL(pool, d.dialect, grant.Table(*table)), *space)
		if err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
		write := writeNodes
		if *asJSON {
			write = writeNodesJSON
		}
		if err := write(c.OutOrStdout(), spaces); err != nil {
			return err
		}
		if err := unlisted(spaces); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
		return nil
	}
	c.AddCommand(newNodesDDL())
	return c
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
	// Fails only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions([]cobra.Completion{"mysql", "postgres", "sqlite"}, cobra.ShellCompDirectiveNoFileComp))
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

// nodeSpace is a key space with its numbers.
type nodeSpace struct {
	name   string
	text   string // of the layout
	layout idgen.Layout
	known  bool  // the text is that of a layout
	err    error // why the numbers cannot be listed, nil when they are in the Listing
	grant.Listing
}

// listSpaces reads the numbers of all spaces, or of the one with a name. A space that cannot be listed has the error, and the others are read.
func listSpaces(ctx context.Context, store *grant.SQLStore, name string) ([]nodeSpace, error) {
	found, err := store.Spaces(ctx)
	if err != nil {
		return nil, err
	}
	var spaces []nodeSpace
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
		if name != "" && f.Name != name {
			continue
		}
		space := nodeSpace{name: f.Name, text: f.Layout}
		space.Listing, space.err = store.List(ctx, f.Name, 0, math.MaxInt64)
		if ctx.Err() != nil {
			return nil, space.err
		}
		space.layout, err = idgen.ParseLayout(f.Layout)
		space.known = err == nil // else one of a version to come: its ticks are shown
		spaces = append(spaces, space)
	}
	if name != "" && len(spaces) == 0 {
		return nil, fmt.Errorf("no key space %q; there are %q", name, names)
	}
	return spaces, nil
}

// unlisted joins the errors of the spaces that could not be listed.
func unlisted(spaces []nodeSpace) error {
	var failed error
	for _, s := range spaces {
		failed = errors.Join(failed, s.err)
	}
	return failed
}

// time returns when a tick begins, as far as it is known.
func (s nodeSpace) time(tick int64) (time.Time, bool) {
	if !s.known || tick < 0 || tick > math.MaxInt64/int64(s.layout.Unit()) {
		return time.Time{}, false
	}
	return s.layout.Epoch().Add(time.Duration(tick) * s.layout.Unit()), true
}

// formatTick shows a tick as the time that it begins at.
func (s nodeSpace) formatTick(tick int64) string {
	if at, ok := s.time(tick); ok {
		return formatTime(at, s.layout.Unit())
	}
	return fmt.Sprintf("tick %d", tick)
}

// state says whether a number is held, free or ended.
func (s nodeSpace) state(row grant.Row) string {
	until, ok := s.time(row.Until)
	switch {
	case row.Holder == "":
		return "free"
	case !ok:
		return "unknown"
	case until.After(s.Now):
		return "held"
	}
	return "ended"
}

func writeNodes(w io.Writer, spaces []nodeSpace) error {
	if len(spaces) == 0 {
		_, err := fmt.Fprintln(w, "no key spaces yet")
		return err
	}
	for i, s := range spaces {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		if s.err != nil {
			if _, err := fmt.Fprintf(w, "space %q cannot be listed: %s\n", s.name, printable(s.err.Error())); err != nil {
				return err
			}
			continue
		}
		held := 0
		table := new(strings.Builder)
		rows := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(rows, "NODE\tSTATE\tFROM\tUNTIL\tHOLDER")
		for _, row := range s.Rows {
			state := s.state(row)
			if state == "held" {
				held++
			}
			holder, _, _ := strings.Cut(printable(row.Holder), "#")
			_, _ = fmt.Fprintf(rows, "%d\t%s\t%s\t%s\t%s\n", row.Number, state, s.formatTick(row.From), s.formatTick(row.Until), holder)
		}
		_ = rows.Flush() // to memory
		numbers := int64(1)
		if s.known {
			numbers <<= s.layout.Bits(idgen.Datacenter) + s.layout.Bits(idgen.Node)
		}
		_, err := fmt.Fprintf(w, "space %s, %d of %d held at %s\nlayout %s\n%s", s.name, held, numbers, s.Now.Format(time.RFC3339), printable(s.text), table)
		if err != nil {
			return err
		}
	}
	return nil
}

// printable replaces what a terminal would take for more than text, in what somebody has written to the table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// nodeLine is the JSON object of a number.
type nodeLine struct {
	Space     string `json:"space"`
	Node      int64  `json:"node"`
	State     string `json:"state"`
	Holder    string `json:"holder"`
	From      string `json:"from,omitempty"`
	Until     string `json:"until,omitempty"`
	FromTick  int64  `json:"from_tick"`
	UntilTick int64  `json:"until_tick"`
	Now       string `json:"now"`
	Layout    string `json:"layout"`
}

// spaceError is the JSON object of a space that cannot be listed.
type spaceError struct {
	Space string `json:"space"`
	Error string `json:"error"`
}

func writeNodesJSON(w io.Writer, spaces []nodeSpace) error {
	out := json.NewEncoder(w)
	for _, s := range spaces {
		if s.err != nil {
			if err := out.Encode(spaceError{Space: s.name, Error: s.err.Error()}); err != nil {
				return err
			}
			continue
		}
		for _, row := range s.Rows {
			line := nodeLine{
				Space: s.name, Node: row.Number, State: s.state(row), Holder: row.Holder, FromTick: row.From, UntilTick: row.Until,
				Now: s.Now.Format(time.RFC3339Nano), Layout: s.text,
			}
			if _, ok := s.time(max(row.From, row.Until)); ok {
				line.From, line.Until = s.formatTick(row.From), s.formatTick(row.Until)
			}
			if err := out.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}
