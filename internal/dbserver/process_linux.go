package dbserver

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// childrenOf returns the processes whose parent is one of parents, those included
// that have ended and were not waited for.
func childrenOf(parents ...int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil // no Linux without it; the caller asks again, or has no children
	}
	var children []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, parent, ok := processState(filepath.Join("/proc", entry.Name(), "stat")); ok && slices.Contains(parents, parent) {
			children = append(children, pid)
		}
	}
	return children
}

// standsStill reports whether all threads of a process are stopped, or it has ended.
func standsStill(pid int) bool {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return os.IsNotExist(err)
	}
	for _, entry := range entries {
		state, _, ok := processState(filepath.Join(tasks, entry.Name(), "stat"))
		if ok && state != 'T' && state != 't' && state != 'Z' && state != 'X' {
			return false
		}
	}
	return true
}

// processState reads a stat file: "PID (NAME) STATE PARENT …", where the name may
// hold spaces and parentheses itself.
func processState(path string) (state byte, parent int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent, err == nil
}
