package partition

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// planner collects the steps, problems and notes of a plan.
type planner struct {
	t    Table
	s    Status
	sql  statements
	plan Plan

	now  time.Time // by which partitions are made
	past time.Time // by which they are old; zero where nothing is
	cut  int64     // partitions that end at or before that id are old, where past is not zero
	end  time.Time // of the last period that is to have a partition
	made map[string]bool
}

func (p *planner) problem(kind, format string, args ...any) {
	p.plan.Problems = append(p.plan.Problems, Problem{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (p *planner) note(format string, args ...any) {
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(format, args...))
}

func (p *planner) postgres() postgresStatements { return postgresStatements{p.t, p.s} }
func (p *planner) mysql() mysqlStatements       { return mysqlStatements{p.t, p.s} }

func (p *planner) step(s Step) { p.plan.Steps = append(p.plan.Steps, s) }

func (p *planner) do() {
	p.made = map[string]bool{}
	p.clocks()
	p.cutoff()
	p.measure()
	if p.s.Partman != "" {
		p.problem("partman", "pg_partman has the table in %s, and makes and drops its partitions; take it out of there, or leave the table to it", p.s.Partman)
		return
	}
	for _, part := range p.s.Parts {
		if part.Pending {
			p.step(Step{Action: Finalize, Name: part.Name, Range: part.Range, SQL: p.postgres().finalize(part)})
		}
	}
	p.make()
	old := p.old()
	for _, part := range p.s.Parts {
		if part.marked && !part.Pending && !slices.ContainsFunc(old, func(o Part) bool { return o.Name == part.Name && o.Schema == part.Schema }) {
			p.step(Step{Action: Unmark, Name: part.Name, Range: part.Range, SQL: p.postgres().unmark(part)})
		}
	}
	p.leftovers(old)
	for _, part := range old {
		p.remove(part)
	}
}

// clocks decides which time counts for partitions to be made: the median of three clocks.
func (p *planner) clocks() {
	s := p.s
	p.now = s.Now
	if s.Local.Before(s.Now) {
		if p.now = s.Local; s.Newest.After(s.Local) {
			p.now = s.Newest // which is not after the database's
		}
	}
	if apart := s.Now.Sub(s.Local).Abs(); apart > clockLimit {
		p.problem("clock", "the database's clock reads %s and the keeper's %s, which is %v apart, at most %v: nothing is old by the later one; set them right",
			clock(s.Now), clock(s.Local), apart.Round(time.Second), clockLimit)
	}
	p.end = p.t.Every.shift(p.now, p.t.Ahead+1, p.t.In)
	if end := p.t.Layout.ExhaustsAt(); p.end.After(end) {
		p.problem("limit", "the layout ends at %s, and no partition after that can be made; its ids end there too", clock(end))
		p.end = end
	}
}

// measure finds how far ahead partitions are, and the gaps between them.
func (p *planner) measure() {
	parts := slices.DeleteFunc(slices.Clone(p.s.Parts), func(part Part) bool { return part.Pending })
	covered := func(at time.Time) bool {
		id, ok := p.t.bound(at)
		return ok && slices.ContainsFunc(parts, func(part Part) bool { return part.FromID <= id && id < part.ToID })
	}
	for at := p.t.Every.next(p.now, p.t.In); p.plan.Ahead < longestPlan && covered(at); at = p.t.Every.next(at, p.t.In) {
		p.plan.Ahead++
	}
	if !covered(p.now) || p.plan.Ahead == 0 {
		p.problem("behind", "there is no partition for rows of now, or none for the next %v: %d of %d are there ahead; call snowkey partition run, or Keeper.Run", p.t.Every, p.plan.Ahead, p.t.Ahead)
	}
	for i, part := range parts {
		if i == 0 {
			continue
		}
		if p.s.Dialect == dialect.MySQL {
			if next := p.t.Every.next(part.From, p.t.In); !part.From.IsZero() && next.Before(part.To) {
				p.plan.Gaps = append(p.plan.Gaps, Span{From: part.From, To: p.t.Every.start(part.To.Add(-1), p.t.In)})
			}
		} else if last := parts[i-1]; last.ToID < part.FromID {
			p.plan.Gaps = append(p.plan.Gaps, Span{From: last.To, To: part.From})
			if p.s.Default == nil {
				p.problem("gap", "there is no partition for %s to %s, and no default one: rows of that time are refused; make either by hand", clock(last.To), clock(part.From))
			}
		}
	}
}

// piece is a range without a partition, of one period, and how many rows of it are moved.
type piece struct {
	Range
	rows int64
}

// make plans the partitions that are missing.
func (p *planner) make() {
	missing := p.missing
	if p.s.Dialect == dialect.MySQL {
		missing = p.missingAfter
	}
	pieces := missing()
	if len(pieces) > longestPlan {
		p.problem("limit", "%d partitions are missing, and a run makes at most %d: look at the clocks; these are made, the oldest first", len(pieces), longestPlan)
		pieces = pieces[:longestPlan]
	}
	if over := len(p.s.Parts) + 1 + len(pieces) - mysqlLimit; p.s.Dialect == dialect.MySQL && over > 0 {
		p.problem("limit", "the table has %d partitions and needs %d more; MySQL has at most %d a table: divide by a longer time, or keep less", len(p.s.Parts)+1, len(pieces), mysqlLimit)
		pieces = pieces[:max(0, len(pieces)-over)]
	}
	pieces = slices.DeleteFunc(pieces, func(c piece) bool {
		name := p.sql.partition(c)
		taken := p.made[name] || slices.Contains(p.sql.names(), name)
		if p.made[name] = true; taken {
			p.problem("name", "no partition can be made for %s: there is a table or partition %s already; rename it, or attach it by hand", c.times(), name)
		}
		return taken
	})
	if len(pieces) > 0 {
		p.plan.Steps = append(p.plan.Steps, p.sql.make(pieces)...)
	}
}

// missing returns what PostgreSQL's partitions leave out: of the periods after the newest that is not ahead, and of those that rows in the default partition are of.
func (p *planner) missing() []piece {
	begin := p.t.Every.start(p.now, p.t.In)
	newest := time.Time{} // the end of the newest partition that is not ahead: after it are periods in which no run was called
	for _, part := range p.s.Parts {
		if !part.From.After(p.now) && part.To.After(newest) {
			newest = part.To
		}
	}
	if !newest.IsZero() && newest.Before(begin) && p.t.Every.shift(newest, longestBack, p.t.In).After(begin) {
		begin = newest
	}
	least := time.Time{}
	if !p.past.IsZero() {
		if least = p.t.Every.shift(p.past, -p.t.Keep, p.t.In); begin.Before(least) {
			begin = least
		}
	}
	wanted := map[int64]piece{}
	for _, r := range p.periods(begin) {
		wanted[r.FromID] = piece{Range: r}
	}
	for _, u := range p.unplaced() {
		why := ""
		switch {
		case u.From.IsZero():
			why = fmt.Sprintf("have ids that are none of the layout, from %d on; move or delete them by hand", u.FromID)
		case u.From.Before(least):
			why = fmt.Sprintf("are older than what is kept, of %s; move or delete them by hand", u.times())
		case !u.From.Before(p.end):
			why = fmt.Sprintf("are of a time for which no partition is made yet, %s; was a clock wrong?", u.times())
		case u.More:
			why = fmt.Sprintf("are of %s, and a run moves at most that many: raise the limit when few write to the table, or move them by hand", u.times())
		case p.s.Default.Hindrance != "":
			why = fmt.Sprintf("are of %s, and a run does not move them: %s", u.times(), p.s.Default.Hindrance)
		}
		if why == "" {
			wanted[u.FromID] = piece{u.Range, u.Rows}
			continue
		}
		delete(wanted, u.FromID)
		p.unplacedProblem(u, why)
	}
	var pieces []piece
	for _, c := range wanted {
		pieces = append(pieces, p.uncovered(c)...)
	}
	// Those from now on come first: the row of a wrong clock must not have all periods since then filled.
	slices.SortFunc(pieces, func(a, b piece) int {
		if late := a.From.Before(begin); late == b.From.Before(begin) {
			return cmp.Compare(a.FromID, b.FromID)
		} else if late {
			return 1
		}
		return -1
	})
	return pieces
}

func (p *planner) unplaced() []Unplaced {
	if p.s.Default == nil {
		return nil
	}
	return p.s.Default.Unplaced
}

// unplacedProblem reports rows that stay where they are.
func (p *planner) unplacedProblem(u Unplaced, why string) {
	rows := fmt.Sprint(u.Rows)
	if u.More {
		rows = "more than " + rows
	}
	p.problem("unplaced", "%s rows in %s %s", rows, p.s.Default.Name, why)
}

// periods returns the periods from an instant to the end of those that are to have partitions.
func (p *planner) periods(begin time.Time) (all []Range) {
	for at, n := begin, 0; at.Before(p.end) && n < longestGap; n++ {
		period, ok := p.t.period(at)
		if ok {
			all = append(all, period)
		}
		at = period.To
	}
	return all
}

// uncovered returns the parts of a range of ids that no partition has. The rows that are moved are those of the first.
func (p *planner) uncovered(c piece) (pieces []piece) {
	rest, rows := c.Range, c.rows
	add := func(before Range) {
		if before.FromID < before.ToID {
			pieces, rows = append(pieces, piece{before, rows}), 0
		}
	}
	for _, part := range p.s.Parts { // by their bounds
		if part.ToID <= rest.FromID || part.FromID >= rest.ToID {
			continue
		}
		add(Range{FromID: rest.FromID, ToID: part.FromID, From: rest.From, To: p.t.timeOf(part.FromID)})
		rest.FromID, rest.From = part.ToID, p.t.timeOf(part.ToID)
	}
	add(rest)
	return pieces
}

// missingAfter returns what is missing after MySQL's last bound. All are made in one statement, which moves the rows after that bound.
func (p *planner) missingAfter() (pieces []piece) {
	rows, tooMany := int64(0), false
	for _, u := range p.unplaced() {
		if u.From.IsZero() || !u.From.Before(p.end) {
			p.unplacedProblem(u, fmt.Sprintf("are of a time for which no partition is made yet, or of none, from id %d on; was a clock wrong?", u.FromID))
		}
		rows += u.Rows
		tooMany = tooMany || u.More || rows > p.t.Move
	}
	begin, last := p.t.Every.start(p.now, p.t.In), int64(math.MinInt64)
	if n := len(p.s.Parts); n > 0 {
		newest := p.s.Parts[n-1]
		if newest.To.IsZero() { // no bound
			return nil
		}
		begin, last = newest.To, newest.ToID
	} else if u := p.unplaced(); len(u) > 0 && !u[0].From.IsZero() && u[0].From.Before(begin) {
		begin = u[0].From
	}
	for _, period := range p.periods(begin) {
		period.FromID, last = last, period.ToID
		pieces = append(pieces, piece{Range: period})
	}
	if tooMany && len(pieces) > 0 {
		p.problem("unplaced", "more than %d rows are in %s, the last partition, from %s on, and a run moves at most that many, while nobody writes: raise the limit when few write to the table",
			min(rows, p.t.Move), p.s.Default.Name, clock(p.unplaced()[0].From))
		return nil
	}
	return pieces
}
