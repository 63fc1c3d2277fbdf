package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// newRoot returns the command with all its subcommands. What fails before started is true was wrong usage.
func newRoot(stdin io.Reader, stdout, stderr io.Writer) (root *cobra.Command, started *bool) {
	started = new(bool)
	root = &cobra.Command{
		Use:   "snowkey",
		Short: "Primary keys without auto-increment",
		Long: `snowkey makes and reads 64-bit snowflake keys, shows which node numbers are granted in a database,
checks that its tables can hold such keys, takes them there from auto-increment, and compares key strategies (auto-increment, snowflake, UUID).`,
		Version:          version() + commitOf(debug.ReadBuildInfo()),
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { *started = true },
	}
	root.AddCommand(newNext(), newDecode(), newSecret(), newBounds(), newLayouts(), newServe(), newNodes(), newCheck(), newMigrate(), newPartition(), newDDL(), newCompare(), newDemo(), newMan())
	root.SetIn(&input{Reader: stdin})
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			group(c)
		}
	}
	return root, started
}

// group makes a command one that has others below it, and prints its help by itself.
func group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// newHelp is cobra's help command, but for a wrong topic being wrong usage.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			if err != nil || topic == nil || len(rest) > 0 {
				return usageError{fmt.Errorf("no help about %q", args)}
			}
			return topic.Help()
		},
	}
}

// complete has the shell complete a flag's value. Registering fails only for a flag that does not exist.
func complete(c *cobra.Command, flag string, values ...cobra.Completion) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// usageError is an error in what was asked for.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}
