package partition

import (
	"fmt"
	"math"
	"time"
)

// Action is what a step does.
type Action string

// The actions.
const (
	Finalize Action = "finalize" // ends a DETACH CONCURRENTLY that was begun
	Make     Action = "make"     // makes a partition, or on MySQL several, and moves the rows into it that the default partition has for it
	Unmark   Action = "unmark"   // takes the mark from a partition that was to be detached, and is not any more
	Shell    Action = "shell"    // MySQL: makes the empty table that a partition is exchanged with
	Remove   Action = "detach"   // makes a partition a table of its own
	Discard  Action = "discard"  // MySQL: drops a partition, in one statement with its rows, or one that is empty
	Call     Action = "archive"  // calls [Table.Archive], and marks the table as archived
	Delete   Action = "drop"     // drops a table that was a partition
)

// Step is one thing that a run does. A run that is killed in a step has done all of it or nothing, or left what the next run goes on with.
type Step struct {
	Action Action `json:"action"`
	Name   string `json:"name"` // of the partition, or of the table that was one
	Range
	Rows int64 `json:"rows,omitempty"` // rows of the default partition that are moved
	// SQL are the statements. A SELECT among them has to return no row; when it does, the run makes a new plan.
	SQL []string `json:"sql,omitempty"`

	table Detached // of Call
}

// String says what the step does.
func (s Step) String() string {
	text := fmt.Sprintf("%s %s, %s", s.Action, s.Name, s.times())
	if s.Rows > 0 {
		text += fmt.Sprintf(", moving %d rows", s.Rows)
	}
	return text
}

// times shows the time of a range.
func (r Range) times() string {
	if r.FromID == math.MinInt64 {
		r.From = time.Time{}
	}
	return clock(r.From) + " to " + clock(r.To)
}

// clock shows a bound, which may be none.
func clock(t time.Time) string {
	if t.IsZero() {
		return "no bound"
	}
	return t.Format("2006-01-02T15:04Z07:00")
}

// Span is a time without a partition of its own.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Problem is something that a run cannot do, or must not.
type Problem struct {
	// Kind is one of "partman", "clock", "many", "behind", "gap", "unplaced", "name", "archive", "limit".
	Kind string `json:"kind"`
	// Text says what was found, and what to do.
	Text string `json:"text"`
}

// Plan is what a run does next, and what needs an operator.
type Plan struct {
	Status
	// Ahead is how many periods after that of now have their partitions, without a gap.
	Ahead int `json:"ahead"`
	// Gaps are the times between the oldest and the newest partition that have none. PostgreSQL's default partition has their rows, for which a run makes
	// the partition. On MySQL the partition after a gap has its rows, and stays as it is; here are the periods that it has besides its last.
	Gaps     []Span    `json:"gaps"`
	Steps    []Step    `json:"steps"`
	Problems []Problem `json:"problems"`
	// Notes say what is as it should be and may yet be asked about, such as partitions that are held back.
	Notes []string `json:"notes"`
}

// The limits of a plan.
const (
	clockLimit   = time.Hour // between the clocks of the database and of the keeper
	longestPlan  = 1000      // partitions to make
	mysqlLimit   = 8192      // partitions of a table
	longestBack  = 100       // periods without a run that get partitions though they have no rows
	longestGap   = 100_000   // periods that are looked at
	fewUnplaced  = 100       // periods of the default partition's rows
	highestTries = 99        // tables of the same partition
)

// Plan returns the steps that a run does on a table with that status, in their order. It needs no database: what it returns is decided by the status and the
// settings, which are those that [New] has checked. The partitions of steps that come after others, such as those of a detached table, are there as well.
func (t Table) Plan(s Status) (Plan, error) {
	t, err := t.checked()
	if err != nil {
		return Plan{}, err
	}
	p := planner{t: t, s: s, sql: statementsOf(s.Dialect, t, s), plan: Plan{Status: s, Gaps: []Span{}, Steps: []Step{}, Problems: []Problem{}, Notes: []string{}}}
	p.do()
	return p.plan, nil
}
