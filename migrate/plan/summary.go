package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/migrate/inspect"
)

// head writes what stands above the steps: what the plan is of, what becomes of keys, and the table of all steps.
func (w *writer) head(p *Plan, hash string, stages []stage) {
	w.comment("", fmt.Sprintf("snowkey migrate plan · mode %s · %s", p.Mode, counted(len(p.Steps), "step")))
	w.comment("plan", hash)
	w.comment("", "what run does is in the .json beside this file; it refuses both when one of them was changed")
	w.comment("made", p.Made.UTC().Format(time.RFC3339)+by(p.Tool))
	w.comment("database", fmt.Sprintf("%s (%s, %s)", p.Database.Name, p.Database.Version, p.Database.ID))
	w.comment("schema", p.Fingerprint)
	w.becomes(p)
	w.summary(stages)
	w.totals(p)
	w.locks(p)
	w.refusals(p)
	w.rollback(p)
	w.references(p)
	if len(p.Notes) > 0 {
		w.line("--")
	}
	for i, note := range p.Notes {
		w.comment(fmt.Sprintf("note %d", i+1), note)
	}
	w.line("")
}

// becomes says what becomes of the keys, those of which the same does in one line.
func (w *writer) becomes(p *Plan) {
	if p.Node >= 0 {
		w.comment("new ids", fmt.Sprintf("of the layout %s, with node %d, which is taken in %s (key space %s) for all time", p.Layout, p.Node, p.Grants, p.Space))
	}
	var order []string
	of := map[string][]string{}
	for _, k := range p.Keys {
		does := k.becomes()
		if of[does] == nil {
			order = append(order, does)
		}
		of[does] = append(of[does], k.Table+"."+k.Column)
	}
	w.line("--")
	for _, does := range order {
		w.comment(strings.Join(of[does], ", "), does)
	}
}

// summary writes the table of the steps.
func (w *writer) summary(stages []stage) {
	rows := [][]string{{"step", "", "table", "lock", "rows", "about"}}
	for _, s := range stages {
		tables := strings.Join(s.tables, ", ")
		if len(s.tables) > 2 {
			tables = fmt.Sprintf("%s and %d more", s.tables[0], len(s.tables)-1)
		}
		count := ""
		if s.rows != 0 {
			count = grouped(s.rows)
		}
		what := s.what
		if runes := []rune(what); len(runes) > 80 {
			what = string(runes[:79]) + "…"
		}
		rows = append(rows, []string{s.numbers(), what, tables, s.lock, count, magnitude(s.took)})
	}
	w.line("--")
	w.columns(rows, 4)
}

// magnitude returns about how long something takes, from rates that were not measured where it is done: no more is known than that.
func magnitude(d time.Duration) string {
	for _, m := range []struct {
		below time.Duration
		about string
	}{{0, "unknown"}, {1, ""}, {time.Second, "<1 s"}, {3 * time.Second, "~1 s"}, {30 * time.Second, "~10 s"}, {3 * time.Minute, "~1 min"}, {30 * time.Minute, "~10 min"}, {5 * time.Hour, "~1 h"},
		{24 * time.Hour, "~10 h"}} {
		if d < m.below {
			return m.about
		}
	}
	return fmt.Sprintf("~%d d", (d+12*time.Hour)/(24*time.Hour))
}

// locks says of each lock in a word what it is, each word once.
func (w *writer) locks(p *Plan) {
	var words []string
	of := map[string][]string{}
	for _, s := range p.Steps {
		word := s.Lock.String()
		if s.Lock == (Lock{}) || slices.Contains(of[word], s.Lock.Text) {
			continue
		}
		if of[word] == nil {
			words = append(words, word)
		}
		of[word] = append(of[word], s.Lock.Text)
	}
	for _, word := range words {
		w.comment("lock "+word, strings.Join(of[word], "; or "))
	}
}

// rollback says how far a rollback goes.
func (w *writer) rollback(p *Plan) {
	text := "undoes what was done, the last step first"
	for i, s := range p.Steps {
		if s.Final {
			text += fmt.Sprintf("; there is none once step %d has begun", i+1)
			break
		}
	}
	w.comment("rollback", text)
}

// references lists them: what is certain by the tables it is between, and the rest with what is to be known of it.
func (w *writer) references(p *Plan) {
	var plain, rest []string
	for _, r := range p.References {
		text := fmt.Sprintf("%s.%s → %s", r.Table, r.Column, r.To)
		if r.Origin == inspect.Declared && r.Orphans <= 0 && r.OwnerType == "" && r.Path == "" {
			if !slices.Contains(plain, text) {
				plain = append(plain, text)
			}
			continue
		}
		rest = append(rest, strings.Join(strings.Fields(strings.Join(r.describe(), " ")), " "))
	}
	if len(plain)+len(rest) > 0 {
		w.line("--")
	}
	if len(plain) > 0 {
		w.comment("references by foreign keys", strings.Join(plain, ", "))
	}
	for _, text := range rest {
		w.comment("reference", text)
	}
}

func by(tool string) string {
	if tool == "" {
		return ""
	}
	return " by " + tool
}

// columns writes rows in columns that begin at one place, from one column on with numbers, which end at one place.
func (w *writer) columns(rows [][]string, numbers int) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if i >= numbers {
				text, space = space+text, ""
			}
			line.WriteString("  " + text + space)
		}
		w.line(strings.TrimRight("--"+strings.ReplaceAll(line.String(), "\n", " "), " "))
	}
}

// phase says what the steps of a phase do that a stage is of.
func (p *Plan) phase(s stage) string {
	for _, part := range p.parts() {
		if part.from <= s.steps[0] && s.steps[0] <= part.to {
			return part.does
		}
	}
	return ""
}

// part is a part of the plan: the steps of one phase that follow one another.
type part struct {
	phase    string
	from, to int // numbers of steps
	does     string
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
		{"expand", shadow && has(ReserveNode), "a node is taken for the new ids, and the maps of old ids to new ones are made"},
		{"expand", shadow, "second columns are added, with the triggers that keep them"},
		{"expand", has(ReserveNode) && len(steps) == 1, "a node is taken for the new ids"},
		{"expand", has(ReserveNode), "a node is taken for the new ids; keys, and what refers to them, get 64 bits"},
		{"expand", true, "keys, and what refers to them, get 64 bits"},
		{"flip", !has(Transactional) && !has(Autocommit), "programs that fill their keys take over from those that leave them to the database"},
		{"flip", true, "the database stops making keys"},
		{"map", has(FillMap) && has(Count), "what is there is counted, and each old id gets a new one, in a map"},
		{"map", has(FillMap), "each old id gets a new one, in a map"},
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
	var rows, bytes, longest int64
	var took time.Duration
	unknown, locks, step := false, false, 0
	for i, s := range p.Steps {
		took += max(s.expected(), 0)
		unknown = unknown || s.Rows < 0 && s.Bytes != 0 || s.Bytes < 0 || s.Disk < 0
		if s.Bytes != 0 && (s.copies() || s.Do.Kind == Batch) {
			rows += max(s.Rows, 0)
		}
		bytes += max(s.Bytes, 0)
		if s.Do.Kind != Transactional && s.Do.Kind != Autocommit || s.Lock == (Lock{}) {
			continue
		}
		locks = true
		if s.Bytes != 0 && (step == 0 || s.Bytes > longest) {
			longest, step = s.Bytes, i+1
		}
	}
	peak, _ := p.Peak(func(int) bool { return false })
	about := magnitude(took)
	if about != "" {
		about += ", "
	}
	text := fmt.Sprintf("%sabout %s rows rewritten, %s written, %s more on disk at the peak", about, grouped(rows), Size(bytes), Size(peak))
	if unknown {
		text = "at least " + text + ": of some tables the numbers are not known"
		if p.Database.Kind == "postgres" {
			text += ", for there are no statistics of them: ANALYZE, inspect, and plan again"
		}
	}
	w.comment("in all", text)
	w.comment("times", "no more than their order of magnitude: nothing was measured on this server. Taken are, "+rates)
	switch {
	case step > 0:
		s := p.Steps[step-1]
		w.comment("longest lock", fmt.Sprintf("step %d, %s (%s): %s", step, &s, Size(s.Bytes), s.Lock.Text))
	case locks:
		w.comment("longest lock", "none for longer than a moment")
	default:
		w.comment("longest lock", "none")
	}
}

// becomes says what becomes of a key's rows.
func (k Key) becomes() string {
	text := "old rows keep their ids"
	switch {
	case k.Through != "":
		text = fmt.Sprintf("new ids have the time of the row of %s that %s refers to", k.Parent, k.Through)
	case k.Created != "":
		text = fmt.Sprintf("new ids have the time of %s, exact to %s", k.Created, k.Unit)
	case k.Instant != nil:
		text = "new ids have the time " + k.Instant.UTC().Format(time.RFC3339Nano)
	}
	if k.Zone != "" {
		text += ", in the zone " + k.Zone
	}
	if k.Guessed != "" {
		text += fmt.Sprintf(" (guessed %s; --created TABLE=… to change)", k.Guessed)
	}
	return text + "; old are ids below " + grouped(k.Below)
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
	return []string{from, "to " + r.To + "." + r.ToColumn, string(r.Origin), string(r.Confidence), where, orphans, second(r.Shadow)}
}

func second(column string) string {
	if column == "" {
		return ""
	}
	return "second column " + column
}
