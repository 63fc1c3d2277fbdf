package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

// untilSignal returns a context that the first signal ends. A second one ends the program.
func untilSignal(c *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(c.Context(), endings()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// endings are the signals that end a run. One that was to be ignored when the program was started, as nohup has it, is.
func endings() []os.Signal {
	return slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
}

// interrupted says of an error that a signal is behind it, where one is, and what that means.
func interrupted(ctx context.Context, err error, meaning string) error {
	if err == nil || ctx.Err() == nil { // not always in the chain of the error: a database driver may have reworded it
		return err
	}
	return fmt.Errorf("interrupted; %s: %w", meaning, err)
}
