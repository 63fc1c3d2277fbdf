package report

import (
	"github.com/snowkey-go/snowkey/compare/result"
)

// column is a column of a table that has a row a strategy. A cell is a text and a note about it, "" for none; the text is [none] where there
// is no figure, and the note says why.
type column struct {
	head string
	cell func(s result.Strategy) (text, note string)
}

// words is a column of texts.
func words(head string, get func(s result.Strategy) string) column {
	return column{head, func(s result.Strategy) (string, string) {
		if text := line(get(s)); text != "" {
			return text, ""
		}
		return none, "not stated"
	}}
}

// medians is a column of the medians of figures.
func medians(head string, get func(s result.Strategy) result.Figure, format func(float64) string) column {
	return column{head, func(s result.Strategy) (string, string) {
		f := get(s)
		if !f.OK() {
			return none, because(f)
		}
		return format(f.Median()), f.Note
	}}
}

// figures is a column of medians with their intervals.
func figures(head string, get func(s result.Strategy) result.Figure, format func(float64) string) column {
	return column{head, func(s result.Strategy) (string, string) {
		f := get(s)
		if !f.OK() {
			return none, because(f)
		}
		text := format(f.Median())
		if low, high, ok := interval(f); ok && format(low) != format(high) {
			text += " (" + between(f, format) + ")"
		}
		return text, f.Note
	}}
}

// rateColumns are the rate of inserting, its interval, how it stands to the reference, and what is left of it at the end.
func rateColumns(v view, plan int) []column {
	overall := result.Growth.Overall
	return []column{
		{"rows/s", func(s result.Strategy) (string, string) {
			f := overall(s.Growth)
			if !f.OK() {
				return none, because(f)
			}
			return v.rate(s), partly(s.Growth, plan)
		}},
		{"interval", func(s result.Strategy) (string, string) {
			f := overall(s.Growth)
			switch text := between(f, result.Short); {
			case !f.OK():
				return none, because(f)
			case text == "":
				return none, "one round has no interval"
			default:
				return text, ""
			}
		}},
		{"×", v.times},
		medians("last/first", func(s result.Strategy) result.Figure { return s.Growth.Slowdown() }, ratio),
	}
}

// latencyColumn is a column of what was seen of the latencies.
func latencyColumn(head string, seen func(result.Latency) string) column {
	return column{head, func(s result.Strategy) (string, string) {
		if !s.Latency.OK() {
			return none, because(result.Missing(s.Latency.Why))
		}
		return seen(s.Latency), ""
	}}
}

// percentileColumn is a column of a percentile of the latencies.
func percentileColumn(head string, percent float64) column {
	return latencyColumn(head, func(l result.Latency) string { return span(l.Percentile(percent)) })
}
