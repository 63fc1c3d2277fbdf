package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/snowkey-go/snowkey/compare/result"
)

// row is a strategy's place in a chart with a row for each: what is drawn there goes by values on one axis.
type row struct {
	name   string
	hue    int
	values []float64
	text   string // at the end of the row
}

// rowChart lays rows out below each other: their names on the left of them, or above them where it is narrow.
type rowChart struct {
	rows    []row
	caption string
	log     bool
	format  func(float64) string // of the axis
	narrow  bool
	mark    func(c *draw.Canvas, r row, x func(float64) vg.Length, y vg.Length)
}

func (r rowChart) height() float64 { return float64(len(r.rows))*r.step() + 26 + 34 }

func (r rowChart) step() float64 {
	if r.narrow {
		return 42
	}
	return 27
}

func (r rowChart) label(row row) string {
	if r.narrow {
		return label(row.name, false, narrowChart-textStyle(ink, false).Width(row.text)-16)
	}
	return label(row.name, false, 220)
}

func (r rowChart) chart(title, desc string) chart {
	c := chart{title: title, desc: desc, width: wideChart, height: r.height(), draw: r.draw}
	if r.narrow {
		c.width = narrowChart
	}
	return c
}

func (r rowChart) draw(canvas draw.Canvas) {
	names, texts := vg.Length(0), vg.Length(0)
	style, text := textStyle(ink, false), textStyle(ink, false)
	var values []float64
	for _, row := range r.rows {
		names, texts = max(names, style.Width(r.label(row))), max(texts, text.Width(row.text))
		values = append(values, row.values...)
	}
	left, right := names+10, texts+8
	if r.narrow {
		left, right = 24, 26
	}
	caption(canvas, r.caption, r.narrow)
	p := newPlot()
	newAxis(values, map[bool]int{true: 4, false: 7}[r.narrow], r.log).at(&p.X, r.format)
	p.Y.Min, p.Y.Max = 0, float64(len(r.rows))
	p.HideY()
	p.Add(gridLines{across: true})
	area := draw.Crop(canvas, left, -right, 2, -26)
	p.Draw(area)
	data := p.DataCanvas(area)
	x, y := p.Transforms(&data)
	for i, row := range r.rows {
		at := y(float64(len(r.rows)-i) - 0.5)
		if !r.narrow {
			style.XAlign = draw.XRight
			canvas.FillText(style, vg.Point{X: left - 8, Y: at}, r.label(row))
			canvas.FillText(text, vg.Point{X: data.Max.X + 8, Y: at}, row.text)
			r.mark(&canvas, row, x, at)
			continue
		}
		canvas.FillText(style, vg.Point{X: 0, Y: at + 9}, r.label(row))
		text.XAlign = draw.XRight
		canvas.FillText(text, vg.Point{X: canvas.Max.X - 2, Y: at + 9}, row.text)
		r.mark(&canvas, row, x, at-8)
	}
}

// bytesChart draws the bytes a row takes, the least first: the table's in the strategy's hue, its indexes' behind them in the same, hatched.
func bytesChart(d result.Database, narrow bool) (chart, bool) {
	r := rowChart{format: result.Short, caption: "bytes a row: full the table, light its indexes", narrow: narrow}
	all := planned(d)
	for _, s := range d.Strategies {
		table, index := s.Storage.Table, s.Storage.Index
		if !table.OK() && !index.OK() {
			continue
		}
		values, text := []float64{0, 0}, ""
		if table.OK() {
			values[0], text = max(0, table.Median()), result.Short(table.Median())
		}
		if index.OK() {
			values[1] = min(values[0]+max(0, index.Median()), math.MaxFloat64)
			text += " + " + result.Short(index.Median()) + " = " + result.Short(values[1])
		}
		if rows := float64(s.Growth.Rows); rows > 0 && rows < 0.9*all {
			text += ", at " + result.Short(rows) + " rows"
		}
		r.rows = append(r.rows, row{name: s.Name, hue: families[family(s.Name)].hue, values: values, text: text})
	}
	if len(r.rows) == 0 {
		return chart{}, false
	}
	slices.SortStableFunc(r.rows, func(a, b row) int { return cmp.Compare(slices.Max(a.values), slices.Max(b.values)) })
	r.mark = func(c *draw.Canvas, row row, x func(float64) vg.Length, y vg.Length) {
		bar := func(from, to float64, colour color.Color) {
			low, high := x(from), x(to)
			if high > low {
				c.FillPolygon(colour, []vg.Point{{X: low, Y: y - 7}, {X: high, Y: y - 7}, {X: high, Y: y + 7}, {X: low, Y: y + 7}})
			}
		}
		bar(0, row.values[0], mark(row.hue))
		bar(row.values[0], row.values[1], faint(row.hue))
	}
	least, most := r.rows[0], r.rows[len(r.rows)-1]
	return r.chart("Bytes a row", fmt.Sprintf("%d bars. %s takes the least with %s bytes, %s the most with %s.", len(r.rows), line(least.name), result.Short(slices.Max(least.values)),
		line(most.name), result.Short(slices.Max(most.values)))), true
}

// percentiles are those that the chart of latencies shows.
var percentiles = []float64{50, 90, 99, 99.9, 100}

// latencyChart draws the quantiles of the time that a key takes, the lowest p99 first.
func latencyChart(d result.Database, narrow bool) (chart, bool) {
	r := rowChart{format: span, caption: "a key's p50, p90, p99 (large), p99.9, max", log: true, narrow: narrow}
	for _, s := range d.Strategies {
		if !s.Latency.OK() {
			continue
		}
		values := s.Latency.Percentiles(percentiles...)
		for i := range values {
			values[i] = max(values[i], 1)
		}
		r.rows = append(r.rows, row{s.Name, families[family(s.Name)].hue, values, "p99 " + span(values[2])})
	}
	if len(r.rows) == 0 {
		return chart{}, false
	}
	slices.SortStableFunc(r.rows, func(a, b row) int { return cmp.Compare(a.values[2], b.values[2]) })
	r.mark = func(c *draw.Canvas, row row, x func(float64) vg.Length, y vg.Length) {
		colour := mark(row.hue)
		c.StrokeLine2(draw.LineStyle{Color: colour, Width: 2}, x(row.values[0]), y, x(row.values[len(row.values)-1]), y)
		for i, v := range row.values {
			radius := vg.Length(3)
			if i == 2 {
				radius = 6
			}
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: colour, Radius: radius, Shape: draw.CircleGlyph{}}, vg.Point{X: x(v), Y: y})
		}
	}
	least, most := r.rows[0], r.rows[len(r.rows)-1]
	return r.chart("Time a key takes", fmt.Sprintf("%d rows. The 99th percentile of %s is the lowest with %s, that of %s the highest with %s.", len(r.rows), line(least.name),
		span(least.values[2]), line(most.name), span(most.values[2]))), true
}

// shardChart draws how many keys fell on each shard, beside what each had got if all were equal. It is small, to stand beside others.
func shardChart(s result.Strategy) (chart, bool) {
	most, sum := int64(0), int64(0)
	for _, n := range s.Shards.Counts {
		most, sum = max(most, n), sum+max(n, 0)
	}
	if sum == 0 {
		return chart{}, false
	}
	expected := float64(sum) / float64(len(s.Shards.Counts))
	c := chart{title: "Keys on each of " + fmt.Sprint(len(s.Shards.Counts)) + " shards: " + line(s.Name), width: 150, height: 70,
		desc: fmt.Sprintf("From %d to %d keys a shard, where %s were expected.", slices.Min(s.Shards.Counts), most, result.Short(expected))}
	c.draw = func(canvas draw.Canvas) {
		p := newPlot()
		p.HideAxes()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(len(s.Shards.Counts)), 0, max(float64(most), expected*1.1)
		p.Add(histogram{s.Shards.Counts, families[family(s.Name)].hue, expected})
		p.Draw(canvas)
	}
	return c, true
}

// histogram draws a bar a count, and a line at the expected one.
type histogram struct {
	counts   []int64
	hue      int
	expected float64
}

func (h histogram) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, n := range h.counts {
		if left, right, top := x(float64(i))+1, x(float64(i+1))-1, y(float64(n)); n > 0 && right > left {
			c.FillPolygon(mark(h.hue), []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: top}, {X: left, Y: top}})
		}
	}
	c.StrokeLine2(lineStyle(ink, 1.5, 4, 3), c.Min.X, y(h.expected), c.Max.X, y(h.expected))
	c.StrokeLine2(lineStyle(quiet, 1), c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
}
