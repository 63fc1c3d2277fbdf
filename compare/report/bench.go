package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// Bench writes the samples of the result in Go's benchmark format, which benchstat reads: a line a round, after lines of configuration for the
// machine, the run and each database. The names have the strategy and what else tells samples apart as key=value; iterations are always 1, as
// a sample is a round's figure. What has no samples has no line. Of single INSERTs and single keys, of which there are too many, it has rates
// and percentiles; the document has them all. Its errors are those of w.
//
// Benchstat sets files beside each other whose configuration is the same. So what differs between two runs of one plan, the time and where the
// database is, stands in comments, and db is the kind of the database, with a number from the second of a kind on. Runs of other versions or
// settings need its -ignore, as in -ignore dbversion,dbsettings.
//
// The format is that of https://go.dev/design/14313-benchmark-format.
func Bench(w io.Writer, r result.Document) error {
	b := &bench{}
	b.comment(runText(r))
	if r.Interrupted != "" {
		b.config("interrupted", r.Interrupted)
	}
	b.config("goos", r.Machine.OS)
	b.config("goarch", r.Machine.Arch)
	b.config("cpu", r.Machine.CPU)
	b.config("cpus", strconv.Itoa(r.Machine.CPUs))
	b.config("go", r.Machine.Go)
	b.config("profile", r.Plan.Profile)
	b.config("rows", strconv.Itoa(r.Plan.Rows))
	b.config("batch", strconv.Itoa(r.Plan.Batch))
	b.config("seed", strconv.FormatUint(r.Plan.Seed, 10))
	for _, unit := range []string{"rows/s", "fill"} {
		fmt.Fprintf(&b.out, "Unit %s better=higher\n", unit)
	}
	seen := map[string]int{}
	for _, d := range r.Databases {
		name := d.Kind
		if seen[d.Kind]++; seen[d.Kind] > 1 {
			name = fmt.Sprintf("%s-%d", d.Kind, seen[d.Kind])
		}
		b.database(name, d)
	}
	_, err := io.WriteString(w, b.out.String())
	return err
}

// bench collects lines.
type bench struct {
	out      strings.Builder
	strategy string // that the lines are of
}

// comment writes a line that benchstat leaves alone.
func (b *bench) comment(text string) { b.out.WriteString("# " + line(text) + "\n") }

// config writes a line of configuration. An empty value takes back that of a database before.
func (b *bench) config(key, value string) {
	b.out.WriteString(strings.TrimSuffix(key+": "+line(value), " ") + "\n")
}

// series is a figure in a line, with its unit.
type series struct {
	figure result.Figure
	unit   string
}

// rounds writes a line a round with the samples that all the figures have of it. The parts of the name, as "/tenth=10", come behind the strategy.
func (b *bench) rounds(name, parts string, all ...series) {
	most := 0
	for _, s := range all {
		most = max(most, len(s.figure.Samples))
	}
	for i := range most {
		values := ""
		for _, s := range all {
			// JSON has neither NaN nor infinities, so no document has.
			if i < len(s.figure.Samples) && !math.IsNaN(s.figure.Samples[i]) && !math.IsInf(s.figure.Samples[i], 0) {
				values += " " + strconv.FormatFloat(s.figure.Samples[i], 'f', -1, 64) + " " + s.unit
			}
		}
		if values != "" {
			fmt.Fprintf(&b.out, "Benchmark%s/strategy=%s%s 1%s\n", name, b.strategy, parts, values)
		}
	}
}

// database writes the samples of a database.
func (b *bench) database(name string, d result.Database) {
	b.comment(d.Name)
	b.config("db", name)
	b.config("dbversion", d.Version)
	b.config("dbsettings", settings(d))
	b.config("dbfailed", d.Failed)
	if d.Cache.OK() {
		for _, v := range d.Cache.Samples {
			fmt.Fprintf(&b.out, "BenchmarkCache 1 %s B\n", strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	for _, s := range d.Strategies {
		b.strategy = part(s.Name)
		b.making(s)
		b.inserting(s)
		b.writing(s)
		b.storing(s)
	}
}

// part is a text as it can stand in a name: without space and slashes. A number behind a dash at its end does no harm, as other parts follow: it
// is only at the end of the name that benchstat takes one for GOMAXPROCS.
func part(text string) string {
	return strings.NewReplacer("/", "_", " ", "_").Replace(line(text))
}

// making writes the samples of making keys.
func (b *bench) making(s result.Strategy) {
	b.rounds("Gap", "/between=keys", series{s.Key.Gap, "bits"})
	g := s.Generation
	for _, pair := range pairsOf(g.Capped, g.Uncapped, g.Batch) { // whose units differ, so that benchstat never has them in one table
		b.rounds("Generate", fmt.Sprintf("/goroutines=%d/keys=%d", pair[0], pair[1]), series{speed(g.Capped, pair[0], pair[1]), "capped-ns/key"},
			series{speed(g.Uncapped, pair[0], pair[1]), "uncapped-ns/key"}, series{speed(g.Batch, pair[0], pair[1]), "batch-ns/key"})
	}
	b.rounds("Floor", "/of=clock", series{g.Floor, "ns/read"})
	if s.Latency.OK() {
		all := make([]series, len(percentiles))
		for i, ns := range s.Latency.Percentiles(percentiles...) {
			all[i] = series{result.Measured(ns), fmt.Sprintf("p%v-ns", percentiles[i])}
		}
		b.rounds("Latency", fmt.Sprintf("/rate=%s/goroutines=%d", strconv.FormatFloat(s.Latency.Rate, 'f', -1, 64), s.Latency.Goroutines), all...)
	}
	for _, c := range s.Shards.Chi {
		b.rounds("Shards", fmt.Sprintf("/shards=%d", c.Shards), series{result.Measured(c.Value), "chi²"}, series{result.Measured(c.P), "p"})
	}
	for i, n := range s.Shards.Counts {
		b.rounds("Shard", fmt.Sprintf("/of=%d/shard=%d", len(s.Shards.Counts), i), series{result.Measured(float64(n)), "keys"})
	}
	for i, n := range s.Shards.Uniform {
		b.rounds("Uniform", fmt.Sprintf("/of=%d/shard=%d", len(s.Shards.Uniform), i), series{result.Measured(float64(n)), "tenants"})
	}
	for _, hot := range s.Shards.Hot {
		b.rounds("Bucket", fmt.Sprintf("/bucket=%d", hot.Bucket), series{result.Measured(hot.Share), "of-keys"}, series{result.Measured(float64(hot.Tenants)), "tenants"})
	}
	b.rounds("Crash", "/after=kill", series{s.Crash.Twice, "twice"}, series{s.Crash.Lost, "lost"}, series{s.Crash.Outage, "outage-ms"}, series{s.Crash.Down, "down-ms"})
}

// inserting writes the samples of a growing table.
func (b *bench) inserting(s result.Strategy) {
	for i, t := range s.Growth.Tenths {
		b.rounds("Insert", fmt.Sprintf("/tenth=%d", i+1), series{t.RowsPerSecond, "rows/s"}, series{t.P99, "p99-µs"})
	}
}

// writing writes the samples of several connections that insert at once.
func (b *bench) writing(s result.Strategy) {
	for _, w := range s.Writers {
		b.rounds("Writers", fmt.Sprintf("/connections=%d/rows=%d", w.Connections, w.Batch), series{w.RowsPerSecond, "rows/s"}, series{w.Last, "last-rows/s"},
			series{w.Table, "table-B/row"}, series{w.Index, "index-B/row"})
	}
}

// storing writes the samples of what is stored, written and read.
func (b *bench) storing(s result.Strategy) {
	b.rounds("Storage", "/of=rows", series{s.Storage.Table, "table-B/row"}, series{s.Storage.Index, "index-B/row"}, series{s.Storage.Log, "log-B/row"},
		series{s.Storage.Pages, "written-B/row"}, series{s.Storage.Splits, "splits"}, series{s.Storage.Fill, "fill"}, series{s.Storage.CacheUsed, "of-cache"})
	b.rounds("Read", "/of=rows", series{s.Read.Ordered, "ordered-µs/1000rows"}, series{s.Read.Buffers, "pages/1000rows"}, series{s.Read.Recent, "recent-µs/1000rows"})
}
