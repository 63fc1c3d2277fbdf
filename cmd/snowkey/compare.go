package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

// comparison is what was asked for on the command line.
type comparison struct {
	db, second *dsnFlag
	strategies []string
	profile    string
	budget     time.Duration
	rows       int
	rounds     int
	writers    []string
	out        string
	from       string
	format     string
	json       bool
	why        bool

	// What the flags come to.
	databases []namedDSN
	pair      namedDSN // the second server, "" for none
	chosen    []strategy.Strategy
	plan      compare.Profile
	rendering rendering
}

func newCompare() *cobra.Command {
	var asked comparison
	c := &cobra.Command{
		Use:   "compare",
		Short: "Measure key strategies against each other on a database",
		Long: `Verify the ways to make primary keys, and measure those that hold what they promise: how fast keys are made,
how long one takes, what inserts cost through GORM while a table grows, what tables and indexes weigh, what is written
and read, how keys fall on shards, and, on a server that the program starts itself, what a crash does to them.

The database is a new SQLite file in a temporary folder, or the one that the environment variable SNOWKEY_DB names. Each line of
the file in --db-file names one, "-" is standard input; it comes before the variable. --db takes the same texts: all users of the
machine can read them in the list of processes, with the passwords.

  sqlite:PATH                  a file, made when it is missing
  mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE
  postgres://USER:PASSWORD@HOST:PORT/DATABASE
  private:mysql, private:postgres?SETTING=VALUE&…
                               a server of the installed MariaDB, MySQL or PostgreSQL, started for this run alone,
                               killed in it, and removed at its end

In a database that is given, only tables and sequences named snowkey_compare_… are made, and dropped again at the end.
Ctrl-C ends the run: what was measured until then is reported. A second Ctrl-C ends the program at once, and leaves
its tables behind.`,
		Example: `  snowkey compare
  SNOWKEY_DB='mysql:app:secret@tcp(127.0.0.1:3306)/app' snowkey compare --strategies autoincrement,snowkey,uuidv7
  snowkey compare --db-file /run/secrets/databases --profile full --budget 10m --out results
  snowkey compare --db 'private:mysql?innodb_buffer_pool_size=16M' --db private:postgres --profile full --out results
  snowkey compare --from results/result.json --format markdown`,
		Args: cobra.NoArgs,
	}
	flags := c.Flags()
	asked.db = addDSN(c, dsnFlag{name: "db", about: "database, see above", variable: databaseVariable, several: true, others: []cobra.Completion{"private:mysql", "private:postgres"}})
	asked.second = addDSN(c, dsnFlag{name: "second", about: "a second server of the same kind, for the strategy flickr, beside one database"})
	flags.StringSliceVar(&asked.strategies, "strategies", nil, "strategies, separated by commas: "+strategyNames()+" (default: "+usualNames()+"; all in the profile full)")
	flags.StringVar(&asked.profile, "profile", compare.Quick.Name, "quick, or full: more rows, longer, for figures to decide by")
	flags.DurationVar(&asked.budget, "budget", 0, fmt.Sprintf("how long the run may take; a pilot fits rows and rounds to it, down to one round of a tenth of the rows (default: %v, full %v)", compare.Quick.Budget, compare.Full.Budget))
	flags.IntVar(&asked.rows, "rows", 0, fmt.Sprintf("rows a table and round, %d to %d; with --budget there are fewer rounds where it is too little, without it the run takes as long as they need (default: up to %d, full %d, as the budget allows)", compare.MinRows, compare.MaxRows, compare.Quick.Rows, compare.Full.Rows))
	flags.IntVar(&asked.rounds, "rounds", 0, fmt.Sprintf("rounds, 1 to %d (default: %d)", compare.MaxRounds, compare.Quick.Rounds))
	flags.StringSliceVar(&asked.writers, "writers", nil, fmt.Sprintf("connections that insert at once and rows an INSERT, separated by commas, \"\" for none; on servers (default: %s, full %s)", writersText(compare.Quick), writersText(compare.Full)))
	flags.StringVar(&asked.out, "out", "", "folder for result.json, report.html, report.md, bench.txt and charts as SVG (default: a new one in the temporary folder)")
	flags.StringVar(&asked.from, "from", "", `measure nothing: read the result.json of an earlier run, "-" for standard input`)
	flags.StringVar(&asked.format, "format", renderings[0].name, "what is printed: "+renderingNames())
	flags.BoolVar(&asked.why, "why", false, "print the reasons for each key, and against others")
	flags.BoolVar(&asked.json, "json", false, "the same as --format json")
	completeCompare(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := asked.check(c); err != nil {
			return usageError{err}
		}
		if asked.from != "" {
			r, err := readResult(asked.from, c.InOrStdin())
			if err != nil {
				return fmt.Errorf("--from: %w", err)
			}
			return asked.write(c, r)
		}
		return asked.run(c)
	}
	return c
}

// completeCompare says what the shell can complete. Registering fails only for a flag that does not exist.
func completeCompare(c *cobra.Command) {
	var forms, profiles []cobra.Completion
	for _, r := range renderings {
		forms = append(forms, cobra.CompletionWithDesc(r.name, r.about))
	}
	for _, p := range compare.Profiles() {
		profiles = append(profiles, p.Name)
	}
	complete(c, "format", forms...)
	complete(c, "profile", profiles...)
	_ = c.RegisterFlagCompletionFunc("strategies", func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var names []cobra.Completion
		for _, s := range strategy.All() {
			names = append(names, cobra.CompletionWithDesc(before+s.Info().Name, s.Info().About))
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	_ = c.MarkFlagFilename("from", "json")
	_ = c.MarkFlagDirname("out")
}

// check looks at all that was asked for before anything is begun.
func (a *comparison) check(c *cobra.Command) (err error) {
	changed := c.Flags().Changed
	if a.json {
		if changed("format") && a.format != "json" {
			return fmt.Errorf("--json and --format %s: give one of them", a.format)
		}
		a.format = "json"
	}
	if a.rendering, err = lookupRendering(a.format); err != nil {
		return err
	}
	if a.why {
		if a.rendering.name != renderings[0].name {
			return fmt.Errorf("--why is for --format %s; %s has all reasons", renderings[0].name, a.rendering.name)
		}
		a.rendering.write = report.Explained
	}
	if changed("from") {
		for _, name := range []string{"db", "db-file", "second", "second-file", "strategies", "profile", "budget", "rows", "rounds", "writers"} {
			if changed(name) {
				return fmt.Errorf("--from measures nothing: --%s cannot stand beside it", name)
			}
		}
		if a.from == "" {
			return errors.New("--from: no file is named")
		}
	} else if err := a.checkDatabases(c); err != nil {
		return err
	}
	if a.plan, err = a.checkProfile(c); err != nil {
		return err
	}
	if changed("strategies") && len(a.strategies) == 0 {
		return fmt.Errorf("--strategies: names none; there are %s", strategyNames())
	}
	if changed("strategies") { // none: those of the profile
		if a.chosen, err = strategy.Select(a.strategies...); err != nil {
			return fmt.Errorf("--strategies: %w", err)
		}
	}
	if changed("out") {
		if err := checkFolder(a.out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// checkDatabases looks at what names the databases, without connecting.
func (a *comparison) checkDatabases(c *cobra.Command) (err error) {
	if a.databases, err = a.db.read(c); err != nil {
		return err
	}
	second, err := a.second.read(c)
	if err != nil {
		return err
	}
	for i, d := range a.databases {
		if err := compare.CheckTarget(d.text, ""); err != nil {
			return fmt.Errorf("%s: %w", d.from, err)
		}
		if slices.ContainsFunc(a.databases[:i], func(other namedDSN) bool { return other.text == d.text }) {
			return fmt.Errorf("%s: number %d is the same as one before; what noise makes of figures, the rounds tell", d.from, i+1)
		}
	}
	if len(second) == 0 {
		return nil
	}
	a.pair = second[0]
	if len(a.databases) != 1 {
		return fmt.Errorf("%s: belongs to one database, there are %d", a.pair.from, len(a.databases))
	}
	if a.pair.text == "" || a.pair.text == a.databases[0].text {
		return fmt.Errorf("%s: names no other server than %s", a.pair.from, a.databases[0].from)
	}
	if err := compare.CheckTarget(a.databases[0].text, a.pair.text); err != nil {
		return fmt.Errorf("%s: %w", a.pair.from, err)
	}
	return nil
}

// checkProfile returns the profile with what the flags change of it.
func (a *comparison) checkProfile(c *cobra.Command) (compare.Profile, error) {
	p, err := compare.LookupProfile(a.profile)
	if err != nil {
		return p, fmt.Errorf("--profile: %w", err)
	}
	if c.Flags().Changed("rows") {
		p.Rows, p.KeepRows, p.Budget = a.rows, true, 0
	}
	if c.Flags().Changed("rounds") {
		p.Rounds = a.rounds
	}
	if c.Flags().Changed("writers") {
		p.Writers = nil
		for _, text := range a.writers {
			w, err := compare.ParseWriters(text)
			if err != nil {
				return p, fmt.Errorf("--writers: %w", err)
			}
			p.Writers = append(p.Writers, w)
		}
	}
	if c.Flags().Changed("budget") {
		if p.Budget = a.budget; a.budget == 0 {
			return p, fmt.Errorf("--budget 0: must be at least %v", compare.MinBudget)
		}
	}
	return p, p.Check()
}

// run measures, and writes what was measured, also of a run that was ended early.
func (a *comparison) run(c *cobra.Command) (err error) {
	// What would end the program ends the run, which drops its tables; a second signal ends the program. A reader that has gone away is an
	// error of writing.
	ctx, stop := untilSignal(c)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)
	if len(a.databases) == 0 {
		folder, failed := os.MkdirTemp("", "snowkey-compare-db-")
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		a.databases = []namedDSN{{text: "sqlite:" + filepath.Join(folder, "compare.db") + "?_journal_mode=WAL&_synchronous=NORMAL"}}
	}
	bar := newBar(c.ErrOrStderr())
	config := compare.Config{Strategies: a.chosen, Profile: a.plan, Tool: "snowkey " + version(), Progress: func(p compare.Progress) { bar.show(p.Done, describe(p.Left, p.Doing)) },
		Planned: func(plan string) { bar.end(); c.PrintErrln("Plan: " + plan) }}
	for _, d := range a.databases {
		d.announce(c)
		target, failed := compare.OpenTarget(ctx, d.text, a.pair.text)
		if failed != nil {
			return interrupted(ctx, failed, "nothing was measured")
		}
		defer func() { err = errors.Join(err, target.Close()) }()
		config.Targets = append(config.Targets, target)
		noteLeftovers(ctx, c, target)
	}
	r, failed := compare.Run(ctx, config)
	bar.end()
	if len(r.Databases) == 0 {
		return interrupted(ctx, failed, "nothing was measured")
	}
	failed = interrupted(ctx, failed, "what was measured until then is kept")
	if a.out == "" {
		// Without a folder, what was measured is printed nevertheless.
		a.out, err = os.MkdirTemp("", "snowkey-compare-")
	}
	return errors.Join(err, a.write(c, r), failed)
}

// noteLeftovers says what earlier runs have left behind. That it cannot be told is no reason not to run.
func noteLeftovers(ctx context.Context, c *cobra.Command, target *compare.Target) {
	left, err := target.Leftovers(ctx)
	if err == nil && len(left) > 0 {
		c.PrintErrf("In %s, an earlier run that was killed has left %s behind. They are not touched; drop them when no other run is at work.\n",
			target, strings.Join(left, ", "))
	}
}

// write prints a result, and writes it to the folder where there is one.
func (a *comparison) write(c *cobra.Command, r result.Document) error {
	r = report.Decide(r)
	var failed error
	if a.out != "" {
		if failed = writeFolder(a.out, r); failed == nil {
			defer c.PrintErrf("The report is %s, every sample is in %s\n", filepath.Join(a.out, "report.html"), filepath.Join(a.out, "result.json"))
		}
	}
	return errors.Join(failed, a.rendering.write(c.OutOrStdout(), r))
}

// writersText are the writers of a profile, as the flag takes them.
func writersText(p compare.Profile) string {
	texts := make([]string, len(p.Writers))
	for i, w := range p.Writers {
		texts[i] = w.String()
	}
	return strings.Join(texts, ",")
}

func strategyNames() string { return namesOf(strategy.All()) }

func usualNames() string { return namesOf(strategy.Usual()) }

func namesOf(strategies []strategy.Strategy) string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.Info().Name
	}
	return strings.Join(names, ", ")
}
