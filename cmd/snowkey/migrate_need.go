package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// needed adds to the error of a plan that cannot be made yet the command with the flags that settle what flags can.
func needed(c *cobra.Command, err error, database string, created map[string]string) error {
	blocked := new(migrate.Blocked)
	if !errors.As(err, &blocked) {
		return err
	}
	flags, left := blocked.Flags()
	if len(flags) == 0 {
		return err
	}
	with := "With these flags it is planned; see that they are right:"
	if left > 0 {
		with = fmt.Sprintf("With these flags, once the %d that no flag settles are settled, it is planned; see that they are right:", left)
	}
	return fmt.Errorf("%w\n\n%s\n  %s", err, with, planCommand(database, append(givenFlags(c, created), flags...)))
}

// planCommand is the command line of a plan. Of two flags that exclude each other the later one is in it.
func planCommand(database string, flags []plan.Need) string {
	words := []string{strings.TrimSuffix("snowkey migrate plan "+database, " ")}
	for i, f := range flags {
		if !slices.ContainsFunc(flags[i+1:], func(later plan.Need) bool { return replaces(later, f) }) {
			words = append(words, f.String())
		}
	}
	return strings.Join(words, " ")
}

// replaces reports whether one flag leaves nothing of another.
func replaces(later, f plan.Need) bool {
	if later.Flag != f.Flag {
		return false
	}
	switch f.Flag {
	case "created":
		table, _, _ := strings.Cut(f.Value, "=")
		return strings.HasPrefix(later.Value, table+"=")
	case "table", "reference", "accept":
		return later.Value == f.Value
	}
	return true
}

// givenFlags returns the flags of a command line but for those of the database.
func givenFlags(c *cobra.Command, created map[string]string) (flags []plan.Need) {
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		switch value := f.Value.(type) {
		case pflag.SliceValue:
			values = value.GetSlice()
		default:
			if value.Type() == "bool" {
				values = []string{""}
			}
			if f.Name == "created" {
				values = nil
				for _, table := range slices.Sorted(maps.Keys(created)) {
					values = append(values, table+"="+created[table])
				}
			}
		}
		if f.Name == "db" || f.Name == "db-file" || f.Name == "json" {
			return
		}
		for _, value := range values {
			flags = append(flags, plan.Need{Flag: f.Name, Value: value})
		}
	})
	return flags
}

// advise prints for each mode the command that plans it, and what it needs.
func (m migration) advise(ctx context.Context, report *migrate.Report, o *migrate.InspectOptions) error {
	for _, mode := range []migrate.Mode{migrate.Widen, migrate.Rekey, migrate.Shadow} {
		if mode == migrate.Shadow && report.Database.Kind != "postgres" {
			continue
		}
		flags := append(givenFlags(m.c, nil), plan.Need{Flag: "mode", Value: string(mode)}, plan.Need{Flag: "out", Value: string(mode) + ".sql"})
		err := migrate.Advise(ctx, m.db, report, migrate.PlanOptions{Mode: mode, Tables: o.Tables})
		blocked := new(migrate.Blocked)
		text := ""
		switch {
		case err == nil:
		case errors.As(err, &blocked):
			for _, n := range blocked.Needs {
				text += "  - " + printable(n.Text) + "\n"
			}
			settled, left := blocked.Flags()
			if flags = append(flags, settled...); left > 0 {
				text += fmt.Sprintf("  No flag settles %d of these. Then:\n", left)
			}
		case ctx.Err() != nil:
			return err
		default:
			text = "  cannot be planned: " + printable(err.Error()) + "\n"
			flags = nil
		}
		if flags != nil {
			text += "  " + printable(planCommand(m.flag, flags)) + "\n"
		}
		if _, err := fmt.Fprintf(m.c.OutOrStdout(), "\n%s\n%s", strings.ToUpper(string(mode)), text); err != nil {
			return err
		}
	}
	return nil
}
