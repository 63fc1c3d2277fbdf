package report

import (
	"fmt"
	"html/template"
	"strconv"

	"github.com/snowkey-go/snowkey/compare/result"
)

// subject is what a part of the page is about: a chart of it, and tables.
type subject struct {
	id, title, lead string
	chart           func(result.Database, bool) (chart, bool) // nil: none
	shards          bool                                      // histograms, one a strategy
	tables          []section
	folded          []section // shown when asked for
}

// subjects are in the order in which they decide.
func subjects(v view, plan int) []subject {
	insert, tenths := growthSections(v, plan)
	bytes, making, even := storage, generations(v), shards(v)
	bytes.title = "Storage and writing, with the intervals of the medians"
	return []subject{
		{id: "rate", title: "Inserting rows", chart: rateChart, tables: []section{insert}, folded: tenths,
			lead: "Rows go in through GORM, with the keys made on the way, while the table grows from nothing."},
		{id: "bytes", title: "Bytes a row", lead: "What the table and its indexes take once all rows are in.", chart: bytesChart, tables: []section{bytes}},
		{id: "latency", title: "Time a key takes", chart: latencyChart, tables: []section{latency},
			lead: "Single keys, asked for at a fixed rate. What is far right of the rest is a stall that all keys of its time waited for."},
		{id: "making", title: "Making keys", lead: "How fast keys are made at full speed, without storing rows.", tables: making},
		{id: "reading", title: "Reading rows", tables: []section{reads}},
		{id: "shards", title: "Spread over shards", shards: true, tables: []section{even},
			lead: "How many keys fell on each of 16 shards by key modulo 16. The dashed line is what each had got if all were equal."},
		{id: "keys", title: "What a key is", tables: []section{keys}, folded: []section{traits}},
		{id: "crash", title: "When the database is killed", tables: []section{crash}},
	}
}

// growthSections are the table of inserting, and those that follow it through all tenths.
func growthSections(v view, plan int) (insert section, tenths []section) {
	insert = section{title: "Inserting, with the intervals of the medians", columns: rateColumns(v, plan)}
	if v.reference != nil {
		insert.intro = fmt.Sprintf("× is the rate over that of %s in the same rounds, “same” where the rounds show no difference; last/first is the rate in the "+
			"last tenth of the rows over that in the first.", line(v.reference.Name))
	}
	insert.columns = append(insert.columns, tenthColumns("rows/s in the %s tenth", func(t result.Tenth) result.Figure { return t.RowsPerSecond }, result.Short)...)
	insert.columns = append(insert.columns, tenthColumns("p99 of an INSERT in the %s tenth", func(t result.Tenth) result.Figure { return t.P99 }, micros)...)
	most := 0
	for _, s := range v.measured {
		most = max(most, len(s.Growth.Tenths))
	}
	rates, tails := section{title: "Rows a second in each tenth of the rows"}, section{title: "99th percentile of an INSERT in each tenth of the rows"}
	for i := range most {
		head := strconv.Itoa(i + 1)
		rates.columns = append(rates.columns, medians(head, func(s result.Strategy) result.Figure { return tenth(s.Growth, i).RowsPerSecond }, result.Short))
		tails.columns = append(tails.columns, medians(head, func(s result.Strategy) result.Figure { return tenth(s.Growth, i).P99 }, micros))
	}
	if most == 0 {
		return insert, nil
	}
	return insert, []section{rates, tails}
}

// traits are what is known of strategies without measuring.
var traits = section{
	title: "What each strategy is, tells, needs and costs", texts: true,
	columns: []column{
		words("what it is", func(s result.Strategy) string { return s.About }),
		words("who knows one key knows", func(s result.Strategy) string { return s.Guess }),
		words("a key tells", func(s result.Strategy) string { return s.Decodes }),
		words("its processes agree upon", func(s result.Strategy) string { return s.Coordination }),
		words("needs", func(s result.Strategy) string { return s.Needs }),
		words("costs", func(s result.Strategy) string { return s.Cost }),
		words("origin", func(s result.Strategy) string { return s.Origin }),
	},
}

// pageSections render the subjects of a database.
func pageSections(id string, v view, plan int) []pageSection {
	all := subjects(v, plan)
	rendered := make([]pageSection, len(all))
	for i, a := range all {
		s := pageSection{ID: id + "-" + a.id, Title: a.title, Lead: a.lead}
		if a.chart != nil {
			s.Charts = bothWidths(s.ID, v, a.chart)
		}
		if a.shards {
			s.Shards = shardFigures(s.ID, v.measured)
		}
		for _, t := range append(a.tables[:len(a.tables):len(a.tables)], a.folded...) {
			table := newPageTable(fmt.Sprintf("%s-t%d", s.ID, len(s.Tables)+1), t, v.measured)
			table.Folded = len(s.Tables) >= len(a.tables)
			s.Tables = append(s.Tables, table)
		}
		rendered[i] = s
	}
	return rendered
}

// bothWidths renders a chart for screens and for phones, of which the style sheet shows one.
func bothWidths(id string, v view, make func(result.Database, bool) (chart, bool)) []template.HTML {
	d := v.database
	d.Strategies = v.measured
	var out []template.HTML
	for _, narrow := range []bool{false, true} {
		class := map[bool]string{false: "wide", true: "narrow"}[narrow]
		if c, ok := make(d, narrow); ok {
			out = append(out, template.HTML(c.svg(id+"-"+class, "chart "+class)))
		}
	}
	return out
}

// shardFigures are the histograms, with what the test of equal shards says of them.
func shardFigures(id string, strategies []result.Strategy) []pageShards {
	var all []pageShards
	for i, s := range strategies {
		c, ok := shardChart(s)
		if !ok {
			continue
		}
		f := pageShards{Name: line(s.Name), Chart: template.HTML(c.svg(fmt.Sprintf("%s-%d", id, i+1), "shards"))}
		for _, chi := range s.Shards.Chi {
			if chi.Shards != len(s.Shards.Counts) {
				continue
			}
			if f.Text = "p " + chanceText(chi.P); chi.P < chance {
				f.Text, f.Uneven = "uneven, "+f.Text, true
			}
		}
		all = append(all, f)
	}
	return all
}
