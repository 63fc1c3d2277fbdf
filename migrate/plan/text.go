package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns the plan as people read it, and may refuse it: what becomes of keys, a table of all steps with their locks, rows and expected
// times, and the SQL that changes something. Steps that do the same to one table after another are shown together. What undoes a step, the
// settings of its connection and the queries that count are in [Plan.Encode] alone, whose hash is in the text.
func (p *Plan) Text() ([]byte, error) {
	hash, err := p.Hash()
	if err != nil {
		return nil, err
	}
	var w writer
	stages := p.stages()
	w.head(p, hash, stages)
	for i, s := range stages {
		if i == 0 || stages[i-1].phase != s.phase {
			if i > 0 {
				w.line("")
			}
			w.comment("", fmt.Sprintf("== %s · %s", s.phase, p.phase(s)))
		}
		w.stage(p, s)
	}
	return w.Bytes(), nil
}

// Check returns an error that wraps [ErrChanged], with the first line that differs, when a text is not the plan's [Plan.Text].
func (p *Plan) Check(text []byte) error {
	want, err := p.Text()
	if err != nil {
		return err
	}
	if bytes.Equal(text, want) {
		return nil
	}
	if bytes.Contains(text, []byte("\r\n")) {
		return fmt.Errorf("%w: its lines end in CR LF, as those of Windows do, and have to end in LF: convert it, and have it transferred as it is", ErrText)
	}
	return differs(text, want)
}

// writer writes a plan as people read it. Nothing in it depends on the time, the machine or the locale.
type writer struct{ bytes.Buffer }

func (w *writer) line(text string) { w.WriteString(text + "\n") }

// lineWidth is how long a line of words gets, in letters.
const lineWidth = 150

// comment writes a text in comment lines, with a word in front of the first.
func (w *writer) comment(label, text string) {
	if label != "" {
		text = label + ": " + text
	}
	indent := ""
	for _, part := range strings.Split(text, "\n") {
		for {
			rest := ""
			if utf8.RuneCountInString(part) > lineWidth {
				runes := []rune(part)
				line := string(runes[:lineWidth])
				at := strings.LastIndex(line, "; ") + 1 // names that belong together stay together
				if at < len(line)/2 {
					at = strings.LastIndex(line, " ")
				}
				if at > 0 {
					part, rest = part[:at], part[at+1:]
				}
			}
			w.line(strings.TrimRight("-- "+indent+part, " "))
			indent = "    "
			if part = rest; part == "" {
				break
			}
		}
	}
}

// stage writes what some steps do.
func (w *writer) stage(p *Plan, s stage) {
	w.comment("", s.numbers()+" · "+s.what)
	var sql []string
	var queries []Query
	for _, n := range s.steps {
		do := p.Steps[n-1].Do
		switch do.Kind {
		case Transactional, Autocommit, Batch:
			sql = slices.Concat(sql, do.Before, do.SQL, do.After)
		case Count, Assert:
			queries = append(queries, do.Queries...)
		}
	}
	first := p.Steps[s.steps[0]-1]
	switch do := first.Do; do.Kind {
	case Count:
		w.comment("   counts", list(queries))
	case Assert:
		want := "   each has to be " + strconv.FormatInt(do.Want, 10)
		if do.Baseline > 0 {
			want = "   each has to be what it was before"
		}
		w.comment(want, list(queries))
	case AssertStable:
		w.comment("", fmt.Sprintf("   for %s nothing may change there, else: %s", do.Window, do.OnFailure))
	case Hold:
		w.comment("", "   the run ends here, and run --continue="+do.Name+" goes on: "+do.Text)
	}
	for _, f := range fold(sql) {
		for _, part := range strings.Split(f.template+";", "\n") {
			w.line(strings.TrimRight(part, " "))
		}
		if f.places > 0 {
			w.comment("", "   "+f.list())
		}
	}
	if first.Final {
		w.comment("", "   no rollback once this is done. "+first.Kept)
	}
}

// list returns what queries are about: those that differ in names alone as one, with the names.
func list(queries []Query) string {
	var order []string
	names := map[string][]string{}
	for _, q := range queries {
		if names[q.About] == nil {
			order = append(order, q.About)
		}
		names[q.About] = append(names[q.About], strings.Join(q.Names, " "))
	}
	for i, about := range order {
		if all := names[about]; len(all) > 1 {
			order[i] += " (" + strings.Join(all, ", ") + ")"
			continue
		}
		at := slices.IndexFunc(queries, func(q Query) bool { return q.About == about })
		order[i] = queries[at].String()
	}
	return strings.Join(order, "; ")
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

// Size returns bytes as people read them, 1.2 GB; "unknown" below 0.
func Size(n int64) string {
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
