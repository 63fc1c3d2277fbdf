package partition

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// cutoff decides what the retention has passed: by the earliest of three clocks, since what was dropped for a wrong clock is gone.
func (p *planner) cutoff() {
	s := p.s
	switch {
	case p.t.Keep == 0:
		return
	case p.t.TrustClock:
		p.past = s.Now
	case s.Newest.IsZero():
		return
	default:
		p.past = slices.MinFunc([]time.Time{s.Now, s.Local, s.Newest}, time.Time.Compare)
	}
	cut := p.t.Every.shift(p.past, -p.t.Keep, p.t.In)
	p.cut, _ = p.t.bound(cut) // before now, which the layout holds
	if !p.t.TrustClock {
		later, _ := p.t.bound(p.t.Every.shift(s.Now, -p.t.Keep, p.t.In))
		if held := p.before(later) - p.before(p.cut); held > 0 {
			p.note("%d partitions are old by the database's clock and are held back: the newest key is of %s, the keeper's clock reads %s; for a table that nobody writes to, trust the clock",
				held, clock(s.Newest), clock(s.Local))
		}
	}
}

// before counts the partitions that end at or before an id.
func (p *planner) before(id int64) (count int) {
	for _, part := range p.s.Parts {
		if part.ToID <= id {
			count++
		}
	}
	return count
}

// old returns the partitions past the retention, unless there are too many at once.
func (p *planner) old() (old []Part) {
	if p.past.IsZero() {
		return nil
	}
	for _, part := range p.s.Parts {
		if part.ToID <= p.cut && !part.Pending {
			old = append(old, part)
		}
	}
	if len(old) > p.t.Most {
		p.problem("many", "%d partitions are past the retention, %s to %s, and a run touches none when there are more than %d: look at the clocks, then raise that limit for one run",
			len(old), old[0].Name, old[len(old)-1].Name, p.t.Most)
		return nil
	}
	return old
}

// shellOf returns the table that a partition of MySQL is to be exchanged with, if it is there.
func (p *planner) shellOf(part Part) (Detached, bool) {
	i := slices.IndexFunc(p.s.Detached, func(d Detached) bool { return d.empty && d.ToID == part.ToID })
	if i < 0 {
		return Detached{}, false
	}
	return p.s.Detached[i], true
}

// leftovers plans what becomes of tables that an earlier run has detached.
func (p *planner) leftovers(old []Part) {
	for _, d := range p.s.Detached {
		if d.Then == "" { // begun and not marked yet: of use to its partition, and to nobody else
			continue
		}
		if slices.ContainsFunc(p.s.Parts, func(part Part) bool { return d.empty && d.ToID == part.ToID }) {
			if !slices.ContainsFunc(old, func(part Part) bool { return d.ToID == part.ToID }) {
				p.drop(d) // its partition is not old any more
			}
			continue
		}
		p.finish(d)
	}
}

// finish plans what becomes of a detached table.
func (p *planner) finish(d Detached) {
	switch d.Then {
	case thenKeep:
		p.note("%s is detached, %s, and stays", d.Name, d.times())
	case thenDrop:
		p.drop(d)
	case thenArchive:
		if p.t.Archive == nil {
			p.problem("archive", "%s is detached, %s, and was to be archived: give the command, or drop the table by hand", d.Name, d.times())
			return
		}
		settled := d
		settled.Then = thenDrop
		p.step(Step{Action: Call, Name: d.Name, Range: d.Range, SQL: p.sql.mark(settled), table: d})
		p.drop(d)
	default:
		p.problem("archive", "%s is detached and marked for %q, which this version does not know; see to the table by hand", d.Name, d.Then)
	}
}

func (p *planner) drop(d Detached) {
	p.step(Step{Action: Delete, Name: d.Name, Range: d.Range, SQL: p.sql.drop(d)})
}

// remove plans what becomes of an old partition.
func (p *planner) remove(part Part) {
	d := Detached{Of: p.s.Table, Schema: part.Schema, Name: part.Name, Range: part.Range,
		Then: map[Old]string{Drop: thenDrop, Detach: thenKeep, Archive: thenArchive}[p.t.Old]}
	step := Step{Name: part.Name, Range: part.Range}
	if p.s.Dialect == dialect.MySQL {
		if part.empty || p.t.Old == Drop {
			step.Action, step.SQL = Discard, p.mysql().discard(part, p.t.Old != Drop)
			p.step(step)
			return
		}
		shell, found := p.shellOf(part)
		if d.Name = shell.Name; !found {
			if d.Name = p.free(part); d.Name == "" {
				return
			}
		}
		if !found || shell.Then != d.Then {
			shelling := step
			shelling.Action, shelling.Name, shelling.SQL = Shell, d.Name, p.mysql().shell(d, shell.Then != "")
			p.step(shelling)
		}
	}
	step.Action, step.SQL = Remove, p.sql.detach(part, d)
	p.step(step)
	if d.Then != thenKeep {
		p.finish(d)
	}
}

// free returns a name for the table that MySQL's partition becomes. Rows may come for a partition after it was exchanged, so that there are several of it.
func (p *planner) free(part Part) string {
	base := p.s.Name + "_" + part.Name
	for n := 1; n <= highestTries; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		if len(name) <= 64 && !p.made[name] && !slices.Contains(p.s.Taken, name) {
			p.made[name] = true
			return name
		}
	}
	p.problem("name", "the partition %s cannot be detached: there are tables %s and all up to %s_%d already, or the name is longer than 64 letters; rename or drop them", part.Name, base, base, highestTries)
	return ""
}
