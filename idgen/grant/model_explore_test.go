package grant

import (
	"fmt"
	"strings"
)

// exploration is a model as explore looks at it: its first state S, the steps T from one state to the next, what may be wrong with these,
// and what may be wrong with a state that nothing leads on from.
type exploration[S comparable, T fmt.Stringer] struct {
	start S
	steps func(S, func(T, S))
	fault func(before, next *S) string
	stuck func(S) string
	same  func(S) S // the one of all states that differ in nothing that could still matter
}

// explore looks at all states, those that fewest steps lead to first, until something is wrong. The trace leads there.
//
//go:norace
func (e exploration[S, T]) explore(limit int) (states int, fault string, trace []string) {
	all, from, seen := []S{e.start}, []int{0}, map[S]struct{}{e.start: {}}
	for i := 0; i < len(all) && fault == ""; i++ {
		if len(all) > limit {
			return len(all), fmt.Sprintf("more than %d states", limit), nil
		}
		e.steps(all[i], func(_ T, next S) {
			if fault != "" {
				return
			}
			fault = e.fault(&all[i], &next)
			next = e.same(next)
			if _, found := seen[next]; !found || fault != "" {
				seen[next] = struct{}{}
				all, from = append(all, next), append(from, i)
			}
		})
		if fault == "" && e.stuck != nil {
			if fault = e.stuck(all[i]); fault != "" {
				return len(all), fault, e.trace(all, from, i, "")
			}
		}
	}
	if fault != "" {
		trace = e.trace(all, from, len(all)-1, fault)
	}
	return len(all), fault, trace
}

// trace tells the steps that lead to a state; the last one to the fault, if there is one.
func (e exploration[S, T]) trace(all []S, from []int, to int, fault string) (trace []string) {
	var path []S
	for i := to; i > 0; i = from[i] {
		path = append(path, all[i])
	}
	at := e.start
	for i := len(path) - 1; i >= 0; i-- {
		found := false
		e.steps(at, func(step T, next S) {
			if !found && e.same(next) == path[i] && (i > 0 || e.fault(&at, &next) == fault) {
				trace, at, found = append(trace, step.String()), next, true
			}
		})
	}
	return trace
}

// follow returns what is wrong after the steps of a trace, as far as they can be taken, and how many that are.
func (e exploration[S, T]) follow(trace []string) (fault string, taken int) {
	at := []S{e.start}
	for _, line := range trace {
		var reached []S
		wrong := ""
		for i := range at {
			e.steps(at[i], func(step T, next S) {
				if step.String() == line {
					wrong, reached = e.fault(&at[i], &next), append(reached, next)
				}
			})
		}
		if len(reached) == 0 {
			break
		}
		at, fault, taken = reached, wrong, taken+1
	}
	return fault, taken
}

// lines is a trace to be read.
func lines(trace []string) string { return strings.Join(trace, "\n") }
