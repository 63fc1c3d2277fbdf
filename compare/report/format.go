package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/snowkey-go/snowkey/compare/result"
)

// none stands where there is no figure; the reason is among the notes.
const none = "–"

// ratio writes a quotient: two digits behind the point below 10, as 0.98 and 1.03, two significant ones below 0.1, and three from 10 on.
func ratio(v float64) string {
	switch size := math.Abs(v); {
	case size >= 10 || size < 0.001:
		return result.Short(v)
	case size < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// span writes a time given in nanoseconds with its unit.
func span(ns float64) string {
	switch {
	case ns >= 1e9:
		return result.Short(ns/1e9) + " s"
	case ns >= 1e6:
		return result.Short(ns/1e6) + " ms"
	case ns >= 1e3:
		return result.Short(ns/1e3) + " µs"
	}
	return result.Short(ns) + " ns"
}

// micros and millis write times given in those units.
func micros(us float64) string { return span(us * 1e3) }

func millis(ms float64) string { return span(ms * 1e6) }

// size writes bytes with a binary unit.
func size(bytes float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= unit.size {
			return result.Short(bytes/unit.size) + " " + unit.name
		}
	}
	return result.Short(bytes) + " B"
}

// count writes a whole number with commas.
func count[N int | int64](n N) string { return message.NewPrinter(language.English).Sprint(n) }

// percent writes a share of 1.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + " %" }

// yes answers a question.
func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// list joins words with commas, none for none of them.
func list(words []string) string {
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, ", ")
}

// line is a text that others wrote, as one line: what is between words becomes one space, and so do control characters, which a terminal would
// obey, and those that turn the direction of writing.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}

// wrap writes a text in lines of at most width characters; words longer than that stay whole. The first line begins with first, the others
// with as many spaces.
func wrap(out *strings.Builder, width int, first, text string) {
	indent := utf8.RuneCountInString(first)
	out.WriteString(first)
	at := indent
	for i, word := range strings.Fields(line(text)) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	out.WriteByte('\n')
}

// between writes the interval of a figure's median, with the unit once where both ends have the same; "" where there are too few samples for
// one.
func between(f result.Figure, format func(float64) string) string {
	low, high, ok := interval(f)
	if !ok {
		return ""
	}
	from, to := format(low), format(high)
	if number, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		from = number
	}
	return from + "–" + to
}

// settings writes what the figures depend on.
func settings(d result.Database) string {
	words := make([]string, 0, len(d.Settings))
	for _, s := range d.Settings {
		words = append(words, fmt.Sprintf("%s=%s", line(s.Name), line(s.Value)))
	}
	return list(words)
}
