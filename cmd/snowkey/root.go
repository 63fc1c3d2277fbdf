package main

import (
	"errors"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

// newRoot returns the command with all its subcommands. What fails before started is true was wrong usage.
func newRoot() (root *cobra.Command, started *bool) {
	started = new(bool)
	root = &cobra.Command{
		Use:   "snowkey",
		Short: "Primary keys without auto-increment",
		Long: `snowkey makes and reads 64-bit snowflake keys, and compares key strategies
(auto-increment, snowflake, UUID) on a database of your own.`,
		Version:          version(),
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { *started = true },
	}
	root.AddCommand(newNext(), newDecode(), newCompare())
	return root, started
}

// version returns the version of the module as the go command has stamped it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

// usageError is an error in what was asked for.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// layoutFlag adds --layout with completion to a command.
func layoutFlag(c *cobra.Command) *string {
	name := c.Flags().String("layout", idgen.Snowkey.Name(), "name of the layout: "+presetNames())
	// Fails only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("layout", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		for _, p := range idgen.Presets() {
			names = append(names, cobra.CompletionWithDesc(p.Name(), p.Origin()))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return name
}

func presetNames() string {
	names := ""
	for i, p := range idgen.Presets() {
		if i > 0 {
			names += ", "
		}
		names += p.Name()
	}
	return names
}
