package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/snowkey-go/snowkey/compare/result"
)

// curve is a strategy's way through a chart, with a name at its end.
type curve struct {
	name   string
	stroke stroke
	points []point // in the units of the axes
}

func (l curve) last() point { return l.points[len(l.points)-1] }

// dashes tell the strategies of a family apart, which share their hue.
var dashes = [...]string{"", "7,3", "2,3", "10,3,2,3", "4,2", "12,2,2,2,2,2", "1,5"}

// strokes gives each strategy of a database its line. The first of a family is drawn stronger.
func strokes(strategies []result.Strategy) []stroke {
	all, seen := make([]stroke, len(strategies)), map[int]int{}
	for i, s := range strategies {
		f := family(s.Name)
		all[i] = stroke{shade: families[f].hue, width: 1.5, dash: dashes[seen[f]%len(dashes)]}
		if seen[f] == 0 {
			all[i].width = 2.75
		}
		seen[f]++
	}
	return all
}

// rateCurves has a line for each strategy that rows were inserted with, those on top last.
func rateCurves(d result.Database) []curve {
	var lines []curve
	strokes, planned := strokes(d.Strategies), planned(d)
	for i, s := range d.Strategies {
		l := curve{name: s.Name, stroke: strokes[i]}
		for t, tenth := range s.Growth.Tenths {
			if rate := tenth.RowsPerSecond; rate.OK() && rate.Median() > 0 {
				rows := planned * float64(t+1) / float64(len(s.Growth.Tenths))
				l.points = append(l.points, point{rows, rate.Median()})
			}
		}
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b curve) int { return cmp.Compare(a.stroke.width, b.stroke.width) })
	return lines
}

// planned is how many rows the tables were to have, whose tenths the growths tell of: those of the table that got furthest, and if not even that
// one got to its end, the most that its full tenths allow.
func planned(d result.Database) float64 {
	furthest := 0.0
	for _, s := range d.Strategies {
		full := 0
		for full < len(s.Growth.Tenths) && len(s.Growth.Tenths[full].RowsPerSecond.Samples) >= len(s.Growth.Batches) {
			full++
		}
		rows := float64(max(s.Growth.Rows, 0))
		if full > 0 {
			rows *= float64(len(s.Growth.Tenths)) / float64(full)
		}
		if full == len(s.Growth.Tenths) && full > 0 {
			return rows
		}
		furthest = max(furthest, rows)
	}
	return furthest
}

// rateChart draws how fast rows went in while the table grew. It has nothing to draw where no rows were inserted.
func rateChart(d result.Database, narrow bool) (_ chart, ok bool) {
	lines := rateCurves(d)
	if len(lines) == 0 {
		return chart{}, false
	}
	var xs, ys []float64
	for _, l := range lines {
		for _, p := range l.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	spread := slices.Max(ys) > 10*slices.Min(ys)
	byEnd := slices.SortedStableFunc(slices.Values(lines), func(a, b curve) int { return cmp.Compare(b.last().y, a.last().y) })
	c := chart{title: "Rows inserted per second as the table grows", width: wideChart, height: max(360, float64(len(lines))*labelStep+70)}
	c.desc = fmt.Sprintf("%d lines, each the median of the rounds. At its end, %s is the fastest with %s rows a second and %s the slowest with %s.", len(lines),
		line(byEnd[0].name), result.Short(byEnd[0].last().y), line(byEnd[len(byEnd)-1].name), result.Short(byEnd[len(byEnd)-1].last().y))
	legend := 0.0
	if narrow {
		legend = float64(len(lines)) * labelStep
		c.width, c.height = narrowChart, 260+legend+8
	}
	c.draw = func(d *drawing) {
		across, up := newAxis(xs, 4, false), newAxis(ys, 5, spread)
		across.max = max(slices.Max(xs), 1)
		left, right, bottom := up.widest(result.Short)+10, c.width-18, c.height-legend-44
		if !narrow {
			right = c.width - endLabels(byEnd)
		}
		x, y := scale{across, left, right}, scale{up, bottom, 26}
		d.caption("rows per second, median of the rounds"+map[bool]string{true: "; logarithmic", false: ""}[spread], narrow)
		d.leftAxis(y, left, right, result.Short)
		d.bottomAxis(x, bottom, result.Short)
		d.text(lettering{shade: quiet, anchor: "middle"}, point{(left + right) / 2, bottom + 33}, "rows in the table")
		for _, l := range lines {
			points := make([]point, len(l.points))
			for i, p := range l.points {
				points[i] = point{x.at(p.x), y.at(p.y)}
			}
			d.line(l.stroke, points...)
			d.dot(l.stroke.shade, points[len(points)-1], 2.5)
		}
		if narrow {
			d.legend(byEnd, c.height-legend, c.width)
		} else {
			d.endLabels(byEnd, x, y, c.width, c.height)
		}
	}
	return c, true
}

const labelStep = 18.0 // from one line of text to the next

// caption says at the top left what the vertical axis counts; an axis label along it would have to be read with the head on the side.
func (d *drawing) caption(text string, narrow bool) {
	if !narrow || textWidth(text, false) < narrowChart {
		d.text(lettering{shade: quiet, anchor: "start"}, point{0, 9}, text)
	}
}

// strong tells that a curve is drawn, and named, stronger than others.
func (l curve) strong() bool { return l.stroke.width > 2 }

func endLabel(l curve) string { return label(l.name, l.strong(), 250) + " " + result.Short(l.last().y) }

// endLabels is the room that the labels at the ends of lines need, with what leads to them.
func endLabels(lines []curve) (width float64) {
	for _, l := range lines {
		width = max(width, textWidth(endLabel(l), l.strong()))
	}
	return width + leader + 8
}

const leader = 34

// endLabels writes the names of lines beside their ends, at distances at which they can be read, and leads from one to the other.
func (d *drawing) endLabels(lines []curve, x, y scale, width, height float64) {
	wanted := make([]float64, len(lines))
	for i, l := range lines {
		wanted[i] = y.at(l.last().y)
	}
	left := width - endLabels(lines) + leader
	for i, at := range spreadOut(wanted, labelStep, 26, height-9) {
		l := lines[i]
		end := x.at(l.last().x)
		d.line(stroke{shade: l.stroke.shade, width: 0.75}, point{end, wanted[i]}, point{max(end, left-leader+4), wanted[i]}, point{left - 6, at}, point{left - 3, at})
		d.text(lettering{shade: ink, bold: l.strong(), anchor: "start"}, point{left, at}, endLabel(l))
	}
}

// spreadOut moves positions, of which each is at least the one before it, as little as it can to have them at least step apart and in [low, high].
func spreadOut(wanted []float64, step, low, high float64) []float64 {
	at := slices.Clone(wanted)
	for i := range at {
		if at[i] = max(at[i], low); i > 0 {
			at[i] = max(at[i], at[i-1]+step)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		most := high
		if i < len(at)-1 {
			most = at[i+1] - step
		}
		at[i] = min(at[i], most)
	}
	return at
}

// legend writes the names of lines below each other, from the fastest to the slowest.
func (d *drawing) legend(lines []curve, top, width float64) {
	for i, l := range lines {
		y := top + float64(i)*labelStep + 9
		d.line(l.stroke, point{4, y}, point{44, y})
		d.text(lettering{shade: ink, bold: l.strong(), anchor: "start"}, point{52, y}, label(l.name, l.strong(), 220))
		d.text(lettering{shade: ink, anchor: "end"}, point{width - 2, y}, result.Short(l.last().y))
	}
}

// ErrNotMeasured says that there is nothing to draw.
var ErrNotMeasured = errors.New("compare: nothing was measured")

// Chart writes one chart of a database as an image file in SVG that can be read on light ground and on dark: "rate" is the rows inserted per
// second as the table grows, "bytes" the bytes a row, "latency" the time that a key takes. The error tells of a name that is none of these or of
// w, or wraps [ErrNotMeasured].
func Chart(w io.Writer, d result.Database, name string) error {
	make, ok := map[string]func(result.Database, bool) (chart, bool){"rate": rateChart, "bytes": bytesChart, "latency": latencyChart}[name]
	if !ok {
		return fmt.Errorf("compare: no chart %q; there are rate, bytes and latency", name)
	}
	c, ok := make(d, false)
	if !ok {
		return fmt.Errorf("%w on %s for the chart %q", ErrNotMeasured, d.Name, name)
	}
	_, err := w.Write(c.file())
	return err
}
