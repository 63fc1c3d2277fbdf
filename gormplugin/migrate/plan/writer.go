package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// writer writes a plan as people read it. Nothing in it depends on the time, the machine or the locale.
type writer struct{ bytes.Buffer }

func (w *writer) line(text string) { w.WriteString(text + "\n") }

// comment writes a text in comment lines, each with a word in front of the first.
func (w *writer) comment(label, text string) {
	for i, part := range strings.Split(text, "\n") {
		if label != "" && i == 0 {
			part = label + ": " + part
		} else if label != "" {
			part = "    " + part
		}
		w.line(strings.TrimRight("-- "+part, " "))
	}
}

// statements writes SQL, each statement with a semicolon; in comments where they are not what the step does.
func (w *writer) statements(indent string, texts []string) {
	for _, text := range texts {
		for _, part := range strings.Split(text+";", "\n") {
			w.line(strings.TrimRight(indent+part, " "))
		}
	}
}

// plan writes all but the JSON, whose hash makes a change in it show where nothing else would.
func (w *writer) plan(p *Plan, hash string) {
	parts := p.parts()
	w.head(p, hash, parts)
	for i, s := range p.Steps {
		if len(parts) > 0 && parts[0].from == i+1 {
			w.comment("", fmt.Sprintf("== %s · %s · %s", parts[0].phase, parts[0].numbers(), parts[0].does))
			w.line("")
			parts = parts[1:]
		}
		w.step(fmt.Sprintf("step %d of %d · %s · %s", i+1, len(p.Steps), s.Phase, s.Title), s)
	}
}

func (w *writer) step(title string, s Step) {
	w.comment("", title)
	if s.Lock != "" {
		w.comment("lock", s.Lock)
	}
	if s.Algorithm != "" {
		w.comment("algorithm", s.Algorithm)
	}
	switch {
	case s.Rows != 0 && s.Bytes == 0 && s.Disk == 0:
		w.comment("about", grouped(s.Rows)+" rows read")
	case s.Rows != 0 || s.Bytes != 0 || s.Disk != 0:
		w.comment("about", fmt.Sprintf("%s rows, %s written, %s more on disk at the peak", grouped(s.Rows), size(s.Bytes), size(s.Disk)))
	}
	w.action("", s.Do)
	switch {
	case s.Final:
		w.comment("undo", "none, and no rollback of the plan once this is done. "+s.Kept)
	case s.Undo != nil:
		w.comment("undo", "")
		undo := *s.Undo
		if len(undo.Session) > 0 && slices.Equal(undo.Session, s.Do.Session) {
			w.line("--     on a connection of its own, after the same statements as above")
			undo.Session = nil
		}
		w.action("--     ", undo)
	case s.Kept != "":
		w.comment("undo", "none: "+s.Kept)
	}
	w.line("")
}

// action writes what is done. The indent is empty for SQL that stands as SQL, and else makes comments of it.
func (w *writer) action(indent string, a Action) {
	say := func(format string, args ...any) {
		for _, part := range strings.Split(fmt.Sprintf(format, args...), "\n") {
			w.line(strings.TrimRight("-- "+strings.TrimPrefix(indent, "-- ")+part, " "))
		}
	}
	if len(a.Session) > 0 {
		say("on a connection of its own, after:")
		w.statements(indent, a.Session)
	}
	switch a.Kind {
	case Together:
		say("in one transaction:")
	case Apart:
		if a.Applied != "" {
			say("is done when this gives 1: %s", a.Applied)
		}
		if len(a.Repair) > 0 {
			say("before another attempt: %s", strings.Join(a.Repair, "; "))
		}
	case Batch:
		say("again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:\n%s", a.Cursor)
		if a.Again != "" {
			say("and anew when this gives more than 0 at the end: %s", a.Again)
		}
	case Map:
		say("the program fills the map of %s with a new id for each old one", a.Table)
	case Reserve:
		say("the node is taken in the table of grants, so that no generator gets it")
	case Count:
		say("the numbers are noted:")
	case Digest:
		say("the program notes a digest of all that must stay as it is in %s", a.Table)
	case Expect:
		want := strconv.FormatInt(a.Want, 10)
		if a.Like != "" {
			want = fmt.Sprintf("what the step %q has found for it", a.Like)
		}
		say("each has to be %s, else: %s", want, a.Otherwise)
	case Steady:
		say("has to stay the same for %s, else: %s", a.Window, a.Otherwise)
	case Hold:
		say("the run ends here: %s", a.Text)
	}
	if a.Asks() != nil { // no questions
		w.statements(indent, a.SQL)
		return
	}
	for i, query := range a.SQL {
		say("%s:", a.Each[i])
		w.statements(indent, []string{query})
		if len(a.Remedy) > 0 && a.Remedy[i] != "" {
			say("    put right by: %s", a.Remedy[i])
		}
	}
}

// grouped returns a number as people read it, 1,234,567.
func grouped(n int64) string {
	if n == -1 {
		return "unknown"
	}
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// size returns bytes as people read them, 1.2 GB.
func size(n int64) string {
	if n < 0 {
		return "unknown"
	}
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"}
	value, unit := float64(n), 0
	for ; value >= 1000; unit++ {
		value /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d %s", n, units[0])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
