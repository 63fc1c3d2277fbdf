package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// input is standard input, which one argument of a command reads to its end.
type input struct {
	io.Reader
	reader string // the argument that reads it, "" for none yet
}

// standardInput returns standard input for an argument, which is named for errors. What two arguments would read is wrong usage.
func standardInput(c *cobra.Command, reader string) (io.Reader, error) {
	in, ok := c.InOrStdin().(*input)
	if !ok {
		return c.InOrStdin(), nil
	}
	if in.reader != "" {
		return nil, usageError{fmt.Errorf(`"-" is standard input, which %s reads already`, in.reader)}
	}
	in.reader = reader
	return in, nil
}
