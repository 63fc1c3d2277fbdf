//go:build linux

package testprocess

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Printer is a test program that prints ids, each on a line, and the ids that it has printed.
type Printer struct {
	*Process
	mu   sync.Mutex
	ids  []int64       // guarded by mu
	read chan struct{} // closed when all was read
}

// StartPrinter starts the program of the test itself with one test alone, which prints ids until it is killed, and variables of the environment that tell it to.
func StartPrinter(t testing.TB, test string, environment ...string) *Printer {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	reader, writer, err := os.Pipe() // not StdoutPipe, which the end of the process closes
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout = writer
	p := &Printer{Process: Start(t, command), read: make(chan struct{})}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.read)
		defer reader.Close()
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			if id, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				p.mu.Lock()
				p.ids = append(p.ids, id)
				p.mu.Unlock()
			}
		}
	}()
	return p
}

// Made returns how many ids were read so far.
func (p *Printer) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}

// Kill kills the program, and returns when all that it has printed was read.
func (p *Printer) Kill() {
	p.Process.Kill()
	<-p.read
}

// Twice returns how many ids printers have printed that were printed before, by themselves or by another.
func Twice(printers ...*Printer) (twice int) {
	seen := map[int64]bool{}
	for _, p := range printers {
		p.mu.Lock()
		for _, id := range p.ids {
			if seen[id] {
				twice++
			}
			seen[id] = true
		}
		p.mu.Unlock()
	}
	return twice
}

// KillPrinters has three programs print ids, and kills them, stops them for 400 ms, and restarts the server that they share, by turns for so many rounds. It fails the
// test where an id was printed twice.
func KillPrinters(t testing.TB, rounds int, begin func() *Printer, restart func()) {
	t.Helper()
	at := []*Printer{begin(), begin(), begin()}
	all := slices.Clone(at)
	made := func() (n int) {
		for _, p := range all {
			n += p.Made()
		}
		return n
	}
	for i := range rounds {
		before, which := made(), i%len(at)
		at[which].Until("ids are printed", func() bool { return made() > before+300 })
		switch i % 4 {
		case 0, 2:
			at[which].Kill()
			at[which] = begin()
			all = append(all, at[which])
		case 1:
			at[which].Signal(syscall.SIGSTOP)
			time.Sleep(400 * time.Millisecond)
			at[which].Signal(syscall.SIGCONT)
		default:
			restart()
		}
	}
	for _, p := range all {
		p.Kill()
	}
	if twice := Twice(all...); twice > 0 {
		t.Errorf("%d ids came twice", twice)
	}
	t.Logf("%d ids by %d processes", made(), len(all))
}
