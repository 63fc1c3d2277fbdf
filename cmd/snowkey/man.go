package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write manual pages",
		Long:  "Write a manual page for each command to a folder, which is made where it is missing. Pages that are there are replaced.",
		Example: `  snowkey man /usr/local/share/man/man1
  snowkey man . && man ./snowkey-migrate-run.1`,
		Args: one("a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			asMarkdown(c.Root())
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Section: "1", Source: "snowkey", Manual: "Primary keys without auto-increment"}, args[0])
		},
	}
}

// asMarkdown makes the help of a command and of all below it what a manual is made of: the lines of lists, which the help indents by two, stay lines.
func asMarkdown(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = strings.ReplaceAll(c.Long, "\n  ", "\n      ")
	for _, below := range c.Commands() {
		asMarkdown(below)
	}
}
