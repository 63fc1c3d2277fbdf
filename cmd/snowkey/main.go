// Command snowkey makes and reads snowflake keys, and compares key strategies on a database of the user's own.
//
// Results go to standard output and everything else to standard error. The exit status is 0 for success, 1 when something failed,
// and 2 when it was asked for in a wrong way.
package main

import (
	"context"
	"io"
	"os"

	"github.com/snowkey-go/snowkey/compare"
)

func main() {
	compare.Guard()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

// run is main with its surroundings given. It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root, started := newRoot(stdin, stdout, stderr)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	root.PrintErrln("snowkey:", withoutSecrets(err.Error(), args))
	if !*started || isUsage(err) {
		root.PrintErrf("Try %q.\n", c.CommandPath()+" --help")
		return statusUsage
	}
	return statusFailed
}
