package migrate_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate"
)

// TestRefusals logs for how long an application's inserts were refused, or waited, in a whole migration of the published schemas with the default
// window: the time from an insert's first attempt to the one that succeeded, and which steps it went to. The application makes 50 inserts a
// second, one writer a table. It leaves keys to the database until the hold, and fills them from then on. A refused insert is tried again after 5 ms.
//
// The times are logged, and no limit is asserted: they are the machine's, too. Rows are counted.
func TestRefusals(t *testing.T) {
	const rows = 5000
	if !tortured() {
		t.Skip("SNOWKEY_TORTURE is not set: it takes as long as the default windows do, and asserts no time; make torture runs it")
	}
	windows := map[string]time.Duration{"mysql": 2 * time.Second, "postgres": 10 * time.Second} // the defaults, as the plans' tests have them
	for _, p := range []published{chinook("mysql"), sakila(), chinook("postgres"), pagila()} {
		for _, mode := range p.modes {
			if mode == migrate.Widen {
				continue // rekey begins with it
			}
			t.Run(fmt.Sprintf("%s/%s/%s", p.name, p.kind, mode), func(t *testing.T) {
				d := open(t, p.kind)
				p.make(t, d.pool, p.kind, rows)
				d.exec(p.before...)
				o := p.options(mode)
				o.Window = windows[p.kind]
				planned := d.planAccepting(p.inspect, o)
				var steps spans
				load := d.runBeside(p, planned, time.Duration(len(p.writers))*20*time.Millisecond, steps.begin)
				steps.end(time.Now())
				refusals := load.Stop()
				load.Check()
				slices.SortFunc(refusals, func(x, y writerResult) int { return cmp.Compare(y.Longest, x.Longest) })
				for _, r := range refusals {
					t.Log(r)
				}
				t.Logf("the longest: %s", steps.within(refusals[0].Began, refusals[0].Longest))
			})
		}
	}
}

// spans are the times of a run's steps, one after the other.
type spans []struct {
	title      string
	began, end time.Time
}

// begin notes that a run is at a step.
func (s *spans) begin(p migrate.Progress) {
	now := time.Now()
	if n := len(*s); n > 0 && (*s)[n-1].title == p.Title {
		return
	}
	s.end(now)
	*s = append(*s, struct {
		title      string
		began, end time.Time
	}{p.Title, now, now})
}

// end notes that the last step is at its end.
func (s *spans) end(now time.Time) {
	if n := len(*s); n > 0 {
		(*s)[n-1].end = now
	}
}

// within says for how long of some time the run was at which steps.
func (s spans) within(began time.Time, took time.Duration) string {
	var parts []string
	rest := took
	for _, span := range s {
		from, to := span.began, span.end
		if from.Before(began) {
			from = began
		}
		if end := began.Add(took); to.After(end) {
			to = end
		}
		if d := to.Sub(from); d > time.Millisecond {
			parts, rest = append(parts, fmt.Sprintf("%s at %q", d.Round(time.Millisecond), span.title)), rest-d
		}
	}
	return fmt.Sprintf("%s: %s, %s at none", took.Round(time.Millisecond), strings.Join(parts, ", "), rest.Round(time.Millisecond))
}
