package dbserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// guardVariable tells a program that it is to be a guard, and how the name of its server's folder begins.
const guardVariable = "SNOWKEY_DBSERVER_GUARD"

// A request is one line of JSON that a process sends its guard, which answers each with one reply.
type request struct {
	Command []string // the server, to be started; nil: no change
	// Signal is for the server's processes: the reply comes when they are gone after SIGKILL, and stand still after SIGSTOP. Others are for the first process, and let
	// the server go on before if it is paused. 0: none.
	Signal syscall.Signal
}

// A reply is one line of JSON.
type reply struct {
	Error string // why the request failed, or ""
	Dir   string // the server's folder
	PID   int    // the server's process number, 0 if it does not run
	Ended string // how it ended, such as "exit status 1"
}

// guard is the side of a guard process that the one which started it has. It has no goroutine.
type guard struct {
	dir string // the server's folder
	cmd *exec.Cmd

	mu       sync.Mutex     // one request at a time
	requests io.WriteCloser // the guard ends when this is closed
	replies  *json.Decoder
	broken   error // why no request can be sent any more
	closed   bool
}

// startGuard starts a guard process, which makes a folder with the prefix.
func startGuard(prefix string) (g *guard, err error) {
	g = &guard{cmd: guardCommand()}
	g.cmd.Env = append(os.Environ(), guardVariable+"="+prefix)
	// The guard must not hold the process's own output: whoever reads that, as go test
	// does, waits until it is closed.
	replies, err := g.cmd.StdoutPipe()
	if err == nil {
		g.replies = json.NewDecoder(replies)
		g.requests, err = g.cmd.StdinPipe()
	}
	if err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("dbserver: starting a guard: %w", err)
	}
	answer, err := g.ask(request{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dbserver: making a server's folder: %w", err), g.close())
	}
	g.dir = answer.Dir
	return g, nil
}

func (g *guard) data() string { return filepath.Join(g.dir, "data") }

// log is the path of the file that the guard's commands write to.
func (g *guard) log() string { return filepath.Join(g.dir, logName) }

const logName = "server.log"

// guardLimit bounds what a guard does at once. One that hangs is killed, and the kernel kills the server with it.
const guardLimit = time.Minute

func (g *guard) limit() *time.Timer {
	return time.AfterFunc(guardLimit, func() { _ = g.cmd.Process.Kill() }) // it has ended: just as well
}

// ask sends a request, and waits for its reply. The caller holds mu, here and in the
// methods up to close.
func (g *guard) ask(r request) (answer reply, err error) {
	if g.broken != nil {
		return answer, g.broken
	}
	defer g.limit().Stop()
	if err = json.NewEncoder(g.requests).Encode(r); err == nil {
		err = g.replies.Decode(&answer)
	}
	if err != nil {
		g.broken = fmt.Errorf("no answer from the server's guard: %w", err)
		return answer, g.broken
	}
	if answer.Error != "" {
		return answer, errors.New(answer.Error)
	}
	return answer, nil
}

// wait waits until the server has ended, and returns how.
func (g *guard) wait(ctx context.Context, limit time.Duration) (ended string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v", limit))
	defer cancel()
	for {
		if answer, err := g.ask(request{}); answer.PID == 0 || err != nil {
			return answer.Ended, err
		}
		if !pause(ctx) {
			return "", context.Cause(ctx)
		}
	}
}

// pause waits a moment before the next question, and is false when the context has ended.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(10 * time.Millisecond):
		return true
	}
}

// close ends the guard, and returns when the server's processes, its folder and the
// guard are gone. A second call does nothing.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed, g.broken = true, errors.New("the server has been closed")
	defer g.limit().Stop()
	if err := errors.Join(g.requests.Close(), g.cmd.Wait()); err != nil {
		return fmt.Errorf("dbserver: ending the guard of the server in %s: %w", g.dir, err)
	}
	return nil
}
