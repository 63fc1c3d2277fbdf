package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// sections are the tables of a database's measurements, that of the rates first.
func sections(v view, plan int) []section {
	insert := section{title: "Inserting through GORM as the table grows", draw: growthFigure, columns: append(rateColumns(v, plan),
		figures("B/row", func(s result.Strategy) result.Figure { return bytesPerRow(s.Storage.Table, s.Storage.Index) }, result.Short))}
	insert.columns = append(insert.columns, tenthColumns("rows/s in the %s tenth", func(t result.Tenth) result.Figure { return t.RowsPerSecond }, result.Short)...)
	if v.reference != nil {
		insert.intro = fmt.Sprintf("× is the rate over that of %s in the same rounds, \"same\" where the rounds show no difference; last/first is the rate in the "+
			"last tenth of the rows over that in the first.", line(v.reference.Name))
	}
	all := append([]section{insert}, writers(v)...)
	all = append(all, []section{
		{title: "99th percentile of an INSERT as the table grows",
			columns: tenthColumns("%s tenth", func(t result.Tenth) result.Figure { return t.P99 }, micros)},
		storage, reads,
	}...)
	all = append(all, generations(v)...)
	return append(all, latency, keys, shards(v), crash)
}

// writers is the table of rows that several connections inserted at once, none where that was not measured.
func writers(v view) []section {
	s := section{title: "Inserting over several connections at once", intro: "16 by 20 are 16 connections with 20 rows an INSERT. Rows of several connections arrive a little out of the order of their keys. A table that " +
		"is kept in that order, as InnoDB's are, then splits pages in the middle and leaves them half empty: the bytes a row at several connections, beside those at one, " +
		"are what that costs a strategy. A fleet's connections have a generator each, as those of so many processes."}
	ways := v.ways()
	for _, way := range ways {
		get := func(s result.Strategy) result.Writers { return waysOf(s, way) }
		head := fmt.Sprintf("%d by %d", way[0], way[1])
		s.columns = append(s.columns,
			figures(head+": rows/s", func(s result.Strategy) result.Figure { return get(s).RowsPerSecond }, result.Short),
			figures("last tenth", func(s result.Strategy) result.Figure { return get(s).Last }, result.Short),
			figures("B/row", func(s result.Strategy) result.Figure { return bytesPerRow(get(s).Table, get(s).Index) }, result.Short))
	}
	if len(ways) == 0 {
		return nil
	}
	return []section{s}
}

// ways are the connections and rows an INSERT that were measured of any strategy.
func (v view) ways() (all [][2]int) {
	for _, s := range v.measured {
		for _, w := range s.Writers {
			if way := [2]int{w.Connections, w.Batch}; !slices.Contains(all, way) {
				all = append(all, way)
			}
		}
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return all
}

// crowded is the way with the most connections, and of these the one with the fewest rows an INSERT.
func (v view) crowded() (way [2]int) {
	for _, w := range v.ways() {
		if w[0] > way[0] {
			way = w
		}
	}
	return way
}

// waysOf returns what was measured of a strategy with connections and rows an INSERT.
func waysOf(s result.Strategy, way [2]int) result.Writers {
	for _, w := range s.Writers {
		if way == [2]int{w.Connections, w.Batch} {
			return w
		}
	}
	none := result.Missing("no rows over several connections")
	return result.Writers{RowsPerSecond: none, Last: none, Table: none, Index: none}
}

// tenthColumns are the first, the fifth and the last tenth.
func tenthColumns(head string, get func(result.Tenth) result.Figure, format func(float64) string) []column {
	var all []column
	for _, which := range []struct {
		name string
		at   int // of ten
	}{{"first", 0}, {"fifth", 4}, {"last", 9}} {
		all = append(all, figures(fmt.Sprintf(head, which.name), func(s result.Strategy) result.Figure { return get(tenth(s.Growth, which.at)) }, format))
	}
	return all
}

var storage = section{
	title: "What is stored and written",
	intro: "Bytes a row, of the table with all its rows. Fill is that of the leaf pages of the primary key. Above 1, the cache is too small for the table.",
	columns: []column{
		figures("table B/row", func(s result.Strategy) result.Figure { return s.Storage.Table }, result.Short),
		figures("index B/row", func(s result.Strategy) result.Figure { return s.Storage.Index }, result.Short),
		figures("page splits", func(s result.Strategy) result.Figure { return s.Storage.Splits }, result.Short),
		figures("leaf fill", func(s result.Strategy) result.Figure { return uncounted(s.Storage.Fill) }, percent),
		figures("log B/row", func(s result.Strategy) result.Figure { return s.Storage.Log }, result.Short),
		figures("pages written B/row", func(s result.Strategy) result.Figure { return s.Storage.Pages }, result.Short),
		figures("size/cache", func(s result.Strategy) result.Figure { return s.Storage.CacheUsed }, ratio),
	},
}

// uncounted is a figure with N for the numbers in its note, which differ from strategy to strategy and would make a note of each.
func uncounted(f result.Figure) result.Figure {
	f.Note = counted.ReplaceAllString(f.Note, "N")
	return f
}

var counted = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

var reads = section{
	title: "Reading 1,000 rows",
	columns: []column{
		figures("all in the order of the keys", func(s result.Strategy) result.Figure { return s.Read.Ordered }, micros),
		figures("the last ones, one by one", func(s result.Strategy) result.Figure { return s.Read.Recent }, micros),
		figures("pages asked of the cache, in order", func(s result.Strategy) result.Figure { return s.Read.Buffers }, result.Short),
	},
}

// generations are the speeds of making keys; capped and uncapped ones never stand in one table.
func generations(v view) []section {
	all := []section{
		{title: "Making keys, as fast as the layout allows",
			intro: "Nanoseconds a key of one process. What its layout allows counts: never compare these with the next table's."},
		{title: "Making keys, the code alone",
			intro: "Nanoseconds a key with a clock that runs ahead, so that no layout limits it. The floor is one reading of the clock."},
		{title: "Making many keys in one call", intro: "Nanoseconds a key, in one goroutine unless more are named."},
	}
	for i, get := range []func(result.Generation) []result.Speed{
		func(g result.Generation) []result.Speed { return g.Capped },
		func(g result.Generation) []result.Speed { return g.Uncapped },
		func(g result.Generation) []result.Speed { return g.Batch },
	} {
		all[i].columns = speedColumns(v, get)
	}
	all[0].columns = append(all[0].columns, column{"keys/s at most", func(s result.Strategy) (string, string) {
		if s.Generation.Limit > 0 {
			return result.Short(s.Generation.Limit), ""
		}
		return "no limit", ""
	}})
	all[1].columns = append(all[1].columns, figures("floor", func(s result.Strategy) result.Figure { return s.Generation.Floor }, result.Short))
	return slices.DeleteFunc(all, func(s section) bool { return len(s.columns) == 0 })
}

// speedColumns are a column for each number of goroutines and keys a call that a strategy has, the least first.
func speedColumns(v view, get func(result.Generation) []result.Speed) []column {
	var speeds []result.Speed
	for _, s := range v.measured {
		speeds = append(speeds, get(s.Generation)...)
	}
	var all []column
	for _, pair := range pairsOf(speeds) {
		head := fmt.Sprintf("%d goroutines", pair[0])
		switch {
		case pair[0] == 1 && pair[1] > 1:
			head = count(pair[1]) + " a call"
		case pair[0] == 1:
			head = "1 goroutine"
		case pair[1] > 1:
			head += " with " + count(pair[1]) + " a call"
		}
		all = append(all, figures(head, func(s result.Strategy) result.Figure { return speed(get(s.Generation), pair[0], pair[1]) }, result.Short))
	}
	return all
}

var latency = section{
	title: "How long one key takes at a fixed rate", draw: latencyFigure,
	intro: "Counted from when the call should have begun, so that a stall counts for all calls that it held up.",
	columns: []column{
		latencyColumn("asked for", func(l result.Latency) string { return fmt.Sprintf("%s/s by %d", result.Short(l.Rate), l.Goroutines) }),
		latencyColumn("got", func(l result.Latency) string { return result.Short(l.Achieved) + "/s" }),
		percentileColumn("p50", 50), percentileColumn("p90", 90), percentileColumn("p99", 99), percentileColumn("p99.9", 99.9), percentileColumn("max", 100),
	},
}

var keys = section{
	title: "The keys", texts: true,
	intro: "JavaScript-safe keys are exact there: numbers below 2^53, and all keys that are no numbers. Gap is how many bits a key is from the next one.",
	columns: []column{
		words("column", func(s result.Strategy) string { return s.Key.Column }),
		{"bytes", func(s result.Strategy) (string, string) { return positive(s.Key.Bytes) }},
		{"characters", func(s result.Strategy) (string, string) { return positive(s.Key.Text) }},
		{"number", func(s result.Strategy) (string, string) { return answered(s, s.Key.Numeric) }},
		{"JavaScript-safe", func(s result.Strategy) (string, string) { return answered(s, s.Key.JSSafe) }},
		figures("gap", func(s result.Strategy) result.Figure { return s.Key.Gap }, result.Short),
		words("some that followed each other", func(s result.Strategy) string { return strings.Join(s.Key.Sample, ", ") }),
	},
}

// positive is a number that is 0 where it was not looked at.
func positive(n int) (string, string) {
	if n <= 0 {
		return none, "not measured"
	}
	return count(n), ""
}

// answered is a property of the keys, where they were looked at.
func answered(s result.Strategy, property bool) (string, string) {
	if s.Key.Bytes <= 0 && s.Key.Text <= 0 {
		return none, "not measured"
	}
	return yes(property), ""
}

// shards has a column for each number of shards.
func shards(v view) section {
	s := section{
		title: "Shards by key modulo n", draw: shardFigure,
		intro: "χ² against equal counts, and the chance p of that or more if they were equal: below 0.0001 they are not. " +
			"Even keys have a χ² of about n − 1; keys that take turns have less. Keys that carry a bucket count by that modulo n.",
	}
	var numbers []int
	for _, st := range v.measured {
		for _, c := range st.Shards.Chi {
			if !slices.Contains(numbers, c.Shards) {
				numbers = append(numbers, c.Shards)
			}
		}
	}
	slices.Sort(numbers)
	missing := func(st result.Strategy) string { return because(result.Missing(st.Shards.Why)) }
	s.columns = append(s.columns, column{"keys", func(st result.Strategy) (string, string) {
		if st.Shards.Keys <= 0 {
			return none, missing(st)
		}
		return count(st.Shards.Keys), st.Shards.Method
	}})
	for _, n := range numbers {
		s.columns = append(s.columns, column{fmt.Sprintf("n = %d", n), func(st result.Strategy) (string, string) {
			i := slices.IndexFunc(st.Shards.Chi, func(c result.Chi) bool { return c.Shards == n })
			if i < 0 {
				return none, missing(st)
			}
			return fmt.Sprintf("%s (p %s)", result.Short(st.Shards.Chi[i].Value), chanceText(st.Shards.Chi[i].P)), ""
		}})
	}
	s.columns = append(s.columns, column{"counts of 16", func(st result.Strategy) (string, string) {
		if len(st.Shards.Counts) == 0 {
			return none, missing(st)
		}
		texts := make([]string, len(st.Shards.Counts))
		for i, n := range st.Shards.Counts {
			texts[i] = fmt.Sprint(n)
		}
		return strings.Join(texts, " "), tenantsText(st.Shards)
	}})
	return s
}

// tenantsText says what hot tenants do to the shards of keys that carry a bucket, "" of other keys.
func tenantsText(s result.Shards) string {
	if len(s.Hot) == 0 || len(s.Counts) == 0 {
		return ""
	}
	text := fmt.Sprintf("hottest of %d shards %s× the mean with %s", len(s.Counts), result.Short(overMean(s.Counts)), line(s.Tenants))
	if len(s.Uniform) > 0 {
		text += fmt.Sprintf(", and %s× if all had equally many", result.Short(overMean(s.Uniform)))
	}
	b := s.Hot[0]
	return text + fmt.Sprintf("; bucket %d has %s of the rows and %s of the tenants; no hash mends a hot tenant, as all its rows have one bucket",
		b.Bucket, percent(b.Share), count(b.Tenants))
}

// overMean is the greatest count over the mean.
func overMean(counts []int64) float64 {
	var sum float64
	for _, n := range counts {
		sum += float64(n)
	}
	if sum == 0 {
		return 0
	}
	return float64(slices.Max(counts)) * float64(len(counts)) / sum
}

var crash = section{
	title: "After kill -9 of the database",
	intro: "Of a private server, killed while keys were drawn. Figures of issued twice and lost are keys a kill.",
	columns: []column{
		figures("issued twice", func(s result.Strategy) result.Figure { return s.Crash.Twice }, result.Short),
		figures("lost", func(s result.Strategy) result.Figure { return s.Crash.Lost }, result.Short),
		figures("no keys for", func(s result.Strategy) result.Figure { return uncounted(s.Crash.Outage) }, millis),
		figures("database away for", func(s result.Strategy) result.Figure { return s.Crash.Down }, millis),
	},
}

// traits are what is known of strategies without measuring.
var traits = []column{
	words("what it is", func(s result.Strategy) string { return s.About }),
	words("who knows one key knows", func(s result.Strategy) string { return s.Guess }),
	words("a key tells", func(s result.Strategy) string { return s.Decodes }),
	words("its processes agree upon", func(s result.Strategy) string { return s.Coordination }),
	words("needs", func(s result.Strategy) string { return s.Needs }),
	words("costs", func(s result.Strategy) string { return s.Cost }),
	words("origin", func(s result.Strategy) string { return s.Origin }),
}
