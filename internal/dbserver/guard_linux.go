package dbserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const sigstop, sigcont = syscall.SIGSTOP, syscall.SIGCONT // some systems have none

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
	if prefix := os.Getenv(guardVariable); prefix != "" {
		runtime.LockOSThread() // the kernel kills the server when the thread ends that started it
		guardMain(prefix)
	}
}

// guardProcess is the guard's own state. Only its main goroutine uses it.
type guardProcess struct {
	dir        string
	log        *os.File
	credential *syscall.Credential // of the server; nil: the guard's own

	server int    // its process number, 0 when it does not run
	ended  string // how it ended
}

func guardMain(prefix string) {
	g := &guardProcess{ended: "it was never started"}
	// A reply that nobody is there to read must not end the guard before it has ended the server.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	requests := make(chan request) // closed when the process that started the guard is gone
	go func() {
		defer close(requests)
		lines := json.NewDecoder(os.Stdin)
		for {
			var r request
			if lines.Decode(&r) != nil {
				return // end of file, as nothing malformed is ever sent
			}
			requests <- r
		}
	}()
	for {
		select {
		case r, open := <-requests:
			if !open {
				g.end()
			}
			err := g.handle(r, prefix)
			result := reply{Dir: g.dir, PID: g.server, Ended: g.ended}
			if err != nil {
				result.Error = err.Error()
			}
			_ = json.NewEncoder(os.Stdout).Encode(result) // if nobody is there to read it, the end of the requests says so
		case <-children:
			g.reap() // Patroni waits until its PostgreSQL is no process any more, and that is the guard's child
		case <-signals:
			g.end()
		}
	}
}

// end kills what is left of the server, removes its folder, and ends the guard, without what the race detector does in os.Exit: it waits for a
// second there.
func (g *guardProcess) end() {
	g.killAll()
	if g.dir != "" {
		removeSharedMemory(filepath.Join(g.dir, "data"))
		if err := os.RemoveAll(g.dir); err != nil {
			syscall.Exit(1)
		}
	}
	syscall.Exit(0)
}

func (g *guardProcess) handle(r request, prefix string) error {
	if g.dir == "" {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("adopting orphans: %w", err)
		}
		if err := g.open(prefix); err != nil {
			return err
		}
	}
	g.reap()
	if g.server == 0 {
		g.killAll() // what a crashed server has left
	}
	switch {
	case r.Command != nil:
		return g.start(r.Command)
	case r.Signal == 0:
		return nil
	case g.server == 0:
		return fmt.Errorf("it does not run: %s", g.ended)
	case r.Signal == syscall.SIGKILL:
		g.killAll()
		return nil
	case r.Signal == syscall.SIGSTOP:
		return g.pause()
	}
	return errors.Join(g.resume(), syscall.Kill(g.server, r.Signal))
}

// open makes the server's folder and its log file, for the server's user.
func (g *guardProcess) open(prefix string) error {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		nobody, err := user.Lookup("nobody")
		if err == nil {
			_, err = fmt.Sscan(nobody.Uid+" "+nobody.Gid, &uid, &gid)
		}
		if err != nil {
			return fmt.Errorf("servers do not run as root, and there is no user nobody to run them as: %w", err)
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
	if !unescaped.MatchString(temp) || len(filepath.Join(temp, prefix+longest)) >= 108 {
		return false
	}
	for folder := filepath.Clean(temp); folder != "/" && uid != os.Getuid(); folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

var unescaped = regexp.MustCompile(`^/[a-zA-Z0-9/._-]*$`)

// start starts a command as the server's user, with its output in the log.
func (g *guardProcess) start(command []string) error {
	if g.server != 0 {
		return errors.New("it runs already")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	// Little of the environment, as PGPORT, MYSQL_HOME and others change a server.
	env := []string{"HOME=" + g.dir, "TMPDIR=" + g.dir, "LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Dir:   g.dir,
		Env:   env,
		Files: []uintptr{null.Fd(), g.log.Fd(), g.log.Fd()},
		Sys:   &syscall.SysProcAttr{Credential: g.credential, Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	g.server, g.ended = pid, ""
	return nil
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
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has just ended
		}
		time.Sleep(time.Millisecond)
	}
}

// pause stops all descendants, parents before children: a process that stands still
// makes no more children, and releases no process number of those it has.
func (g *guardProcess) pause() error {
	for found := true; found; {
		found = false
		for parents := childrenOf(os.Getpid()); len(parents) > 0; parents = childrenOf(parents...) {
			for _, pid := range parents {
				if standsStill(pid) {
					continue
				}
				found = true // so a pass follows in which nothing is new
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					return fmt.Errorf("process %d: %w", pid, err)
				}
				for !standsStill(pid) {
					time.Sleep(time.Millisecond)
				}
			}
		}
	}
	return nil
}

// resume lets all descendants that stand still go on, children before parents, for the reason that pause has. Of a server that runs some may end
// meanwhile.
func (g *guardProcess) resume() (err error) {
	var all []int
	for parents := childrenOf(os.Getpid()); len(parents) > 0; parents = childrenOf(parents...) {
		all = slices.Concat(parents, all)
	}
	for _, pid := range all {
		if !standsStill(pid) {
			continue
		}
		if failed := syscall.Kill(pid, syscall.SIGCONT); failed != syscall.ESRCH { // it stood still because it has ended
			err = errors.Join(err, failed)
		}
	}
	return err
}

// removeSharedMemory removes the System V segment by which a PostgreSQL server keeps
// others off its data folder. A killed one leaves it behind, and a machine has room
// for some thousands only. The server's pid file names it; nobody is attached to it
// any more if it is the one.
func removeSharedMemory(data string) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 7 {
		return // another kind of server, one that was stopped in good order, or had not come so far
	}
	var key, id int
	var owner unix.Stat_t
	var segment unix.SysvShmDesc
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil || unix.Stat(data, &owner) != nil {
		return
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_STAT, &segment)
	if err == nil && segment.Perm.Uid == owner.Uid && int(segment.Perm.Key) == key && segment.Nattch == 0 {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // at worst it stays
	}
}
