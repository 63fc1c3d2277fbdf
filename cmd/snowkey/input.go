package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// input is standard input, which one argument of a command reads to its end.
type input struct {
	io.Reader
	reader string // the argument that reads it, "" for none yet
}

// openInput opens the file that an argument names, or standard input for "-". Who reads closes it.
func openInput(c *cobra.Command, reader, path string) (io.ReadCloser, error) {
	if path != "-" {
		return os.Open(path)
	}
	in, err := standardInput(c, reader)
	return io.NopCloser(in), err
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

// one takes one argument, which is named in the error of another number.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("got %d arguments, want one: %s", len(args), what)
		}
		return nil
	}
}
