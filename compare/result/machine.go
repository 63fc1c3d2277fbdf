package result

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ThisMachine describes the machine that the program runs on. The name of its CPU and its memory are there on Linux, where the system tells
// them; a container's limits are not looked at.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	if m.OS != "linux" {
		return m
	}
	// A system without these files tells nothing, which is no error.
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = cpuName(b)
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.Memory = memory(b)
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = load(b)
	}
	return m
}

// cpuName finds the name of the first CPU of /proc/cpuinfo. Kernels of ARM give none.
func cpuName(cpuinfo []byte) string {
	name := entry(cpuinfo, "model name")
	return strings.Join(strings.Fields(name), " ")
}

// memory finds the bytes of memory in /proc/meminfo, 0 where they are not there.
func memory(meminfo []byte) int64 {
	total := entry(meminfo, "MemTotal")
	number, unit, _ := strings.Cut(total, " ")
	kib, err := strconv.ParseInt(number, 10, 64)
	if err != nil || unit != "kB" || kib < 0 || kib > math.MaxInt64/1024 {
		return 0
	}
	return kib * 1024
}

// load is the average of the last minute in /proc/loadavg, 0 where it is not there.
func load(loadavg []byte) float64 {
	first, _, _ := strings.Cut(string(loadavg), " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil || !(n >= 0 && n < 1e9) {
		return 0
	}
	return n
}

// entry finds the first line "name: value".
func entry(lines []byte, name string) string {
	for s := bufio.NewScanner(bytes.NewReader(lines)); s.Scan(); {
		if n, v, found := strings.Cut(s.Text(), ":"); found && strings.TrimSpace(n) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
