package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/snowkey-go/snowkey/compare"
)

const resultName = "result.json"

func newCompare() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare",
		Short: "Measure key strategies against each other on a database",
		Long: `Insert the same rows, through GORM, into a fresh table a strategy, and show what the keys cost:
rows a second, bytes a row of tables and indexes, nanoseconds a key.

The database is a new SQLite file in a temporary folder (write-ahead log, synchronous NORMAL), or those
given with --db. In them only tables named snowkey_compare_… are made, and dropped again at the end.`,
		Example: `  snowkey compare
  snowkey compare --db sqlite:bench.db --rows 1000000
  snowkey compare --db 'mysql:app:secret@tcp(127.0.0.1:3306)/app' --strategies autoincrement,snowflake
  snowkey compare --db postgres://app:secret@127.0.0.1:5432/app --out results --json`,
		Args: cobra.NoArgs,
	}
	databases := c.Flags().StringArray("db", nil, "database: sqlite:PATH, mysql:DSN or postgres://…; may be given again (default: a temporary SQLite file)")
	names := c.Flags().StringSlice("strategies", nil, "strategies, separated by commas: "+strategyNames()+" (default: all)")
	rows := c.Flags().Int("rows", compare.DefaultRows, fmt.Sprintf("rows a table, 1 to %d", compare.MaxRows))
	out := c.Flags().String("out", "", "folder to write result.json to, with every raw sample; made when it is missing")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON instead of a table")
	// Fails only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("strategies", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		for _, s := range compare.Strategies() {
			names = append(names, cobra.CompletionWithDesc(s.Name(), s.About()))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		strategies, err := checkCompare(*databases, *names, *rows, *out, c.Flags().Changed("strategies"))
		if err != nil {
			return usageError{err}
		}
		// What would end the program ends the run, which drops its tables; a second signal ends the program. A reader that has gone away
		// is an error of writing.
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		context.AfterFunc(ctx, stop)
		signal.Ignore(syscall.SIGPIPE)
		defer func() {
			if err != nil && ctx.Err() != nil { // not always in the chain of err: a database driver may have reworded it
				err = fmt.Errorf("interrupted (%w)", err)
			}
		}()
		if len(*databases) == 0 {
			folder, err := os.MkdirTemp("", "snowkey-compare-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(folder) }()
			*databases = []string{"sqlite:" + filepath.Join(folder, "compare.db") + "?_journal_mode=WAL&_synchronous=NORMAL"}
		}
		config := compare.Config{Strategies: strategies, Rows: *rows}
		for _, text := range *databases {
			database, failed := compare.OpenDatabase(ctx, text)
			if failed != nil {
				return failed
			}
			defer func() { err = errors.Join(err, database.Close()) }()
			config.Databases = append(config.Databases, database)
		}
		bar := newBar(c.ErrOrStderr())
		config.Progress = bar.show
		result, err := compare.Run(ctx, config)
		bar.end()
		if err != nil {
			return err
		}
		return writeResult(c, result, *out, *asJSON)
	}
	return c
}

// checkCompare looks at all that was asked for before anything is begun.
func checkCompare(databases, names []string, rows int, out string, named bool) ([]compare.Strategy, error) {
	if rows < 1 || rows > compare.MaxRows {
		return nil, fmt.Errorf("--rows %d: must be 1 to %d", rows, compare.MaxRows)
	}
	if named && len(names) == 0 {
		return nil, fmt.Errorf("--strategies: names none; there are %s", strategyNames())
	}
	strategies, err := compare.Select(names...)
	if err != nil {
		return nil, fmt.Errorf("--strategies: %w", err)
	}
	for _, database := range databases {
		if err := compare.CheckDatabase(database); err != nil {
			return nil, fmt.Errorf("--db: %w", err)
		}
	}
	if out == "" {
		return strategies, nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	probe, err := os.CreateTemp(out, ".snowkey-*")
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	if info, err := os.Stat(filepath.Join(out, resultName)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("--out: %s is there already and no file", filepath.Join(out, resultName))
	}
	return strategies, nil
}

// writeResult prints the result, and writes it to the folder when one is given.
func writeResult(c *cobra.Command, result compare.Result, out string, asJSON bool) error {
	document, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	document = append(document, '\n')
	if asJSON {
		_, err = c.OutOrStdout().Write(document)
	} else {
		err = result.WriteTable(c.OutOrStdout())
	}
	if err != nil || out == "" {
		return err
	}
	path := filepath.Join(out, resultName)
	if err := os.WriteFile(path, document, 0o644); err != nil {
		return err
	}
	c.PrintErrln("Every sample is in", path)
	return nil
}

func strategyNames() string {
	var names []string
	for _, s := range compare.Strategies() {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}

// bar is a progress bar on a terminal, and nothing elsewhere.
type bar struct{ *progressbar.ProgressBar }

func newBar(w io.Writer) *bar {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &bar{}
	}
	return &bar{progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("inserting"), progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("rows"), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))}
}

func (b *bar) show(done, all int) {
	if b.ProgressBar == nil {
		return
	}
	if b.GetMax() != all {
		b.ChangeMax(all)
	}
	_ = b.Set(done) // a bar that cannot be drawn is no reason to stop
}

func (b *bar) end() {
	if b.ProgressBar != nil {
		_ = b.Clear()
	}
}
