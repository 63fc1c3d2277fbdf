//go:build unix

package gormsuite

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// expectedFile is the list of tests that fail, with reasons.
//
//go:embed expected.txt
var expectedFile string

// entry is a test that fails on databases in modes.
type entry struct {
	test      string
	databases []string
	modes     []string
	mark      string // one of marks, or empty
	reason    string
}

// The marks of an entry.
const (
	chance = "chance" // whether it fails depends on chance
	skip   = "skip"   // it is not run, since other tests do not work after it
)

var marks = []string{chance, skip}

// parseList reads a list: lines of a test, databases, modes and perhaps a mark, each with its reason in the lines after it, which are
// indented. Lines that start with # are comments.
func parseList(text string) ([]entry, error) {
	var list []entry
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || line[0] == '#':
		case line[0] == '\t':
			if len(list) == 0 {
				return nil, fmt.Errorf("line %d: a reason without a test before it", i+1)
			}
			last := &list[len(list)-1]
			last.reason = strings.TrimSpace(last.reason + " " + strings.TrimSpace(line))
		default:
			e, err := parseEntry(fields)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			list = append(list, e)
		}
	}
	return list, checkList(list)
}

func parseEntry(fields []string) (entry, error) {
	if len(fields) < 3 || len(fields) > 4 || len(fields) == 4 && !slices.Contains(marks, fields[3]) {
		return entry{}, fmt.Errorf("want TEST DATABASES MODES [%s], got %q", strings.Join(marks, "|"), strings.Join(fields, " "))
	}
	e := entry{test: fields[0]}
	if len(fields) == 4 {
		e.mark = fields[3]
	}
	if e.mark == skip && strings.Contains(e.test, "/") {
		return entry{}, fmt.Errorf("%s is a subtest, which cannot be skipped", e.test)
	}
	var err error
	if e.databases, err = choose(fields[1], databases); err != nil {
		return entry{}, err
	}
	e.modes, err = choose(fields[2], modes)
	return e, err
}

// covers reports whether the entry is of a run.
func (e entry) covers(database, mode string) bool {
	return slices.Contains(e.databases, database) && slices.Contains(e.modes, mode)
}

// skipPattern matches the tests that are not run, as go test -skip takes it; nothing when there are none.
func skipPattern(list []entry, database, mode string) string {
	var patterns []string
	for _, e := range list {
		if e.mark == skip && e.covers(database, mode) {
			patterns = append(patterns, "^"+e.test+"$")
		}
	}
	return strings.Join(patterns, "|")
}

// checkList returns an error for an entry without a reason, or two for one run of a test.
func checkList(list []entry) error {
	seen := map[string]bool{}
	for _, e := range list {
		if e.reason == "" {
			return fmt.Errorf("%s has no reason", e.test)
		}
		for _, database := range e.databases {
			for _, mode := range e.modes {
				run := e.test + " on " + database + " with " + mode
				if seen[run] {
					return fmt.Errorf("%s is there twice", run)
				}
				seen[run] = true
			}
		}
	}
	return nil
}

// choose returns the names in a list with commas, or all of them for "all". The error is for one that is none of them.
func choose(text string, all []string) ([]string, error) {
	if text == "all" {
		return all, nil
	}
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(all, ", "))
		}
	}
	return names, nil
}
