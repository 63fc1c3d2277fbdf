package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// figure is what the page draws of a section: a chart with a row a strategy, or a small panel for each.
type figure struct {
	Lead   string
	Chart  *chart
	Panels []panel
}

// chart has a row a strategy, and a plot for each axis in it.
type chart struct {
	Title string
	Axes  []axis
	Rows  []chartRow
	Notes []string // why plots are empty
}

type chartRow struct {
	Name  name
	Note  string // beside the name
	Why   string // in place of the plots: why there are none
	Plots []plot
}

// plot has marks at places of an axis.
type plot struct {
	Bars    []float64 // ends of bars behind each other
	Whisker []float64 // both ends, or none
	Dots    []float64
	Text    string
}

// rateChart has the rows a second with the intervals of the medians, the highest first, and beside them the bytes a row. Strategies without
// figures are at the end, with the reason.
func rateChart(v view, all names, title string) *chart {
	rates, sizes := 0.0, 0.0
	for _, s := range v.measured {
		rate, bytes := s.Growth.Overall(), bytesPerRow(s.Storage.Table, s.Storage.Index)
		_, high, _ := interval(rate)
		rates, sizes = max(rates, median(rate), high), max(sizes, median(bytes))
	}
	c := &chart{Title: title, Axes: []axis{linear(rates, result.Short), linear(sizes, result.Short)}}
	c.Axes[0].Head, c.Axes[1].Head = "rows/s", "bytes a row"
	var below notes
	for _, s := range v.measured {
		r := chartRow{Name: all[s.Name], Plots: []plot{{Text: none}, {Text: none}}}
		rate, bytes := s.Growth.Overall(), bytesPerRow(s.Storage.Table, s.Storage.Index)
		if rate.OK() {
			r.Plots[0] = plot{Bars: []float64{c.Axes[0].at(rate.Median())}, Text: result.Short(rate.Median())}
			if slices.Contains(v.level, s.Name) {
				r.Plots[0].Text += " ="
			}
			if low, high, ok := interval(rate); ok {
				r.Plots[0].Whisker = []float64{c.Axes[0].at(low), c.Axes[0].at(high)}
			}
			if v.short(s) {
				r.Note = "at " + result.Short(float64(s.Growth.Rows)) + " rows"
			}
		}
		if bytes.OK() {
			r.Plots[1] = plot{Bars: []float64{c.Axes[1].at(s.Storage.Table.Median()), c.Axes[1].at(bytes.Median())}, Text: result.Short(bytes.Median())}
		}
		switch {
		case !rate.OK() && !bytes.OK():
			r.Why = "not measured: " + because(rate)
		case !rate.OK():
			below.add(because(rate), c.Axes[0].Head, r.Name.Text)
		case !bytes.OK():
			below.add(because(bytes), c.Axes[1].Head, r.Name.Text)
		}
		c.Rows = append(c.Rows, r)
	}
	c.Notes = below.lines(namesOf(v.measured))
	for _, s := range v.failing {
		c.Rows = append(c.Rows, chartRow{Name: all[s.Name], Why: "not measured: its keys are wrong"})
	}
	for _, s := range v.skipped {
		c.Rows = append(c.Rows, chartRow{Name: all[s.Name], Why: "not measured: " + line(s.Skipped)})
	}
	return c
}

// percentiles are those that the chart of latencies shows.
var percentiles = []float64{50, 90, 99, 99.9, 100}

// latencyFigure has the percentiles of the time that a key takes, the lowest p99 first.
func latencyFigure(v view, all names) figure {
	times := map[string][]float64{}
	least, most := 1e9, 1.0
	measured, missing := []result.Strategy(nil), []result.Strategy(nil)
	for _, s := range v.measured {
		if !s.Latency.OK() {
			missing = append(missing, s)
			continue
		}
		ns := s.Latency.Percentiles(percentiles...)
		for i := range ns {
			ns[i] = max(ns[i], 1)
		}
		times[s.Name], measured = ns, append(measured, s)
		least, most = min(least, ns[0]), max(most, ns[len(ns)-1])
	}
	if len(measured) == 0 {
		return figure{}
	}
	slices.SortStableFunc(measured, func(a, b result.Strategy) int { return cmp.Compare(times[a.Name][2], times[b.Name][2]) })
	c := &chart{Title: "Percentiles of the time for a key", Axes: []axis{decades(least, most, span)}}
	c.Axes[0].Head = "p50, p90, p99 (large), p99.9, most"
	for _, s := range measured {
		ns := times[s.Name]
		p := plot{Whisker: []float64{c.Axes[0].at(ns[0]), c.Axes[0].at(ns[len(ns)-1])}, Text: "p99 " + span(ns[2])}
		for _, t := range ns {
			p.Dots = append(p.Dots, c.Axes[0].at(t))
		}
		c.Rows = append(c.Rows, chartRow{Name: all[s.Name], Plots: []plot{p}})
	}
	for _, s := range missing {
		c.Rows = append(c.Rows, chartRow{Name: all[s.Name], Why: "not measured: " + because(result.Missing(s.Latency.Why))})
	}
	return figure{Chart: c}
}

// panel is a small chart of one strategy beside those of others, on the same axes.
type panel struct {
	Name        name
	Text        string
	Uneven      bool
	Left, Below []tick // of the axes, in pixels
	Curves      string // paths: of all strategies, and of this one
	Curve       string
	Bars, Even  string
}

// The plot of a panel, in pixels.
const (
	panelLeft, panelRight = 36.0, 152.0
	panelTop, panelBottom = 8.0, 92.0
)

func newPanel(n name, x, y axis) panel {
	p := panel{Name: n}
	for _, t := range x.Ticks {
		p.Below = append(p.Below, tick{panelLeft + t.At*(panelRight-panelLeft)/100, t.Text})
	}
	for _, t := range y.Ticks {
		p.Left = append(p.Left, tick{panelBottom - t.At*(panelBottom-panelTop)/100, t.Text})
	}
	return p
}

// point is a place in a panel, as a path has it.
func point(x, y axis, atX, atY float64) string {
	return fmt.Sprintf("%.1f,%.1f", panelLeft+x.at(atX)*(panelRight-panelLeft)/100, panelBottom-y.at(atY)*(panelBottom-panelTop)/100)
}

// growthFigure has a panel a strategy: its rows a second in each tenth of the rows, before those of the others.
func growthFigure(v view, all names) figure {
	type curve struct {
		s      result.Strategy
		values [][2]float64 // rows in the table, rows a second
	}
	var curves []curve
	planned, most := planned(v.measured), 0.0
	for _, s := range v.measured {
		c := curve{s: s}
		for i, t := range s.Growth.Tenths {
			if rate := t.RowsPerSecond; rate.OK() && rate.Median() > 0 {
				c.values = append(c.values, [2]float64{planned * float64(i+1) / float64(len(s.Growth.Tenths)), rate.Median()})
				most = max(most, rate.Median())
			}
		}
		if len(c.values) > 0 {
			curves = append(curves, c)
		}
	}
	x, y := until(planned, result.Short), linear(most, result.Short)
	paths := make([]string, len(curves))
	for i, c := range curves {
		points := make([]string, len(c.values))
		for j, v := range c.values {
			points[j] = point(x, y, v[0], v[1])
		}
		paths[i] = "M" + strings.Join(points, "L")
		if len(points) == 1 {
			paths[i] += "h3"
		}
	}
	f := figure{Lead: "Rows a second in each tenth of the rows. The thin curves are those of all strategies."}
	for i, c := range curves {
		p, end := newPanel(all[c.s.Name], x, y), c.values[len(c.values)-1]
		p.Curve, p.Curves = paths[i], strings.Join(paths, "")
		p.Text = fmt.Sprintf("%s/s at %s rows", result.Short(end[1]), result.Short(end[0]))
		f.Panels = append(f.Panels, p)
	}
	return f
}

// planned is how many rows the tables were to have, whose tenths the growths tell of: those of the table that got furthest, and if not even that
// one got to its end, the most that its full tenths allow.
func planned(strategies []result.Strategy) float64 {
	furthest := 0.0
	for _, s := range strategies {
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

// shardFigure has a panel a strategy: how many keys fell on each shard, with a dashed line at what each had got if all were equal.
func shardFigure(v view, all names) figure {
	f := figure{Lead: "Keys on each shard. The dashed line is what each had got if all were equal."}
	for _, s := range v.measured {
		sum, n := 0.0, float64(len(s.Shards.Counts))
		for _, keys := range s.Shards.Counts {
			sum += float64(max(keys, 0))
		}
		if sum == 0 {
			continue
		}
		x, y := until(n, result.Short), linear(float64(slices.Max(s.Shards.Counts)), result.Short)
		p := newPanel(all[s.Name], x, y)
		for i, keys := range s.Shards.Counts {
			at := float64(i)
			p.Bars += "M" + strings.Join([]string{point(x, y, at+0.15, 0), point(x, y, at+0.15, float64(keys)), point(x, y, at+0.85, float64(keys)), point(x, y, at+0.85, 0)}, "L") + "Z"
		}
		p.Even = "M" + point(x, y, 0, sum/n) + "L" + point(x, y, n, sum/n)
		for _, chi := range s.Shards.Chi {
			if chi.Shards == len(s.Shards.Counts) {
				p.Text, p.Uneven = "p "+chanceText(chi.P), chi.P < chance
			}
		}
		if p.Uneven {
			p.Text = "uneven, " + p.Text
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// fileChart is a chart as a file, with its places in pixels.
type fileChart struct {
	*chart
	Style template.CSS
}

// Top is the upper edge of a row.
func (fileChart) Top(row int) int { return 80 + 26*row }

func (c fileChart) Height() int { return c.Top(len(c.Rows)) + 16 }

// Bottom is the end of the lines at the ticks, from where the axes are.
func (c fileChart) Bottom() int { return c.Top(len(c.Rows)) - 20 }

// ErrNotMeasured says that there is nothing to draw.
var ErrNotMeasured = errors.New("compare: nothing was measured")

// Chart writes the rows a second and the bytes a row of a database as an image file in SVG, which can be read on light ground and on dark. The
// error wraps [ErrNotMeasured], or is that of w.
func Chart(w io.Writer, d result.Database) error {
	_, all := newGlossary(d)
	c := fileChart{chart: rateChart(rank(d), all, shortText(d)), Style: fileStyle()}
	if !slices.ContainsFunc(c.Rows, func(r chartRow) bool { return r.Why == "" }) {
		return fmt.Errorf("%w on %s", ErrNotMeasured, d.Name)
	}
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "file", c); err != nil {
		return fmt.Errorf("compare: drawing the chart: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}
