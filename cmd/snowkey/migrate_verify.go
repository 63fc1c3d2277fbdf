package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/migrate"
)

func newMigrateVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify PLAN",
		Short: "Look at what a plan has made of a database",
		Long: `Look at what a plan has made of a database: no row is missing, no key is there twice, every reference has moved and points
to a row as it did before, all other columns are as they were, keys decode to the times of their rows. What is not done
yet is left out. Nothing is written.

The application may be at work. Rows that it has added since the run began are known by their ids and left out. Where it
may have changed or deleted old rows, or the run may have done so by a fault, the result is unknown, with the ids that it
is about; all else is ok or FAILED. The exit status is 1 when a check has failed, with --strict also when one is unknown:
use it where the writers have stood still since the run began. A plan that was never run is an error.`,
		Example: `  snowkey migrate verify --db sqlite:app.db rekey.sql
  snowkey migrate verify --db sqlite:app.db rekey.sql --strict
  snowkey migrate verify --db sqlite:app.db rekey.sql --json`,
		Args: one("the file of a plan"),
	}
	open := migrateDatabase(c)
	asJSON := c.Flags().Bool("json", false, "print the checks as one JSON array")
	strict := c.Flags().Bool("strict", false, "unknown counts as failed: for a database that nobody but the run has written to since the run began")
	c.RunE = func(c *cobra.Command, args []string) error {
		p, err := readPlan(c, args[0])
		if err != nil {
			return err
		}
		return open(func(ctx context.Context, m migration) error {
			checks, err := migrate.Verify(ctx, m.db, p, migrate.VerifyOptions{Progress: m.looking})
			if errors.Is(err, migrate.ErrState) {
				return fmt.Errorf("%w; first: snowkey migrate run %s%s", err, m.flag, args[0])
			}
			if err != nil {
				return err
			}
			m.bar.end()
			if *asJSON {
				err = writeJSON(c.OutOrStdout(), checks)
			} else {
				err = writeChecks(c.OutOrStdout(), checks)
			}
			if err != nil {
				return err
			}
			return verdict(c, checks, *strict)
		})
	}
	return c
}

// mostShown is how many examples a check is printed with.
const mostShown = 5

// verdict says how many checks came out how, and returns an error when some have failed.
func verdict(c *cobra.Command, checks []migrate.Check, strict bool) error {
	by := map[migrate.Result]int{}
	for _, check := range checks {
		by[check.Result]++
	}
	switch all := count(len(checks), "check"); {
	case by[migrate.Failed] > 0:
		return fmt.Errorf("%d of %s failed, %d are unknown", by[migrate.Failed], all, by[migrate.Unknown])
	case strict && by[migrate.Unknown] > 0:
		return fmt.Errorf("%d of %s are unknown, which counts as failed with --strict", by[migrate.Unknown], all)
	}
	c.PrintErrf("%s passed, %d unknown, %d could not be made yet or any more\n", count(by[migrate.Passed], "check"), by[migrate.Unknown], by[migrate.Skipped])
	return nil
}

func writeChecks(w io.Writer, checks []migrate.Check) error {
	table := new(strings.Builder)
	rows := newColumns(table, "CHECK", "TABLE", "COLUMN", "RESULT")
	for _, check := range checks {
		result := "ok"
		switch check.Result {
		case migrate.Skipped:
			result = "not looked at: " + check.Text
		case migrate.Failed, migrate.Unknown:
			result = "unknown"
			if check.Result == migrate.Failed {
				result = "FAILED"
			}
			result += fmt.Sprintf(": want %s, got %s", check.Want, check.Got)
			if n := len(check.Examples); n > 0 {
				result += " (" + strings.Join(check.Examples[:min(n, mostShown)], "; ")
				if n > mostShown {
					result += fmt.Sprintf("; and %d more, see --json", n-mostShown)
				}
				result += ")"
			}
			result += ". " + check.Text
		}
		rows.line(check.Name, printable(check.Table), cmp.Or(printable(check.Column), "-"), printable(result))
	}
	rows.end()
	_, err := io.WriteString(w, table.String())
	return err
}

func newMigrateStatus() *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what was done of the plans of a database so far",
		Long: `Show what the journal of a database says. The first line is of the latest plan: at which step or hold it stands, who can
insert rows (programs that fill their keys, those that leave them to the database, or both), and the command that goes
on, whatever has ended the last run. Then come the plans that were run, and of the latest what was done of each step.
Nothing is written.`,
		Example: `  snowkey migrate status --db sqlite:app.db
  snowkey migrate status --db-file /run/secrets/app --json`,
		Args: cobra.NoArgs,
	}
	open := migrateDatabase(c)
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return open(func(ctx context.Context, m migration) error {
			status, err := migrate.ReadStatus(ctx, m.db)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(c.OutOrStdout(), status)
			}
			return writeStatus(c.OutOrStdout(), status, m.flag)
		})
	}
	return c
}

// writeStatus says in one line where the latest plan stands, who can write, and the command that goes on, with the flag of the database; then come
// the plans, and the steps of the latest.
func writeStatus(w io.Writer, s migrate.Status, database string) error {
	if len(s.Plans) == 0 {
		text := "no plan was run yet"
		if s.Elsewhere != "" {
			text = "no journal is found: " + printable(s.Elsewhere)
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	table := new(strings.Builder)
	if s.Stands != nil {
		latest := s.Plans[0]
		_, _ = fmt.Fprintf(table, "plan %.12s, %s, %s: %s.", printable(latest.Hash), printable(latest.Mode), latest.State, printable(s.Stands.String()))
		if command, rest, _ := strings.Cut(s.Stands.Next, " "); command != "" {
			if rest != "" {
				rest += " "
			}
			_, _ = fmt.Fprintf(table, " Then: snowkey migrate %s %s%sPLAN", command, database, rest)
		}
		for _, warning := range s.Stands.Warnings {
			_, _ = fmt.Fprint(table, "\n"+printable(warning))
		}
		_, _ = fmt.Fprint(table, "\n\n")
	}
	rows := newColumns(table, "PLAN", "MODE", "STATE", "STARTED", "CHANGED", "RUNNER")
	for _, p := range s.Plans {
		rows.line(fmt.Sprintf("%.12s", printable(p.Hash)), printable(p.Mode), p.State, p.Started.Format(time.RFC3339), p.Changed.Format(time.RFC3339), printable(p.Runner))
	}
	if len(s.Steps) > 0 {
		rows.line("\nSTEP", "STATE", "ROWS", "CHANGED", "TITLE")
	}
	for _, step := range s.Steps {
		rows.line(step.Number, step.State, step.Rows, step.Changed.Format(time.RFC3339), printable(step.Title))
	}
	rows.end()
	_, err := io.WriteString(w, table.String())
	return err
}
