package report_test

import (
	"bytes"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

// parse reads lines as benchstat does.
func parse(t *testing.T, text []byte) []*benchfmt.Result {
	t.Helper()
	var all []*benchfmt.Result
	reader := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(record)
		case *benchfmt.Result:
			all = append(all, record.Clone())
		}
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// floats returns all numbers of a document that are samples, as they are found in its JSON: the lists of numbers. It knows nothing of the
// document, so that a field that Bench forgets is found.
func floats(t *testing.T, r result.Document) []float64 {
	t.Helper()
	var text bytes.Buffer
	if err := result.Write(&text, r); err != nil {
		t.Fatal(err)
	}
	var all []float64
	for _, list := range lists.FindAllString(text.String(), -1) {
		for _, n := range number.FindAllString(list, -1) {
			all = append(all, parseFloat(t, n))
		}
	}
	for _, d := range r.Databases {
		for _, s := range d.Strategies {
			for _, c := range s.Shards.Chi { // fields of objects, not lists
				all = append(all, c.Value, c.P)
			}
			for _, b := range s.Shards.Hot {
				all = append(all, b.Share, float64(b.Tenants))
			}
		}
	}
	return all
}

var (
	lists  = regexp.MustCompile(`\[[-+0-9.eE,\s]+\]`)
	number = regexp.MustCompile(`[-+0-9.eE]+`)
)

// TestBenchHasEverySampleOnce but single INSERTs and single keys.
func TestBenchHasEverySampleOnce(t *testing.T) {
	r := sample()
	for _, d := range r.Databases {
		for i := range d.Strategies {
			d.Strategies[i].Growth.Batches, d.Strategies[i].Latency.Samples = nil, nil
		}
	}
	want := map[float64]int{}
	for _, v := range floats(t, r) {
		want[v]++
	}
	got := map[float64]int{}
	for _, record := range parse(t, write(t, report.Bench, r)) {
		if record.Iters != 1 {
			t.Fatalf("%s: got %d iterations, want 1", record.Name, record.Iters)
		}
		for _, v := range record.Values {
			if v.OrigUnit != "" {
				v.Value = v.OrigValue
			}
			got[v.Value]++
		}
	}
	if len(want) < 3000 {
		t.Fatalf("only %d values were looked for", len(want))
	}
	for v, n := range want {
		if got[v] != n {
			t.Errorf("got the sample %v %d times, want %d", v, got[v], n)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(got)) {
		if want[v] == 0 {
			t.Errorf("got %v, which is no sample", v)
		}
	}
}

// TestBenchOfManySamples looks that single INSERTs and keys are as many lines as there are tenths and rounds, and one.
func TestBenchOfManySamples(t *testing.T) {
	r := brief()
	of := r.Databases[0].Strategies[slices.IndexFunc(r.Databases[0].Strategies, func(s result.Strategy) bool { return s.Name == "uuidv4" })]
	inserts, latencies := 0, 0
	for _, record := range parse(t, write(t, report.Bench, r)) {
		if name := record.Name.String(); strings.HasPrefix(name, "Insert/strategy=uuidv4/tenth=") {
			inserts++
			_, rate := record.Value("rows/s")
			_, p99 := record.Value("p99-µs")
			if !rate || !p99 {
				t.Errorf("%s: got %v, want the rate and the p99", name, record.Values)
			}
		} else if strings.HasPrefix(name, "Latency/strategy=uuidv4/") {
			latencies++
			if got, ok := record.Value("p99-sec"); !ok || math.Abs(got-of.Latency.Percentile(99)/1e9) > 1e-15 {
				t.Errorf("%s: got a p99 of %v s, want %v ns", name, got, of.Latency.Percentile(99))
			}
		}
	}
	if inserts != 50 || latencies != 1 {
		t.Errorf("got %d lines of inserting and %d of latency, want 50 and 1", inserts, latencies)
	}
}

// TestBenchProjects looks that the parts of names are what benchstat takes them for, even of a strategy with a number at its end.
func TestBenchProjects(t *testing.T) {
	r := brief()
	r.Databases[0].Strategies[1].Name = "own/key of-16"
	text := write(t, report.Bench, r)
	if want := "\nBenchmarkInsert/strategy=uuidv4/tenth=10 1 "; !bytes.Contains(text, []byte(want)) {
		t.Errorf("got no line %q", want)
	}
	var parser benchproc.ProjectionParser
	project := func(text string) *benchproc.Projection {
		p, err := parser.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	strategy, tenth, processors := project("/strategy"), project("/tenth"), project("/gomaxprocs")
	db, version := project("db"), project("dbversion")
	strategies, tenths := map[string]bool{}, map[string]bool{}
	for _, record := range parse(t, text) {
		if strings.HasPrefix(string(record.Name), "Cache") {
			continue
		}
		strategies[strategy.Project(record).StringValues()] = true
		tenths[tenth.Project(record).StringValues()] = true
		if got := processors.Project(record).StringValues(); got != "" {
			t.Fatalf("%s: %q was taken for GOMAXPROCS", record.Name, got)
		}
		if got, want := db.Project(record).StringValues(), r.Databases[0].Kind; got != want {
			t.Fatalf("%s: got the database %q, want %q", record.Name, got, want)
		}
		if got, want := version.Project(record).StringValues(), r.Databases[0].Version; got != want {
			t.Fatalf("%s: got the version %q, want %q", record.Name, got, want)
		}
	}
	if !strategies["own_key_of-16"] || !strategies["sequence"] || strategies[""] || len(strategies) != 4 {
		t.Errorf("got the strategies %v", slices.Sorted(maps.Keys(strategies)))
	}
	if len(tenths) != 11 || !tenths["10"] { // ten, and none
		t.Errorf("got the tenths %v", slices.Sorted(maps.Keys(tenths)))
	}
}

// TestBenchConfigurationOfEachDatabase looks that nothing of a database is said of the next one.
func TestBenchConfigurationOfEachDatabase(t *testing.T) {
	r := brief()
	r.Databases = append(r.Databases, r.Databases[0])
	r.Databases[0].Failed = "a\nfull disk"
	r.Databases[1].Version = ""
	seen := map[string]string{}
	for _, record := range parse(t, write(t, report.Bench, r)) {
		seen[record.GetConfig("db")] = record.GetConfig("dbfailed") + "/" + record.GetConfig("dbversion")
	}
	want := map[string]string{"mysql": "a full disk/" + r.Databases[0].Version, "mysql-2": "/"}
	if !maps.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

// TestBenchOfTwoRuns looks that benchstat sets two runs of one plan beside each other: their lines have the same configuration.
func TestBenchOfTwoRuns(t *testing.T) {
	first, second := brief(), brief()
	second.Made, second.Seconds, second.Tool = second.Made.AddDate(0, 0, 1), second.Seconds+1, "snowkey v0.9.1"
	second.Databases[0].Name = "mysql://root@tcp(127.0.0.1:4407)/compare"
	var parser benchproc.ProjectionParser
	all, err := parser.Parse(".config", nil)
	if err != nil {
		t.Fatal(err)
	}
	configurations := map[benchproc.Key]bool{}
	for _, r := range []result.Document{first, second} {
		for _, record := range parse(t, write(t, report.Bench, r)) {
			configurations[all.Project(record)] = true
		}
	}
	if len(configurations) != 1 {
		t.Errorf("got %d configurations, want one: %v", len(configurations), slices.Collect(maps.Keys(configurations)))
	}
}

// TestBenchNumbersAreExact looks at numbers that other formats round.
func TestBenchNumbersAreExact(t *testing.T) {
	values := []float64{1e-7, 0.1 + 0.2, math.MaxInt64, 123456789.125, 0}
	s := result.Strategy{Name: "own", Storage: result.Storage{Table: result.Measured(append(values, math.NaN(), math.Inf(1))...)}}
	r := result.Document{Databases: []result.Database{{Strategies: []result.Strategy{s}}}}
	var got []float64
	for _, record := range parse(t, write(t, report.Bench, r)) {
		got = append(got, record.Values[0].Value)
	}
	if !slices.Equal(got, values) {
		t.Errorf("got %v, want %v", got, values)
	}
}

func parseFloat(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
