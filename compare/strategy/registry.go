package strategy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrStrategy says that a name is no strategy, or that a strategy cannot be registered.
var ErrStrategy = errors.New("compare: unknown strategy")

// refused returns the error of a strategy, or a list of them, that is not unknown but cannot be taken.
func refused(format string, args ...any) error {
	return reason{fmt.Errorf(format, args...), ErrStrategy}
}

// registry has the strategies there are.
var registry struct {
	sync.Mutex
	own []Strategy // guarded, in the order in which they were registered
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Register adds a strategy to those of [All], for the rest of the process. It is safe for concurrent use. The error wraps [ErrStrategy] when the
// strategy is nil, when its name is not of a-z, 0-9 and single dashes, a letter first, up to 40 of them, or when there is one of that name.
func Register(s Strategy) error {
	registry.Lock()
	defer registry.Unlock()
	if err := Check(slices.Concat(builtIn(), registry.own, []Strategy{s})); err != nil {
		return err
	}
	registry.own = append(registry.own, s)
	return nil
}

// Check returns an error that wraps [ErrStrategy] when one of the strategies is nil, or has a name that none can have, or when two have the same.
func Check(strategies []Strategy) error {
	names := map[string]bool{}
	for _, s := range strategies {
		if s == nil {
			return refused("compare: a strategy is nil")
		}
		name := s.Info().Name
		if len(name) > 40 || !validName.MatchString(name) {
			return refused("compare: a strategy cannot be called %q; want a-z, 0-9 and single dashes, a letter first, up to 40", name)
		}
		if names[name] {
			return refused("compare: there are two strategies called %s", name)
		}
		names[name] = true
	}
	return nil
}

// All returns all strategies, those of this package first, in the order of the report. It is safe for concurrent use.
func All() []Strategy {
	registry.Lock()
	defer registry.Unlock()
	return slices.Concat(builtIn(), registry.own)
}

// usual are the strategies that most teams choose between.
var usual = []string{"autoincrement", "uuidv4", "uuidv7", "objectid", "ticket", "blocks", "snowkey"}

// Usual returns the seven strategies of this package that most teams choose between, and all that were registered. It is safe for concurrent
// use.
func Usual() []Strategy {
	own := len(builtIn())
	var chosen []Strategy
	for i, s := range All() {
		if i >= own || slices.Contains(usual, s.Info().Name) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// Select returns the strategies of the names given, in that order, and all for none. The error wraps [ErrStrategy] for a name that is given
// twice, and for one that is no strategy, and then lists the names there are and the one that is most like it.
func Select(names ...string) ([]Strategy, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	known := make([]string, len(all))
	for i, s := range all {
		known[i] = s.Info().Name
	}
	selected := make([]Strategy, 0, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, refused("compare: the strategy %s is named twice", name)
		}
		at := slices.Index(known, name)
		if at < 0 {
			meant := ""
			if near := nearest(name, known); near != "" {
				meant = "; did you mean " + near + "?"
			}
			return nil, fmt.Errorf("%w %q%s; there are %s", ErrStrategy, name, meant, strings.Join(known, ", "))
		}
		selected = append(selected, all[at])
	}
	return selected, nil
}

// nearest returns the name that takes the fewest changes, "" when none is like it.
func nearest(name string, known []string) string {
	best, fewest := "", max(2, len(name)/3)+1
	for _, k := range known {
		if n := changes(name, k); n < fewest {
			best, fewest = k, n
		}
	}
	return best
}

// changes is the edit distance of two texts, in bytes.
func changes(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		diagonal := last[0]
		last[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, last[j+1] = last[j+1], min(diagonal+cost, last[j+1]+1, last[j]+1)
		}
	}
	return last[len(b)]
}

// builtIn has the strategies of this package, in the order of the report.
func builtIn() []Strategy {
	return slices.Concat(
		[]Strategy{autoIncrement()},
		uuids(),
		[]Strategy{nanoID()},
		objectIDs(),
		tickets(),
		snowflakes(),
	)
}
