package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/snowkey-go/snowkey/compare/result"
)

// curve is a strategy's way through a chart, with a name at its end.
type curve struct {
	name   string
	style  draw.LineStyle
	points []vg.Point // in the units of the axes
}

func (l curve) last() vg.Point { return l.points[len(l.points)-1] }

// dashes tell the strategies of a family apart, which share their hue.
var dashes = [...][]vg.Length{nil, {7, 3}, {2, 3}, {10, 3, 2, 3}, {4, 2}, {12, 2, 2, 2, 2, 2}, {1, 5}}

// lineStyles gives each strategy of a database the style that it has in all charts of lines. The first of a family is drawn stronger.
func lineStyles(strategies []result.Strategy) []draw.LineStyle {
	styles, seen := make([]draw.LineStyle, len(strategies)), map[int]int{}
	for i, s := range strategies {
		f := family(s.Name)
		styles[i] = lineStyle(families[f].hue, 1.5, dashes[seen[f]%len(dashes)]...)
		if seen[f] == 0 {
			styles[i].Width = 2.75
		}
		seen[f]++
	}
	return styles
}

// rateCurves has a line for each strategy that rows were inserted with, those on top last.
func rateCurves(d result.Database) []curve {
	var lines []curve
	styles, planned := lineStyles(d.Strategies), planned(d)
	for i, s := range d.Strategies {
		l := curve{name: s.Name, style: styles[i]}
		for t, tenth := range s.Growth.Tenths {
			if rate := tenth.RowsPerSecond; rate.OK() && rate.Median() > 0 {
				rows := planned * float64(t+1) / float64(len(s.Growth.Tenths))
				l.points = append(l.points, vg.Point{X: vg.Length(rows), Y: vg.Length(rate.Median())})
			}
		}
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b curve) int { return cmp.Compare(a.style.Width, b.style.Width) })
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
			xs, ys = append(xs, p.X.Points()), append(ys, p.Y.Points())
		}
	}
	spread := slices.Max(ys) > 10*slices.Min(ys)
	byEnd := slices.SortedStableFunc(slices.Values(lines), func(a, b curve) int { return cmp.Compare(b.last().Y, a.last().Y) })
	c := chart{title: "Rows inserted per second as the table grows", width: wideChart, height: max(360, float64(len(lines))*labelStep+70)}
	c.desc = fmt.Sprintf("%d lines, each the median of the rounds. At its end, %s is the fastest with %s rows a second and %s the slowest with %s.", len(lines),
		line(byEnd[0].name), result.Short(byEnd[0].last().Y.Points()), line(byEnd[len(byEnd)-1].name), result.Short(byEnd[len(byEnd)-1].last().Y.Points()))
	legend := 0.0
	if narrow {
		legend = float64(len(lines)) * labelStep
		c.width, c.height = narrowChart, 260+legend+8
	}
	c.draw = func(canvas draw.Canvas) {
		p := newPlot()
		newAxis(xs, 4, false).at(&p.X, result.Short)
		p.X.Max = max(slices.Max(xs), 1)
		newAxis(ys, 5, spread).at(&p.Y, result.Short)
		p.X.Label.Text = "rows in the table"
		caption(canvas, "rows per second, median of the rounds"+map[bool]string{true: "; logarithmic", false: ""}[spread], narrow)
		p.Add(gridLines{}, curves(lines))
		area := draw.Crop(canvas, 2, -16, 2+vg.Length(legend), -26)
		if !narrow {
			area.Max.X -= endLabels(byEnd) - 16
		}
		p.Draw(area)
		if narrow {
			legendBelow(canvas, byEnd)
			return
		}
		labelEnds(canvas, p, area, byEnd)
	}
	return c, true
}

const labelStep = 18.0 // from one line of text to the next

// caption says at the top left what the vertical axis counts; an axis label along it would have to be read with the head on the side.
func caption(canvas draw.Canvas, text string, narrow bool) {
	if style := textStyle(quiet, false); !narrow || style.Width(text).Points() < narrowChart {
		canvas.FillText(style, vg.Point{X: 0, Y: canvas.Max.Y - 9}, text)
	}
}

// gridLines draws a line at each tick of the axes.
type gridLines struct{ across bool }

func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	style := lineStyle(rule, 1)
	if g.across {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			x := c.X(p.X.Norm(t.Value))
			c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
		}
		return
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		y := c.Y(p.Y.Norm(t.Value))
		c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
	}
}

// curves draws lines over each other.
type curves []curve

func (cs curves) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, l := range cs {
		points := make([]vg.Point, len(l.points))
		for i, at := range l.points {
			points[i] = vg.Point{X: x(at.X.Points()), Y: y(at.Y.Points())}
		}
		c.StrokeLines(l.style, points)
		dot := draw.GlyphStyle{Color: l.style.Color, Radius: 2.5, Shape: draw.CircleGlyph{}}
		c.DrawGlyphNoClip(dot, points[len(points)-1])
	}
}

// strong tells that a curve is drawn, and named, stronger than others.
func (l curve) strong() bool { return l.style.Width > 2 }

func endLabel(l curve) string {
	return label(l.name, l.strong(), 250) + " " + result.Short(l.last().Y.Points())
}

// endLabels is the room that the labels at the ends of lines need, with what leads to them.
func endLabels(lines []curve) vg.Length {
	width := vg.Length(0)
	for _, l := range lines {
		width = max(width, textStyle(ink, l.strong()).Width(endLabel(l)))
	}
	return width + leader + 8
}

const leader = 34

// labelEnds writes the names of lines beside their ends, at distances at which they can be read, and leads from one to the other.
func labelEnds(canvas draw.Canvas, p *plot.Plot, area draw.Canvas, lines []curve) {
	data := p.DataCanvas(area)
	x, y := p.Transforms(&data)
	wanted := make([]float64, len(lines))
	for i, l := range lines {
		wanted[i] = y(l.last().Y.Points()).Points()
	}
	left := canvas.Max.X - endLabels(lines) + leader
	for i, at := range spreadOut(wanted, labelStep, 9, canvas.Max.Y.Points()-26) {
		l := lines[i]
		end := vg.Point{X: x(l.last().X.Points()), Y: vg.Length(wanted[i])}
		thin := draw.LineStyle{Color: l.style.Color, Width: 0.75}
		canvas.StrokeLines(thin, []vg.Point{end, {X: max(end.X, left-leader+4), Y: end.Y}, {X: left - 6, Y: vg.Length(at)}, {X: left - 3, Y: vg.Length(at)}})
		canvas.FillText(textStyle(ink, l.strong()), vg.Point{X: left, Y: vg.Length(at)}, endLabel(l))
	}
}

// spreadOut moves positions, of which each is at most the one before it, as little as it can to have them at least step apart and in [low, high].
func spreadOut(wanted []float64, step, low, high float64) []float64 {
	at := slices.Clone(wanted)
	for i := range at {
		if at[i] = min(at[i], high); i > 0 {
			at[i] = min(at[i], at[i-1]-step)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		least := low
		if i < len(at)-1 {
			least = at[i+1] + step
		}
		at[i] = max(at[i], least)
	}
	return at
}

// legendBelow writes the names of lines under the plot, from the fastest to the slowest.
func legendBelow(canvas draw.Canvas, lines []curve) {
	y := vg.Length(float64(len(lines))*labelStep - 9)
	value := textStyle(ink, false)
	value.XAlign = draw.XRight
	for _, l := range lines {
		canvas.StrokeLine2(l.style, 4, y, 44, y)
		canvas.FillText(textStyle(ink, l.strong()), vg.Point{X: 52, Y: y}, label(l.name, l.strong(), 220))
		canvas.FillText(value, vg.Point{X: canvas.Max.X - 2, Y: y}, result.Short(l.last().Y.Points()))
		y -= labelStep
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
