package plan

import (
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Need is one obstacle of a plan, and what settles it.
type Need struct {
	Text  string // what is in the way and what to do, in sentences
	Flag  string // the flag of the command plan, without dashes, that settles it; empty where none does
	Value string // the flag's value: a proposal, where somebody has to choose
}

// Blocked is the error of a plan that cannot be made yet, with all obstacles. It wraps [ErrBlocked].
type Blocked struct {
	Needs []Need
	Draft *Plan // the plan as far as Make came, for callers that look for more obstacles
}

// Error lists the needs, one a line.
func (e *Blocked) Error() string {
	text := ErrBlocked.Error() + ":"
	for _, n := range e.Needs {
		text += "\n" + n.Text
	}
	return text
}

// Unwrap returns ErrBlocked.
func (e *Blocked) Unwrap() error { return ErrBlocked }

// Flags returns the flags that settle needs, and how many needs no flag settles.
func (e *Blocked) Flags() (flags []Need, left int) {
	for _, n := range e.Needs {
		same := func(o Need) bool { return o.Flag == n.Flag && o.Value == n.Value }
		switch {
		case n.Flag == "":
			left++
		case !slices.ContainsFunc(flags, same):
			flags = append(flags, Need{Flag: n.Flag, Value: n.Value})
		}
	}
	return flags, left
}

// String returns a need's flag as it is given.
func (n Need) String() string {
	if n.Value == "" {
		return "--" + n.Flag
	}
	return "--" + n.Flag + " " + shellQuote(n.Value)
}

// OneTime returns a time for rows of which nobody knows when they were made: the first midnight of a layout whose ids do not count as old, which are those below a number.
func OneTime(layout idgen.Layout, below int64) time.Time {
	t := layout.Epoch().UTC().Truncate(24 * time.Hour)
	for range 1000 {
		t = t.AddDate(0, 0, 1)
		if least, err := layout.MinID(t); err == nil && least > below {
			break
		}
	}
	return t
}

func (b *builder) oneTime() time.Time { return OneTime(b.options.Layout, b.options.Below) }
