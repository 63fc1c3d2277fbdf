package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	mark    func(d *drawing, r row, x scale, y float64)
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
		return label(row.name, false, narrowChart-textWidth(row.text, false)-16)
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

func (r rowChart) draw(d *drawing) {
	names, texts := 0.0, 0.0
	var values []float64
	for _, row := range r.rows {
		names, texts = max(names, textWidth(r.label(row), false)), max(texts, textWidth(row.text, false))
		values = append(values, row.values...)
	}
	left, right, ticks := names+10, wideChart-texts-16, 7
	if r.narrow {
		left, right, ticks = 24, narrowChart-28, 4
	}
	bottom := 26 + float64(len(r.rows))*r.step()
	x := scale{newAxis(values, ticks, r.log), left, right}
	d.caption(r.caption, r.narrow)
	for _, v := range x.ticks {
		d.line(stroke{shade: rule, width: 1}, point{x.at(v), 26}, point{x.at(v), bottom})
	}
	d.bottomAxis(x, bottom, r.format)
	for i, row := range r.rows {
		y := 26 + (float64(i)+0.5)*r.step()
		name, text, mark := lettering{shade: ink, anchor: "end"}, lettering{shade: ink, anchor: "start"}, y
		nameAt, textAt := point{left - 8, y}, point{right + 8, y}
		if r.narrow {
			name, text, mark = text, name, y+8
			nameAt, textAt = point{0, y - 9}, point{narrowChart - 2, y - 9}
		}
		d.text(name, nameAt, r.label(row))
		d.text(text, textAt, row.text)
		r.mark(d, row, x, mark)
	}
}

// bytesChart draws the bytes a row takes, the least first: the table's in the strategy's hue, its indexes' behind them in the same, lighter.
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
	r.mark = func(d *drawing, row row, x scale, y float64) {
		d.bar(row.hue, 1, x.at(0), y-7, x.at(row.values[0]), y+7)
		d.bar(row.hue, 0.4, x.at(row.values[0]), y-7, x.at(row.values[1]), y+7)
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
	r.mark = func(d *drawing, row row, x scale, y float64) {
		d.line(stroke{shade: row.hue, width: 2}, point{x.at(row.values[0]), y}, point{x.at(row.values[len(row.values)-1]), y})
		for i, v := range row.values {
			radius := 3.0
			if i == 2 {
				radius = 6
			}
			d.dot(row.hue, point{x.at(v), y}, radius)
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
	c.draw = func(d *drawing) {
		y, each := scale{axis{max: max(float64(most), expected*1.1)}, c.height, 0}, c.width/float64(len(s.Shards.Counts))
		for i, n := range s.Shards.Counts {
			d.bar(families[family(s.Name)].hue, 1, float64(i)*each+1, y.at(float64(n)), float64(i+1)*each-1, c.height)
		}
		d.line(stroke{shade: ink, width: 1.5, dash: "4,3"}, point{0, y.at(expected)}, point{c.width, y.at(expected)})
		d.line(stroke{shade: quiet, width: 1}, point{0, c.height - 0.5}, point{c.width, c.height - 0.5})
	}
	return c, true
}
