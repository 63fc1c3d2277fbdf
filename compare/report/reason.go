package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// reasons are what was measured in favour of the first strategy of a tie, and what it has before the others.
func (c *ranking) reasons(w criterion, equals []candidate) []string {
	e, out := equals[0], []string(nil)
	if e.verdict.reason != "" {
		out = append(out, e.verdict.reason)
	}
	out = append(out, c.figuresText(e))
	if e.alone {
		out = append(out, "measured with one process: what many do to its table was not measured")
	}
	if w.also != "" {
		out = append(out, w.also)
	}
	return append(out, tie(e, equals)...)
}

// figuresText says how fast rows went in, and how large they are.
func (c *ranking) figuresText(e candidate) string {
	if !e.rate.OK() && !e.bytes.OK() && because(e.rate) == because(e.bytes) {
		return "neither rows/s nor bytes were measured: " + because(e.rate)
	}
	subject := ""
	if e.by != "" {
		subject = "as " + e.by + ": "
	}
	rate, bytes := "rows/s were not measured: "+because(e.rate), "bytes a row were not measured: "+because(e.bytes)
	if e.rate.OK() {
		rate = result.Short(e.rate.Median()) + " rows/s" + c.standing(e)
	}
	if e.bytes.OK() {
		bytes = c.bytesText(e)
	}
	return subject + rate + "; " + bytes
}

// standing says how a rate stands to the reference.
func (c *ranking) standing(e candidate) string {
	if c.reference == nil || c.reference.Name == e.Name && e.by == "" {
		return ""
	}
	d := result.Differ(e.rate, e.ofReference[0])
	switch d.Verdict {
	case result.Same:
		return ", no difference to " + line(c.reference.Name)
	case result.Unknown:
		return ""
	}
	return fmt.Sprintf(", %s × %s", ratio(d.Ratio), line(c.reference.Name))
}

// bytesText says how large rows are, with their indexes.
func (c *ranking) bytesText(e candidate) string {
	text := result.Short(e.bytes.Median()) + " bytes a row"
	if c.reference == nil || c.reference.Name == e.Name && e.by == "" {
		return text
	}
	other := e.ofReference[1]
	switch {
	case !other.OK():
		return text
	case near(e.bytes, other) || result.Differ(e.bytes, other).Verdict == result.Same:
		return text + ", as many as " + line(c.reference.Name)
	}
	return text + ", against " + result.Short(other.Median()) + " of " + line(c.reference.Name)
}

// tie says what decided where neither rate nor bytes did.
func tie(e candidate, equals []candidate) []string {
	var simpler, level notes
	for _, o := range equals {
		switch {
		case o.Name == e.Name:
		case effort(o.Coordination) > effort(e.Coordination):
			simpler.add("its coordination is simpler ("+agreed(e.Coordination)+")", "", o.Name)
		default:
			level.add("take either", "", o.Name)
		}
	}
	compared := "rows/s and bytes"
	switch {
	case !e.rate.OK() && !e.bytes.OK():
		compared = "all figures"
	case !e.rate.OK():
		compared = "bytes"
	case !e.bytes.OK():
		compared = "rows/s"
	}
	var out []string
	for _, n := range slices.Concat(level.all, simpler.all) {
		out = append(out, fmt.Sprintf("level with %s in %s: %s", who(n.strategies), compared, n.text))
	}
	return out
}

// agreed is what has to be agreed upon.
func agreed(coordination string) string { return cmp.Or(line(coordination), "nothing") }

// against says what speaks against the others: what fits the criterion and lost, the nearest first, then what inserts as fast as the one taken and
// does not fit, then the rest; before them all what gave keys twice, where the criterion is about that. Strategies with the same reason share an
// entry.
func against(w criterion, taken candidate, lost, others []candidate) []string {
	ranked := make([][]candidate, 3)
	for _, e := range others {
		switch {
		case w.narrow:
		case w.kills && most(e.Crash.Twice) > 0:
			ranked[0] = append(ranked[0], e)
		case e.rate.OK() && taken.rate.OK() && apart(e.rate, taken.rate) != result.Less:
			ranked[1] = append(ranked[1], e)
		default:
			ranked[2] = append(ranked[2], e)
		}
	}
	var grouped notes
	for _, e := range slices.Concat(ranked[0], lost, ranked[1], ranked[2]) {
		text := e.verdict.reason
		switch {
		case e.verdict.unknown:
			text = "not measured: " + text
		case e.verdict.fits && e.by != "":
			text = "as " + e.by + " " + loss(e, taken)
		case e.verdict.fits:
			text = loss(e, taken)
		}
		grouped.add(text, "", e.Name)
	}
	var out []string
	for _, n := range grouped.all {
		out = append(out, who(n.strategies)+": "+n.text)
	}
	return out
}

// loss says what was measured against a strategy that fits the criterion too.
func loss(e, taken candidate) string {
	noRate, noBytes := !e.rate.OK() && taken.rate.OK(), !e.bytes.OK() && taken.bytes.OK()
	if noRate && noBytes && because(e.rate) == because(e.bytes) {
		return "not measured: " + because(e.rate)
	}
	var parts []string
	switch {
	case noRate:
		parts = append(parts, "its rows/s were not measured: "+because(e.rate))
	case e.short(taken):
		parts = append(parts, fmt.Sprintf("its table got to %s rows, at %s rows/s; that of %s to %s, at %s", count(e.rows), result.Short(e.rate.Median()),
			line(taken.Name), count(taken.rows), result.Short(taken.rate.Median())))
	case apart(e.rate, taken.rate) == result.Less:
		parts = append(parts, slower(e, taken))
	}
	switch {
	case noBytes:
		parts = append(parts, "its bytes a row were not measured: "+because(e.bytes))
	case apart(e.bytes, taken.bytes) == result.Greater:
		parts = append(parts, fmt.Sprintf("%s against %s bytes a row", result.Short(e.bytes.Median()), result.Short(taken.bytes.Median())))
	}
	if len(parts) == 0 {
		return "level with " + line(taken.Name) + ", but not with the best of those that fit"
	}
	return strings.Join(parts, "; ")
}

// slower says how much slower a strategy is, over all rows, and in the last tenth where that is notably more.
func slower(e, taken candidate) string {
	all := taken.rate.Median() / e.rate.Median()
	text := fmt.Sprintf("%s × slower (%s against %s rows/s)", ratio(all), result.Short(e.rate.Median()), result.Short(taken.rate.Median()))
	if end := taken.last.Median() / e.last.Median(); apart(e.last, taken.last) == result.Less && end > 1.2*all {
		text += fmt.Sprintf(", %s × in the last tenth", ratio(end))
	}
	return text
}
