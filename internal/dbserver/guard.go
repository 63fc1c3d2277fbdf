package dbserver

import (
	"bufio"
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

// guardVariable tells a program that it is to be a guard.
const guardVariable = "SNOWKEY_DBSERVER_GUARD"

// A request is one line of JSON that a process sends its guard. The guard
// answers each with one reply.
type request struct {
	Do     action
	Args   []string       // open: the folder's prefix; run, start: the command; copy, keep: the template
	Signal syscall.Signal // stop: what to send the server
	Limit  time.Duration  // run, stop: how long to wait
}

type action string

const (
	doOpen   action = "open"   // make the server's folder
	doRun    action = "run"    // run a command to its end, as the server's user
	doCopy   action = "copy"   // fill the data folder from a template
	doKeep   action = "keep"   // make a template of the data folder
	doStart  action = "start"  // start the server
	doStatus action = "status" // tell whether it runs
	doStop   action = "stop"   // send it a signal, and wait for its end
	doKill   action = "kill"
	doPause  action = "pause"
	doResume action = "resume"
)

// A reply is one line of JSON.
type reply struct {
	Error string // why the request failed, or ""
	Dir   string // open: the folder
	PID   int    // start, status: the server's process number, 0 if it does not run
	Ended string // status: how the server ended, such as "exit status 1"
}

// guard is the side of a guard process that the one which started it has. It has no
// goroutine.
type guard struct {
	dir string // the server's folder
	cmd *exec.Cmd

	mu       sync.Mutex // one request at a time
	requests *os.File   // the guard ends when this is closed
	replies  *os.File
	reader   *bufio.Reader // of replies
	broken   error         // why no request can be sent any more
	closed   bool
}

// startGuard starts a guard process, and has it make a folder with the prefix.
func startGuard(prefix string) (*guard, error) {
	stdin, requests, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("dbserver: a pipe to a guard: %w", err)
	}
	defer stdin.Close()
	replies, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dbserver: a pipe from a guard: %w", err), requests.Close())
	}
	defer stdout.Close()
	// The guard must not hold the process's own output: whoever reads that, as go test
	// does, waits until it is closed.
	cmd := guardCommand()
	cmd.Env = append(os.Environ(), guardVariable+"=1")
	cmd.Stdin, cmd.Stdout = stdin, stdout
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("dbserver: starting a guard: %w", err), requests.Close(), replies.Close())
	}
	g := &guard{cmd: cmd, requests: requests, replies: replies, reader: bufio.NewReader(replies)}
	answer, err := g.ask(request{Do: doOpen, Args: []string{prefix}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dbserver: making a server's folder: %w", err), g.close())
	}
	g.dir = answer.Dir
	return g, nil
}

// log is the path of the file that the guard's commands write to.
func (g *guard) log() string { return filepath.Join(g.dir, logName) }

const logName = "server.log"

// ask sends a request, and waits for its reply. The caller holds mu, here and in the
// methods up to close.
func (g *guard) ask(r request) (reply, error) {
	if g.broken != nil {
		return reply{}, g.broken
	}
	answer, err := g.exchange(r)
	if err != nil {
		g.broken = fmt.Errorf("no answer from the server's guard: %w", err)
		return reply{}, g.broken
	}
	if answer.Error != "" {
		return answer, errors.New(answer.Error)
	}
	return answer, nil
}

func (g *guard) exchange(r request) (answer reply, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return reply{}, err
	}
	if _, err := g.requests.Write(append(line, '\n')); err != nil {
		return reply{}, err
	}
	// The guard keeps the limit itself; this is for a guard that hangs.
	if err := g.replies.SetReadDeadline(time.Now().Add(r.Limit + time.Minute)); err != nil {
		return reply{}, err
	}
	if line, err = g.reader.ReadBytes('\n'); err != nil {
		return reply{}, err
	}
	return answer, json.Unmarshal(line, &answer)
}

func (g *guard) run(command []string, limit time.Duration) error {
	_, err := g.ask(request{Do: doRun, Args: command, Limit: limit})
	return err
}

func (g *guard) copy(template string) error {
	_, err := g.ask(request{Do: doCopy, Args: []string{template}, Limit: initialiseLimit})
	return err
}

func (g *guard) keep(template string) error {
	_, err := g.ask(request{Do: doKeep, Args: []string{template}, Limit: initialiseLimit})
	return err
}

func (g *guard) start(command []string) error {
	_, err := g.ask(request{Do: doStart, Args: command})
	return err
}

// running reports whether the server runs, and if not, why.
func (g *guard) running() (bool, error) {
	answer, err := g.ask(request{Do: doStatus})
	if err != nil {
		return false, err
	}
	if answer.PID == 0 {
		return false, errors.New(answer.Ended)
	}
	return true, nil
}

func (g *guard) stop(signal syscall.Signal, limit time.Duration) error {
	_, err := g.ask(request{Do: doStop, Signal: signal, Limit: limit})
	return err
}

func (g *guard) kill() error {
	_, err := g.ask(request{Do: doKill})
	return err
}

func (g *guard) pause() error {
	_, err := g.ask(request{Do: doPause})
	return err
}

func (g *guard) resume() error {
	_, err := g.ask(request{Do: doResume})
	return err
}

// abandon has the guard end, whatever it does, and returns before it has. Only close may
// follow. Unlike all others it may be called while a request is at work.
func (g *guard) abandon() { _ = g.requests.Close() } // closed already: it ends

// close ends the guard, and returns when the server's processes, its folder and the
// guard are gone. A second call does nothing.
func (g *guard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed, g.broken = true, errors.New("the server has been closed")
	err := g.requests.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // abandoned
	}
	// Its end of the replies is closed when it ends.
	err = errors.Join(err, g.replies.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, readErr := io.Copy(io.Discard, g.replies); readErr != nil {
		// The kernel kills the server with it.
		err = errors.Join(err, readErr, g.cmd.Process.Kill())
	}
	err = errors.Join(err, g.replies.Close(), g.cmd.Wait())
	if err != nil {
		return fmt.Errorf("dbserver: ending the guard of the server in %s: %w", g.dir, err)
	}
	return nil
}
