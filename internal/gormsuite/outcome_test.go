//go:build unix

package gormsuite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// results are what the tests of a run came to.
type results struct {
	passed, skipped int               // without subtests
	failed          map[string]string // the output of tests that failed, by name; of subtests instead of the tests they are part of
	output          string            // what no test printed
	complete        bool              // no panic, and no other end, has kept tests from running
}

// event is a line that go test -json prints.
type event struct {
	Action, Package, Test, Output string
}

// readResults reads what go test -json prints. It calls each with the number of tests that have ended.
func readResults(r io.Reader, each func(int)) (results, error) {
	res := results{failed: map[string]string{}}
	outputs, other := map[string]*strings.Builder{}, &strings.Builder{}
	started, ended := map[string]bool{}, 0
	for decoder := json.NewDecoder(r); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return res, fmt.Errorf("read what go test prints: %w", err)
		}
		if e.Test == "" {
			other.WriteString(e.Output)
			// The package testing prints this after the last test.
			if e.Output == "PASS\n" || e.Output == "FAIL\n" {
				res.complete = true
			}
			continue
		}
		switch e.Action {
		case "run":
			started[e.Test], outputs[e.Test] = true, &strings.Builder{}
		case "output":
			if o := outputs[e.Test]; o != nil {
				o.WriteString(e.Output)
			}
		case "pass", "skip", "fail":
			delete(started, e.Test)
			if e.Action == "fail" {
				res.failed[e.Test] = outputs[e.Test].String()
			}
			if strings.Contains(e.Test, "/") {
				continue
			}
			switch e.Action {
			case "pass":
				res.passed++
			case "skip":
				res.skipped++
			}
			ended++
			each(ended)
		}
	}
	for test := range started {
		res.failed[test] = outputs[test].String() + "the test did not end\n"
	}
	for test := range res.failed {
		if i := strings.LastIndex(test, "/"); i > 0 {
			delete(res.failed, test[:i])
		}
	}
	res.output = other.String()
	return res, nil
}

// comparison is what a run came to beside the list.
type comparison struct {
	unexpected []string // tests that failed and are not on the list
	stale      []string // tests on the list that did not fail
	expected   int      // tests that failed and are on the list
}

// compare compares the failures of a run with the list.
func compare(list []entry, res results, database, mode string) comparison {
	var c comparison
	listed := map[string]bool{}
	for _, e := range list {
		if !e.covers(database, mode) {
			continue
		}
		listed[e.test] = true
		if _, failed := res.failed[e.test]; failed {
			c.expected++
		} else if e.mark == "" && res.complete {
			c.stale = append(c.stale, e.test)
		}
	}
	for _, test := range slices.Sorted(maps.Keys(res.failed)) {
		if !listed[test] {
			c.unexpected = append(c.unexpected, test)
		}
	}
	return c
}
