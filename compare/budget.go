package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/compare/strategy"
)

const (
	// fewestRows is the part of the profile's rows that a round has at the least, however small the budget is.
	fewestRows = 10
	// margin is the part of the budget that a plan uses: a machine may become busier after the pilot.
	margin = 0.7
	// readRow is about how long reading a row back in order takes.
	readRow = 4 * time.Microsecond
	// loggedRows is the part of the rows that is inserted again to count what the database writes.
	loggedRows = 10
)

// cost is what a round of a strategy costs, as a pilot measured it.
type cost struct {
	Fixed time.Duration // of a round, whatever its rows are
	Row   time.Duration // of inserting a row
	Slow  time.Duration // bounds the inserts of a round
	Grows bool          // keys in no order take longer once the index has outgrown the cache
}

// round is how long a round of so many rows takes.
func (c cost) round(rows int) time.Duration {
	row := c.Row
	if c.Grows {
		row *= 2
	}
	inserted := float64(rows) // before Slow is over
	if row > 0 {
		inserted = min(inserted, float64(c.Slow)/float64(row))
	}
	return c.Fixed + time.Duration(inserted*float64(row+row/loggedRows+readRow))
}

// rounds is how long so many rounds of all strategies take.
func rounds(costs []cost, n, rows int) (sum time.Duration) {
	for _, c := range costs {
		sum += time.Duration(n) * c.round(rows)
	}
	return sum
}

// fit returns how many rounds of how many rows the time left suffices for: those of the profile, or fewer rows with two digits that count, at
// the least a tenth. Where not even these fit, it returns fewer rounds, at the least one. A profile that keeps its rows gets fewer rounds at once.
func (p Profile) fit(costs []cost, left time.Duration) (n, rows int) {
	n, rows = p.Rounds, p.Rows
	fits := func(part float64) bool { return float64(rounds(costs, n, rows)) <= part*float64(left) }
	if !p.KeepRows {
		least := max(MinRows, rows/fewestRows)
		for rows > least && !fits(margin) {
			rows = max(least, rows*9/10)
		}
		for unit := 10; rows < p.Rows && unit <= rows; unit *= 10 {
			if rows/unit < 100 {
				rows = max(least, rows-rows%unit)
				break
			}
		}
	}
	for n > 1 && !fits(1) {
		n--
	}
	return n, rows
}

// cost is what a round of a participant will cost.
func (c *comparison) cost(e *participant) cost {
	all := c.growing(e)
	for _, row := range e.wrote {
		all.Row += row
		all.Slow += c.slow(e)
	}
	return all
}

// growing is what a round costs without several writers.
func (c *comparison) growing(e *participant) cost {
	return cost{Fixed: e.fixed, Row: e.row, Slow: c.slow(e), Grows: e.info.Order == strategy.Unordered}
}

// slow bounds the inserts of a round of a strategy. Where the keys come slowly whatever the table is like, more rows tell nothing more.
func (c *comparison) slow(e *participant) time.Duration {
	limit := c.config.Profile.Slow
	if e.info.RoundTrip || e.info.Limit > 0 && e.info.Limit < slowKeys {
		return min(limit, max(limit/8, time.Second))
	}
	return limit
}

// slowKeys a second are fewer than any database has rows inserted.
const slowKeys = 10_000

// costs are those of the participants that are in the comparison still.
func (c *comparison) costs() (all []cost) {
	for _, e := range c.participants {
		if !e.out {
			all = append(all, c.cost(e))
		}
	}
	return all
}

// plan fits rounds and rows to the budget, by what the pilots have measured, and tells what comes.
func (c *comparison) plan(measured *result.Database) {
	costs, profile := c.costs(), c.config.Profile
	if len(costs) == 0 {
		return
	}
	planned := profile.Rounds
	if !c.deadline.IsZero() {
		planned, c.rows = profile.fit(costs, time.Until(c.deadline)-c.killing())
	}
	for _, e := range c.participants {
		if !e.out {
			c.schedule.took[c.kind(e, stepRound)] = c.growing(e).round(c.rows)
			for n, row := range e.wrote {
				c.schedule.took[c.kind(e, c.stepWriters(n))] = min(c.slow(e), time.Duration(c.rows)*row)
			}
		}
	}
	whole := rounds(costs, profile.Rounds, profile.Rows) + c.killing()
	text := fmt.Sprintf("%s of %s rows, about %s from now on; %s", roundsText(planned), count(c.rows),
		coarse(rounds(costs, planned, c.rows)+c.killing()), c.speeds())
	if planned < profile.Rounds || c.rows < profile.Rows {
		text += fmt.Sprintf("; for %s of %s rows: --budget %s", roundsText(profile.Rounds), count(profile.Rows), c.budgetFor(whole))
	}
	measured.Plan = text
	if len(c.config.Targets) > 1 {
		text = c.target.String() + ": " + text
	}
	c.config.Planned(text)
}

// killing is about how long killing the server will take.
func (c *comparison) killing() (sum time.Duration) {
	for _, e := range c.participants {
		if !e.out {
			sum += c.schedule.took[c.kind(e, stepCrash)]
		}
	}
	return sum
}

// speeds says how fast the pilots inserted rows: the slowest and the fastest.
func (c *comparison) speeds() string {
	measured := slices.DeleteFunc(slices.Clone(c.participants), func(e *participant) bool { return e.out || e.row <= 0 })
	if len(measured) == 0 {
		return "no speed was measured"
	}
	slices.SortStableFunc(measured, func(a, b *participant) int { return cmp.Compare(b.row, a.row) })
	speed := func(e *participant) string {
		return fmt.Sprintf("%s rows/s (%s)", result.Short(float64(time.Second)/float64(e.row)), e.info.Name)
	}
	text := "measured speed: " + speed(measured[0])
	if last := measured[len(measured)-1]; len(measured) > 1 {
		text += " to " + speed(last)
	}
	return text
}

// roundTime is how long a round takes, and what comes after the last one.
func (c *comparison) roundTime() (sum time.Duration) {
	for _, e := range c.participants {
		if !e.out {
			sum += c.schedule.took[c.kind(e, stepRound)]
			for n := range e.wrote {
				sum += c.schedule.took[c.kind(e, c.stepWriters(n))]
			}
		}
	}
	return sum + c.killing()
}

// budgetFor is the budget of the run that leaves so much time from now on to this database and as much as this one takes to each one after it.
func (c *comparison) budgetFor(left time.Duration) string {
	need := time.Since(c.begun) + time.Duration(float64(left)/margin)
	return coarse(c.begun.Sub(c.schedule.begun) + time.Duration(c.sharing)*need)
}

// overBudget says after which round the budget was over, whose share it was, and what to do.
func (c *comparison) overBudget(done int) string {
	profile := c.config.Profile
	var shares []string
	for _, s := range c.largest() {
		shares = append(shares, fmt.Sprintf("%s %s (of it %s %s)", s.name, coarse(s.took), coarse(s.most), s.doing))
	}
	if kept := c.killing(); kept > 0 {
		shares = append(shares, fmt.Sprintf("and %s are kept for killing the server", coarse(kept)))
	}
	left := rounds(c.costs(), profile.Rounds-done, c.rows)
	if done > 0 { // the rounds tell more than the pilots
		left = time.Duration(profile.Rounds-done) * (c.roundTime() - c.killing())
	}
	advice := "--budget " + c.budgetFor(left+c.killing())
	if fewer := max(MinRows, profile.Rows/fewestRows); profile.KeepRows && c.rows > fewer {
		advice += ", or leave --rows out"
	}
	if names := c.without(c.largest()[0].name); names != "" {
		advice += ", or without the slowest: --strategies " + names
	}
	return fmt.Sprintf("the budget of %v was over after round %d of %d on %s; most of the time went to %s. For all rounds: %s",
		profile.Budget, done, profile.Rounds, c.target, strings.Join(shares, ", "), advice)
}

// share is the time that a strategy took.
type share struct {
	name  string
	took  time.Duration
	doing string // what took the most
	most  time.Duration
}

// largest are the strategies that took the most time, three at most.
func (c *comparison) largest() (all []share) {
	for _, e := range c.participants {
		s := share{name: e.info.Name}
		for doing, took := range e.spent {
			if s.took += took; took > s.most || took == s.most && doing < s.doing {
				s.doing, s.most = doing, took
			}
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b share) int { return cmp.Compare(b.took, a.took) })
	return all[:min(len(all), 3)]
}

// without names the strategies of the comparison but one, "" where there are none.
func (c *comparison) without(name string) string {
	var names []string
	for _, e := range c.participants {
		if e.info.Name != name && !e.out {
			names = append(names, e.info.Name)
		}
	}
	return strings.Join(names, ",")
}

// coarse writes a duration as people give budgets: seconds below a minute and a half, tens of seconds below ten minutes, then minutes, rounded up.
func coarse(d time.Duration) string {
	unit := time.Second
	switch {
	case d > 10*time.Minute:
		unit = time.Minute
	case d > 90*time.Second:
		unit = 10 * time.Second
	}
	d = (d + unit - 1).Truncate(unit)
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

func roundsText(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// count writes a whole number with commas.
func count(n int) string { return message.NewPrinter(language.English).Sprint(n) }
