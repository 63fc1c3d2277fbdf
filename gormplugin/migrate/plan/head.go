package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// head writes what stands above the steps: what the plan is of, what its phases are, what it costs, and which keys and references it is about.
func (w *writer) head(p *Plan, hash string, parts []part) {
	w.comment("", fmt.Sprintf("snowkey migrate plan · mode %s · %s", p.Mode, counted(len(p.Steps), "step")))
	w.comment("plan", hash)
	w.comment("made", p.Made.UTC().Format(time.RFC3339)+by(p.Tool))
	w.comment("database", fmt.Sprintf("%s (%s, %s, %s)", p.Database.Name, p.Database.Kind, p.Database.Version, p.Database.ID))
	w.comment("layout", p.Layout)
	if p.Node >= 0 {
		w.comment("node of the new ids of old rows", fmt.Sprintf("%d, of the key space %s in the table %s", p.Node, p.Space, p.Grants))
	}
	w.comment("schema", p.Fingerprint)
	var rows [][]string
	for _, c := range parts {
		rows = append(rows, []string{c.numbers(), c.phase, c.does})
	}
	w.columns("contents", rows)
	w.totals(p)
	rows = nil
	for _, k := range p.Keys {
		rows = append(rows, k.describe())
	}
	w.columns("keys", rows)
	rows = nil
	for _, r := range p.References {
		rows = append(rows, r.describe())
	}
	w.columns("references", rows)
	if len(p.Notes) > 0 {
		w.line("--")
	}
	for i, note := range p.Notes {
		w.comment(fmt.Sprintf("note %d", i+1), note)
	}
	w.line("")
}

func by(tool string) string {
	if tool == "" {
		return ""
	}
	return " by " + tool
}

// columns writes rows in columns that begin at one place, under a label. An end of a line in a text becomes a space.
func (w *writer) columns(label string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	var width []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	w.line("--")
	w.comment(label, "")
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			if width[i] > 0 { // else it is empty in all rows
				line.WriteString("  " + text + strings.Repeat(" ", width[i]-utf8.RuneCountInString(text)))
			}
		}
		w.line(strings.TrimRight("--  "+strings.ReplaceAll(line.String(), "\n", " "), " "))
	}
}

// part is a part of the plan: the steps of one phase that follow one another.
type part struct {
	phase    string
	from, to int // numbers of steps
	does     string
}

func (c part) numbers() string {
	if c.from == c.to {
		return fmt.Sprintf("step %d", c.from)
	}
	return fmt.Sprintf("steps %d–%d", c.from, c.to)
}

// parts returns the plan's.
func (p *Plan) parts() []part {
	var parts []part
	for i, s := range p.Steps {
		if n := len(parts); n > 0 && parts[n-1].phase == s.Phase {
			parts[n-1].to = i + 1
		} else {
			parts = append(parts, part{phase: s.Phase, from: i + 1, to: i + 1})
		}
	}
	for i := range parts {
		c := &parts[i]
		later := i+1 < len(parts) && slices.ContainsFunc(parts[i+1:], func(o part) bool { return o.phase == "rewrite" })
		c.does = p.does(c.phase, p.Steps[c.from-1:c.to], later)
		for n := c.from; n <= c.to; n++ {
			if s := p.Steps[n-1]; s.Do.Kind == Hold {
				c.does += fmt.Sprintf("; stops at step %d: %s", n, s.Title)
			}
		}
	}
	return parts
}

// does says in a sentence what some steps of a phase do, which rows are rewritten after or not.
func (p *Plan) does(phase string, steps []Step, later bool) string {
	has := func(kind Kind) bool {
		return slices.ContainsFunc(steps, func(s Step) bool { return s.Do.Kind == kind })
	}
	shadow := p.Mode == Shadow
	for _, sentence := range []struct {
		of   string
		when bool
		says string
	}{
		{"expand", has(Reserve), "a node is taken for the new ids, and the maps of old ids to new ones are made"},
		{"expand", shadow, "second columns are added, with the triggers that keep them"},
		{"expand", true, "keys, and what refers to them, get 64 bits"},
		{"flip", true, "the database stops making keys"},
		{"map", has(Map) && has(Count), "what is there is counted, and each old id gets a new one, in a map"},
		{"map", has(Map), "each old id gets a new one, in a map"},
		{"map", true, "what is there is counted"},
		{"rewrite", shadow, "second columns get the new ids, in batches"},
		{"rewrite", true, "keys, and what refers to them, get the new ids, in batches"},
		{"check", shadow, "second columns are completed, with their indexes and foreign keys, and looked at"},
		{"check", later, "what has to be true before the first row changes is looked at"},
		{"check", true, "the result is looked at: no old id is left, and no reference is lost"},
		{"swap", true, "first and second columns change their places"},
		{"contract", shadow, "the old columns and the maps are dropped, after which there is no rollback"},
		{"contract", true, "the maps are dropped, after which there is no rollback"},
	} {
		if sentence.of == phase && sentence.when {
			return sentence.says
		}
	}
	return ""
}

// totals writes what the steps cost together.
func (w *writer) totals(p *Plan) {
	var rows, bytes, kept, peak, longest int64
	unknown, locks, step := false, false, 0
	for i, s := range p.Steps {
		unknown = unknown || s.Rows < 0 && s.Bytes != 0 || s.Bytes < 0 || s.Disk < 0
		copied := s.Algorithm == "rewrite" || s.Algorithm == "COPY"
		if s.Bytes != 0 && (copied || s.Do.Kind == Batch) {
			rows += max(s.Rows, 0)
		}
		bytes += max(s.Bytes, 0)
		peak = max(peak, kept+max(s.Disk, 0))
		if !copied { // else the old table goes when the new one is there
			kept += max(s.Disk, 0)
		}
		if s.Do.Kind != Together && s.Do.Kind != Apart || s.Lock == "" || strings.HasPrefix(s.Lock, "none") {
			continue
		}
		locks = true
		if s.Bytes != 0 && (step == 0 || s.Bytes > longest) {
			longest, step = s.Bytes, i+1
		}
	}
	text := fmt.Sprintf("%s rows rewritten, %s written, %s more on disk at the peak", grouped(rows), size(bytes), size(peak))
	if unknown { // a database that has not gathered statistics
		text = "at least " + text + ": of some tables the numbers are not known"
	}
	w.line("--")
	w.comment("in all, about", text)
	switch {
	case step > 0:
		s := p.Steps[step-1]
		w.comment("longest lock", fmt.Sprintf("step %d, %s (%s): %s", step, s.Title, size(s.Bytes), s.Lock))
	case locks:
		w.comment("longest lock", "none for longer than a moment")
	default:
		w.comment("longest lock", "none")
	}
}

// describe returns the columns of a key's line.
func (k Key) describe() []string {
	times, zone, named := "keeps its ids", "", ""
	switch {
	case k.Through != "":
		times = fmt.Sprintf("new ids have the time of the row of %s that %s refers to", k.Parent, k.Through)
	case k.Created != "":
		times = fmt.Sprintf("new ids have the time of %s, exact to %s", k.Created, k.Unit)
	case k.Instant != nil:
		times = "new ids have the time " + k.Instant.UTC().Format(time.RFC3339Nano)
	}
	if k.Zone != "" {
		zone = "zone " + k.Zone
	}
	if k.Map != "" {
		named = "map " + k.Map
	}
	return []string{k.Table + "." + k.Column, "old below " + grouped(k.Below), times, zone, named, second(k.Shadow)}
}

// describe returns the columns of a reference's line.
func (r Reference) describe() []string {
	where, orphans := "", ""
	if r.OwnerType != "" {
		where = fmt.Sprintf("where %s is %q", r.OwnerType, r.Owner)
	}
	if r.Orphans > 0 {
		orphans = grouped(r.Orphans) + " orphans now"
		if r.Orphans == 1 {
			orphans = "1 orphan now"
		}
	}
	from := r.Table + "." + r.Column
	if r.Path != "" {
		from += ":" + r.Path
	}
	return []string{from, "to " + r.To + "." + r.ToColumn, string(r.Origin), string(r.Sure), where, orphans, second(r.Shadow)}
}

func second(column string) string {
	if column == "" {
		return ""
	}
	return "second column " + column
}
