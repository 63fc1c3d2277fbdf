package dbserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canGuard is set by [Guard]: this program, executed again, becomes a guard.
var canGuard atomic.Bool

// guardSupported returns an error unless the program has called Guard.
func guardSupported(string) error {
	if !canGuard.Load() {
		return errors.New("dbserver: main has to call Guard before a private server starts")
	}
	return nil
}

// guardCommand is the command of a guard: this program again. Its session is its own,
// so that an interrupt from the terminal, which goes to the whole foreground group,
// reaches neither it nor the server: this process may end its work in good order, and
// when it has ended the guard ends the server.
func guardCommand() *exec.Cmd {
	return &exec.Cmd{
		Path:        "/proc/self/exe", // holds even if the file has been removed, as go test does, or replaced
		Args:        []string{"snowkey-dbserver-guard"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
}

// Guard makes this process a guard if [Start] executed it as one, and never returns then. Otherwise Guard returns at once, and Start may execute this
// program. It has to be the first call of main.
func Guard() {
	canGuard.Store(true)
	if os.Getenv(guardVariable) != "" {
		runtime.LockOSThread() // the kernel kills the server when the thread ends that started it
		guardMain()
	}
}

// guardProcess is the guard's own state. Only its main goroutine uses it.
type guardProcess struct {
	requests <-chan request // closed when the process that started the guard is gone
	children chan os.Signal // a child has ended, or several have
	signals  chan os.Signal // somebody ends the guard

	dir        string
	log        *os.File
	credential *syscall.Credential // of the server; nil: the guard's own

	server int    // its process number, 0 when it does not run
	ended  string // how it ended
	paused bool
}

func guardMain() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		answer(reply{Error: "adopting orphans: " + err.Error()})
		exit(1)
	}
	// A reply that nobody is there to read must not end the guard before it has ended the server.
	signal.Ignore(syscall.SIGPIPE)
	requests := make(chan request)
	go func() {
		defer close(requests)
		lines := json.NewDecoder(bufio.NewReader(os.Stdin))
		for {
			var r request
			if lines.Decode(&r) != nil {
				return // end of file, as nothing malformed is ever sent
			}
			requests <- r
		}
	}()
	g := &guardProcess{
		requests: requests,
		children: make(chan os.Signal, 1),
		signals:  make(chan os.Signal, 1),
		ended:    "it was never started",
	}
	signal.Notify(g.children, syscall.SIGCHLD)
	signal.Notify(g.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	for {
		select {
		case r, open := <-g.requests:
			if !open {
				g.end()
			}
			answer(g.handle(r))
		case <-g.children:
			g.reap()
		case <-g.signals:
			g.end()
		}
	}
}

// answer sends a reply. If nobody is there to read it, the end of the requests says so.
func answer(r reply) {
	line, err := json.Marshal(r)
	if err != nil {
		line = []byte(`{"Error":"a reply that is no JSON"}`)
	}
	os.Stdout.Write(append(line, '\n'))
}

// exit ends the guard without what the race detector does in os.Exit: it waits for a
// second there.
func exit(code int) { syscall.Exit(code) }

// end kills what is left of the server, removes its folder, and ends the guard.
func (g *guardProcess) end() {
	g.killAll()
	if g.dir != "" {
		removeSharedMemory(filepath.Join(g.dir, "data"))
		if err := os.RemoveAll(g.dir); err != nil {
			exit(1)
		}
	}
	exit(0)
}

func (g *guardProcess) handle(r request) reply {
	g.reap()
	var err error
	switch r.Do {
	case doOpen:
		err = g.open(r.Args[0])
	case doRun:
		err = g.run(r.Args, r.Limit)
	case doCopy:
		err = g.copy(r.Args[0])
	case doKeep:
		err = g.keep(r.Args[0])
	case doStart:
		err = g.start(r.Args)
	case doStatus:
	default:
		if g.server == 0 {
			err = fmt.Errorf("it does not run: %s", g.ended)
			break
		}
		switch r.Do {
		case doStop:
			err = g.stop(r.Signal, r.Limit)
		case doKill:
			g.killAll()
		case doPause:
			err = g.pause()
		case doResume:
			err = g.resume()
		default:
			err = fmt.Errorf("unknown request %q", r.Do)
		}
	}
	result := reply{Dir: g.dir, PID: g.server, Ended: g.ended}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

// open makes the server's folder and its log file, for the server's user.
func (g *guardProcess) open(prefix string) error {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return fmt.Errorf("servers do not run as root, and there is no user nobody to run them as: %w", err)
		}
		if uid, err = strconv.Atoi(nobody.Uid); err != nil {
			return err
		}
		if gid, err = strconv.Atoi(nobody.Gid); err != nil {
			return err
		}
		g.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	temp := os.TempDir()
	if !suitable(temp, prefix, uid) {
		temp = "/tmp"
	}
	dir, err := os.MkdirTemp(temp, prefix)
	if err != nil {
		return err
	}
	g.dir = dir
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		return err
	}
	if g.log, err = os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return err
	}
	if g.credential == nil {
		return nil
	}
	for _, path := range []string{dir, filepath.Join(dir, "data"), g.log.Name()} {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// suitable reports whether a server's socket can be below the folder temp: the path of
// a socket has less than 108 bytes, DSNs must hold it without escapes, and the
// server's user must reach it.
func suitable(temp, prefix string, uid int) bool {
	const longest = "4294967295/.s.PGSQL.5432" // MkdirTemp's number, and the longer of the sockets' names
	if !filepath.IsAbs(temp) || len(filepath.Join(temp, prefix+longest)) >= 108 {
		return false
	}
	if strings.ContainsFunc(temp, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("/._-", r)
	}) {
		return false
	}
	if uid == os.Getuid() {
		return true
	}
	for folder := filepath.Clean(temp); folder != "/"; folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

// spawn starts a command as the server's user, with its output in the log.
func (g *guardProcess) spawn(command []string) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	// Little of the environment, as PGPORT, MYSQL_HOME and others change a server.
	env := []string{"HOME=" + g.dir, "TMPDIR=" + g.dir, "LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	pid, err = syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Dir:   g.dir,
		Env:   env,
		Files: []uintptr{null.Fd(), g.log.Fd(), g.log.Fd()},
		Sys:   &syscall.SysProcAttr{Credential: g.credential, Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", command[0], err)
	}
	return pid, nil
}

// run runs a command to its end. It is the server meanwhile, so that all that can
// happen to a server can happen to it.
func (g *guardProcess) run(command []string, limit time.Duration) error {
	if err := g.start(command); err != nil {
		return err
	}
	if !g.wait(limit) {
		g.killAll()
		return fmt.Errorf("%s did not end within %v", command[0], limit)
	}
	ended := g.ended
	g.killAll()
	if ended != "exit status 0" {
		return fmt.Errorf("%s: %s", command[0], ended)
	}
	return nil
}

func (g *guardProcess) start(command []string) error {
	if g.server != 0 {
		return errors.New("it runs already")
	}
	g.killAll() // what a crashed server has left
	pid, err := g.spawn(command)
	if err != nil {
		return err
	}
	g.server, g.ended, g.paused = pid, "", false
	return nil
}

func (g *guardProcess) stop(s syscall.Signal, limit time.Duration) error {
	if g.paused {
		if err := g.resume(); err != nil {
			return err
		}
	}
	if err := syscall.Kill(g.server, s); err != nil {
		return err
	}
	if !g.wait(limit) {
		return fmt.Errorf("it did not end within %v of signal %q", limit, s)
	}
	g.killAll() // what it has left
	return nil
}

// wait waits until the server has ended, and reports whether it has within the limit.
// It does not return if the process that started the guard goes first.
func (g *guardProcess) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for g.reap(); g.server != 0; g.reap() {
		select {
		case <-g.children:
		case <-g.requests: // closed: no request is sent before the last one's reply
			g.end()
		case <-g.signals:
			g.end()
		case <-timer.C:
			return false
		}
	}
	return true
}

// reap takes note of the children that have ended, and reports whether any is left. No
// other place waits for children, so between two calls their process numbers are
// theirs.
func (g *guardProcess) reap() (left bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false // ECHILD
		case pid == 0:
			return true
		case pid == g.server:
			g.server = 0
			if status.Signaled() {
				g.ended = "signal: " + status.Signal().String()
			} else {
				g.ended = "exit status " + strconv.Itoa(status.ExitStatus())
			}
		}
	}
}

// killAll kills all descendants. It kills the guard's children only; theirs then
// become the guard's, as it adopts orphans, and are next. Children are known exactly,
// for nobody but reap can release their process numbers.
func (g *guardProcess) killAll() {
	for g.reap() {
		for _, pid := range childrenOf(os.Getpid()) {
			syscall.Kill(pid, syscall.SIGKILL) // fails if it has just ended
		}
		time.Sleep(time.Millisecond)
	}
	g.paused = false
}

// pause stops all descendants, parents before children: a process that stands still
// makes no more children, and releases no process number of those it has.
func (g *guardProcess) pause() error {
	g.paused = true
	deadline := time.Now().Add(30 * time.Second)
	for found := true; found; {
		found = false
		parents := []int{os.Getpid()}
		for len(parents) > 0 {
			children := childrenOf(parents...)
			for _, pid := range children {
				if standsStill(pid) {
					continue
				}
				found = true // so a pass follows in which nothing is new
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					return fmt.Errorf("process %d: %w", pid, err)
				}
				for !standsStill(pid) {
					if time.Now().After(deadline) {
						return fmt.Errorf("process %d does not stand still after 30s", pid)
					}
					time.Sleep(time.Millisecond)
				}
			}
			parents = children
		}
	}
	return nil
}

// resume lets all descendants go on, children before parents, for the reason that
// pause has.
func (g *guardProcess) resume() error {
	var all []int
	for parents := []int{os.Getpid()}; len(parents) > 0; {
		parents = childrenOf(parents...)
		all = append(parents[:len(parents):len(parents)], all...)
	}
	var err error
	for _, pid := range all {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	}
	g.paused = false
	return err
}

// removeSharedMemory removes the System V segment by which a PostgreSQL server keeps
// others off its data folder. A killed one leaves it behind, and a machine has room
// for some thousands only. The server's pid file names it; nobody is attached to it
// any more if it is the one.
func removeSharedMemory(data string) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return // another kind of server, or one that was stopped in good order
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 7 {
		return // it had not come so far
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return
	}
	var owner unix.Stat_t
	var segment unix.SysvShmDesc
	if unix.Stat(data, &owner) != nil {
		return
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &segment); err != nil {
		return
	}
	if segment.Perm.Uid == owner.Uid && int(segment.Perm.Key) == key && segment.Nattch == 0 {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // at worst it stays
	}
}
