package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// working are the runners of this process that are at work. Entries are added and removed by Writers, at any time.
var working sync.Map

// newRunner makes up a name that no runner had before: host, process, and when that began with 64 random bits. The beginning tells a
// process from a later one with its number; it is 0 where the system does not tell.
func newRunner() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("journal: the name of this machine: %w", err)
	}
	var random [8]byte
	rand.Read(random[:]) // never fails, as its documentation promises
	pid := os.Getpid()
	return fmt.Sprintf("%.120s:%d:%s-%s", host, pid, began(pid), hex.EncodeToString(random[:])), nil
}

// Alive reports whether a runner is known to be at work: it is of this machine, and its process lives. Of another machine's it is false,
// as nothing can be known of it; the fence keeps such a one from writing, should it live.
func Alive(runner string) bool {
	if _, ok := working.Load(runner); ok {
		return true
	}
	parts := strings.Split(runner, ":")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	host, hostErr := os.Hostname()
	if err != nil || hostErr != nil || pid <= 0 || fmt.Sprintf("%.120s", host) != parts[0] || pid == os.Getpid() {
		return false // of this process, all that are at work are known
	}
	if since, _, _ := strings.Cut(parts[2], "-"); since != began(pid) {
		return false // the number is another process's now
	}
	return lives(pid)
}

// lives reports whether there is a process of a number.
func lives(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release() // it has nothing to say
	if runtime.GOOS == "windows" {
		return true // it was found
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// began returns when a process began, in ticks since the machine started, as Linux tells; else "0", also of one that has ended and is not
// waited for yet.
func began(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "0"
	}
	// The name of the program, in parentheses, may have anything in it. What comes after begins with field 3.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const start = 22 - 3
	if len(fields) <= start || string(fields[0]) == "Z" {
		return "0"
	}
	return string(fields[start])
}
