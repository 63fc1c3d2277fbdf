package plan

import (
	"fmt"
	"time"
)

// Writers are inserts of one kind.
type Writers string

// The kinds of writers.
const (
	Keyless Writers = "keyless" // they leave keys to the database
	Filling Writers = "filling" // they fill keys with snowflakes
)

// Refusal is what the plan refuses of a kind of writer: from the end of the step From to the end of the step To, or for good where To is 0.
type Refusal struct {
	Writers Writers       `json:"writers"`
	From    int           `json:"from"`
	To      int           `json:"to,omitempty"`
	Hold    int           `json:"hold,omitempty"`    // the step at which writers of that kind are to be deployed, and not before
	Most    time.Duration `json:"most_ns,omitempty"` // of the run that goes on from there, until they are let in: the window, and about the time of the statements; longer by waits for locks
}

// flipTable is what the end of a table's counter takes, at about, where the catalog alone is changed.
const flipTable = 50 * time.Millisecond

// gateTime returns for how long a run refuses writers that fill keys at most: for the window, and while a step ends the counters of some tables.
func (b *builder) gateTime(tables int, flip Step) time.Duration {
	return b.options.Window + time.Duration(tables)*flipTable + max(flip.expected(), 0)
}

// gateRefuses says how long that is, and what it is made of.
func (b *builder) gateRefuses(tables int, flip Step) string {
	what := "a change of the catalog of " + counted(tables, "table")
	if flip.Rows != 0 {
		what = fmt.Sprintf("copies of %s with about %s rows", counted(tables, "table"), grouped(flip.Rows))
	}
	return fmt.Sprintf("Run on at once: inserts that fill keys are refused until then, and for about %s of that run at the most, the window of %s and %s, "+
		"and for longer only while other transactions keep the locks of a table.", b.gateTime(tables, flip), b.options.Window, what)
}

// refusesFilling notes that the gates refuse writers until the step that was added last.
func (b *builder) refusesFilling(tables int) {
	r := Refusal{Writers: Filling, From: b.gated, To: len(b.plan.Steps), Most: b.gateTime(tables, b.plan.Steps[len(b.plan.Steps)-1])}
	for i, s := range b.plan.Steps {
		if s.Do.Kind == Hold {
			r.Hold = i + 1
		}
	}
	b.plan.Refusals = append(b.plan.Refusals, r)
}

// refusesKeyless notes that keyless writers are refused from the step on that was added last.
func (b *builder) refusesKeyless() {
	b.plan.Refusals = append(b.plan.Refusals, Refusal{Writers: Keyless, From: len(b.plan.Steps)})
}

// refusals writes which inserts are refused, by which steps and for how long.
func (w *writer) refusals(p *Plan) {
	if len(p.Refusals) == 0 {
		return
	}
	keyless, filling := 0, ""
	for i, s := range p.Steps {
		if s.Do.Kind == Hold {
			filling = fmt.Sprintf("never, where their writers are deployed at the hold of step %d", i+1)
			break
		}
	}
	for _, r := range p.Refusals {
		switch r.Writers {
		case Keyless:
			keyless = r.From
		case Filling:
			filling = fmt.Sprintf("from step %d to step %d; deploy their writers at the hold of step %d, not before, and run on at once: then about %s, longer only while others keep a table's lock",
				r.From, r.To, r.Hold, r.Most)
		}
	}
	w.comment("inserts refused", fmt.Sprintf("those that leave keys to the database: from step %d on, for good. Those that fill keys: %s", keyless, filling))
}
