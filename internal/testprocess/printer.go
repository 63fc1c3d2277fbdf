//go:build linux

package testprocess

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
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
