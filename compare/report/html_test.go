package report_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

func html(t *testing.T, r result.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.HTML(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHTMLInBrowser opens pages as a reader would: nothing is asked for, nothing complains, nothing is cut off, all can be read.
func TestHTMLInBrowser(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	browser := startBrowser(t)
	for _, test := range []struct {
		name    string
		result  result.Document
		screens []screen
	}{
		{"committed", committed(t, shown), []screen{{320, "light", 0}, {800, "dark", 0}}},
		{"sample", sample(), []screen{phone, {1280, "dark", 0}}},
		{"many", many(), []screen{{360, "dark", 0}, {1280, "light", 0}}},
		{"hostile", hostile(), []screen{phone, {1280, "light", 0}}},
		{"empty", result.Document{}, []screen{phone}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opened := open(t, browser, html(t, test.result), phone)
			for _, at := range test.screens {
				t.Run(at.String(), func(t *testing.T) {
					opened.show(t, at)
					for _, p := range opened.problems(t, at) {
						t.Error(p)
					}
				})
			}
		})
	}
	t.Run("planted", func(t *testing.T) { testPlanted(t, browser) })
}

// TestCommittedPage opens the page that the repository shows, as on a screen and on a phone; docs/images has the pictures.
func TestCommittedPage(t *testing.T) {
	t.Parallel()
	opened := open(t, startBrowser(t), html(t, committed(t, shown)), phone)
	for _, at := range []screen{{1280, "light", 1750}, {390, "dark", 1800}} {
		t.Run("page-"+at.String(), func(t *testing.T) {
			opened.show(t, at)
			for _, p := range opened.problems(t, at) {
				t.Error(p)
			}
		})
	}
}

// testPlanted shows that what the browser is asked about a page finds what is wrong with one.
func testPlanted(t *testing.T, browser context.Context) {
	small := sample()
	small.Databases = small.Databases[:1]
	small.Databases[0].Strategies = small.Databases[0].Strategies[:2]
	page := html(t, small)
	const policy = "default-src 'none'; style-src 'unsafe-inline'"
	if !strings.Contains(page, policy) {
		t.Fatal("the page has another policy than the one that this test lifts")
	}
	free := strings.Replace(page, policy, "default-src * 'unsafe-inline'; style-src 'unsafe-inline'", 1)
	free = strings.Replace(free, "img-src data:;", "", 1)
	before := func(page, end, planted string) string { return strings.Replace(page, end, planted+end, 1) }
	const image, script = `<img src="http://127.0.0.1:9/x.png" alt="">`, `<script>console.error("planted")</script><script>throw new Error("planted")</script>`
	const texts = `<p style="width:1400px">wide</p><p style="font-size:10px">small</p><p style="color:#777;background:#999">faint</p><p id="how">twice</p>
		<table><tr><th>th</th></tr></table><h4>left out</h4><h2 hidden>hidden</h2>`
	for _, test := range []struct {
		name, page string
		want       []string // how problems begin
	}{
		{"requests and scripts", before(free, "</body>", image+script), []string{"request: http://127.0.0.1:9/x.png", "console: error", "exception: "}},
		{"what the policy stops", before(page, "</body>", image+`<script>1</script>`), []string{"log: Loading the image", "log: Executing inline script"}},
		{"elements", before(page, "</main>", texts), []string{
			"overflow: ", `text: p "small" is 10.0 px`, `contrast: p "faint" has 1.`, "ids: how ", `tables: no caption of table "th"`, `tables: no scope of th "th"`,
			`headings: a level is left out before h4 "left out"`, `headings: h2 "hidden" is not`,
		}},
		{"charts without size", before(page, "</style>", `figure.chart svg{width:0!important}`), []string{"charts: not one of figure"}},
		{"charts without colours, and large text", before(page, "</style>", `svg text{fill:var(--ground)!important}.chart text{scale:4 1}`), []string{"contrast: text", "labels: "}},
		{"an axis with few labels, and one without", regexp.MustCompile(`<text x="0%".*?</text>`).ReplaceAllString(regexp.MustCompile(`<text[^>]* text-anchor="end".*?</text>`).ReplaceAllString(page, ""), ""),
			[]string{"axes: 3 labels of caption", "axes: 0 labels of svg"}},
		{"a bar out of its rank, and one without words", regexp.MustCompile(`</svg></td><td>[^<]*`).ReplaceAllString(strings.Replace(page, `<rect y="5" width="`, `<rect y="5" width="1%" data-was="`, 1), "</svg></td><td>"),
			[]string{"ranks: tr ", "charts: a row of figure"}},
		{"a name that leads nowhere", strings.Replace(page, `id="key-1"`, "", 1), []string{"links: a "}},
		{"tables without a hint", before(page, "</style>", `.hint{display:none!important}`), []string{"tables: nothing says that div"}},
		{"no charts", before(page, "</style>", `svg{display:none!important}.none,.alert{display:none}`), []string{"charts: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := open(t, browser, test.page, phone).problems(t, phone)
			for _, want := range test.want {
				if !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, want) }) {
					t.Errorf("got %q, want one that begins with %q", got, want)
				}
			}
		})
	}
}

// many is a document with more than twenty strategies on one database.
func many() result.Document {
	r := sample()
	r.Databases = r.Databases[1:2]
	d := &r.Databases[0]
	for i, s := range d.Strategies[:10] {
		s.Name = [...]string{"blocks", "snowflake-sharding-jdbc", "snowflake-k8sip", "flickr-pair", "uuidv1", "snowflake-leaf", "mine", "objectid-2", "theirs", "sequence-cached"}[i]
		d.Strategies = append(d.Strategies, s)
	}
	return r
}

const attack = `</script></style></title></desc></svg><script>alert(1)</script><img src=x onerror=alert(1)>"'&` + "\x00\n" + "\u202e javascript:alert(1)"

// hostile is a document all of whose texts attack the page.
func hostile() result.Document {
	r := sample()
	r.Tool, r.Interrupted, r.Plan.Profile, r.Machine.CPU, r.Machine.OS, r.Machine.Go = attack, attack, attack, attack, attack, attack
	r.Databases = r.Databases[:2]
	for i := range r.Databases {
		d := &r.Databases[i]
		d.Name, d.Version, d.Failed, d.Kind = attack, attack, attack, attack
		d.Settings = []result.Setting{{Name: attack, Value: attack}}
		d.Cache = result.Missing(attack)
		for j := range d.Strategies {
			s := &d.Strategies[j]
			s.Name += attack
			s.About, s.Origin, s.Needs, s.Cost, s.Coordination, s.Decodes, s.Guess = attack, attack, attack, attack, attack, attack, attack
			s.Key.Column, s.Key.Sample, s.Shards.Method = attack, []string{attack}, attack
			s.Storage.Splits, s.Storage.Log.Note = result.Missing(attack), attack
			s.Verify.Checks = append(s.Verify.Checks, result.Check{Name: attack, State: result.NotRun, Detail: attack})
			if j == 3 {
				s.Verify.Checks = []result.Check{{Name: attack, State: result.Failed, Detail: attack, Evidence: attack}}
			}
			if j == 4 {
				s.Skipped = attack
			}
		}
	}
	return r
}

// TestHTMLHoldsTextsAsTexts looks at the page itself: no text of the document has become an element or an attribute.
func TestHTMLHoldsTextsAsTexts(t *testing.T) {
	t.Parallel()
	page := html(t, hostile())
	for _, bad := range []string{"<script", "<img", "onerror=alert(1)>\"", "</desc></svg>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the texts are not there at all")
	}
}

// TestHTMLKeepsWordsWhole looks that what stands in brackets in a text is not taken for an interval.
func TestHTMLKeepsWordsWhole(t *testing.T) {
	t.Parallel()
	r := sample()
	const text = "a standard (its first part) and more (its second)"
	r.Databases[0].Strategies[0].Origin, r.Databases[0].Strategies[0].Key.Column = text, text
	page := html(t, r)
	for _, want := range []string{"<td>" + text + "</td>", "<dd>" + text + "</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestHTMLIsTheSame for the same document, byte for byte.
func TestHTMLIsTheSame(t *testing.T) {
	t.Parallel()
	if first, second := html(t, sample()), html(t, sample()); first != second {
		t.Error("two pages of one document differ")
	}
}

// TestHTMLSays has what a reader needs in the page, in its order.
func TestHTMLSays(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Interrupted, r.Databases[2].Failed = "by Ctrl-C", "the server went away"
	page, at := html(t, r), 0
	for _, want := range []string{
		"Content-Security-Policy", "snowkey v0.9.0", "EPYC", "NOT COMPLETE: by Ctrl-C", "the server went away",
		"Rows a second, and bytes a row", `class="chart plots2"`, "not measured: its keys are wrong", "not measured: SQLite has no sequences", "Which key to take", "Fast inserts",
		"Not to be used", "was made by process 0 as its 1st and by process 3",
		"as the table grows", `class="panel"`, "What is stored", "Reading 1,000 rows", "Making keys", "How long one key takes", `class="chart plots1"`, "The keys",
		"Shards by key modulo n", "no hash mends a hot tenant", "After kill -9", "What the names mean", "How it was measured", "snowkey compare --from result.json",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind byte %d", want, at)
		}
		at += i
	}
}

// TestHTMLOfSparseDocuments takes whatever a run may leave behind.
func TestHTMLOfSparseDocuments(t *testing.T) {
	t.Parallel()
	one := result.Measured(1)
	tenths := []result.Tenth{{RowsPerSecond: one, P99: result.Missing("no")}, {}}
	for name, s := range map[string]result.Strategy{
		"nothing":         {},
		"a name":          {Name: "x"},
		"skipped":         {Name: "x", Skipped: "it needs what is not there"},
		"failed":          {Name: "x", Verify: result.Verify{Checks: []result.Check{{State: result.Failed}}}},
		"missing":         {Name: "x", Storage: result.Storage{Table: result.Missing("no dbstat")}, Growth: result.Growth{Why: "the disk is full"}},
		"one sample":      {Name: "x", Growth: result.Growth{Rows: 10, Tenths: tenths, Batches: [][]int64{{1}}}, Storage: result.Storage{Table: one, Index: one}},
		"no rows":         {Name: "x", Growth: result.Growth{Tenths: tenths}},
		"zeros":           {Name: "x", Growth: result.Growth{Rows: 10, Tenths: []result.Tenth{{RowsPerSecond: result.Measured(0, 0)}}, Batches: [][]int64{{0}, nil}}, Storage: result.Storage{Table: result.Measured(0), Index: result.Measured(0)}, Latency: result.Latency{Samples: []int64{0}}, Shards: result.Shards{Counts: make([]int64, 16), Chi: []result.Chi{{}}}},
		"negative":        {Name: "x", Growth: result.Growth{Rows: -10, Tenths: []result.Tenth{{RowsPerSecond: result.Measured(-1)}}}, Storage: result.Storage{Table: result.Measured(-5), Index: result.Measured(3)}, Latency: result.Latency{Samples: []int64{-5}}, Shards: result.Shards{Counts: []int64{-1, 5}}},
		"very large":      {Name: "x", Growth: result.Growth{Rows: 1 << 62, Tenths: []result.Tenth{{RowsPerSecond: result.Measured(1e300, 1e-300)}}}, Storage: result.Storage{Table: result.Measured(1e300), Index: result.Measured(1e300)}, Latency: result.Latency{Samples: []int64{1 << 62}}, Shards: result.Shards{Counts: []int64{1 << 62, 1 << 62, 1 << 62}}},
		"only latency":    {Name: "x", Latency: result.Latency{Samples: []int64{1}}},
		"only generation": {Name: "x", Generation: result.Generation{Capped: []result.Speed{{}, {Goroutines: 4, Keys: 100}}}},
		"only indexes":    {Name: "x", Storage: result.Storage{Index: one}},
		"a long name":     {Name: strings.Repeat("very-", 100), Growth: result.Growth{Rows: 10, Tenths: tenths}, Storage: result.Storage{Table: one}},
	} {
		t.Run(name, func(t *testing.T) {
			page := html(t, result.Document{Databases: []result.Database{{}, {Name: "y", Strategies: []result.Strategy{s, s}}}})
			for _, bad := range []string{"NaN", "Inf", "<nil>", "%!"} {
				if i := strings.Index(page, bad); i >= 0 {
					t.Errorf("the page has %q: %s", bad, page[max(0, i-300):i+10])
				}
			}
		})
	}
	if page := html(t, result.Document{}); !strings.Contains(page, "No database was measured") {
		t.Error("the page of an empty document does not say so")
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestHTMLReturnsErrors(t *testing.T) {
	t.Parallel()
	if err := report.HTML(full{}, sample()); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	if err := report.Chart(full{}, sample().Databases[0]); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

// TestCurvesOfWhatWasGivenUp looks that a table which did not grow to its end has its tenths where the others have theirs, and that the charts say so.
func TestCurvesOfWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Databases = r.Databases[1:2]
	d := &r.Databases[0]
	short := d.Strategies[0]
	short.Name = "short"
	short.Growth.Tenths, short.Growth.Rows = slices.Clone(short.Growth.Tenths), 53_000
	for i := range short.Growth.Tenths[5:] {
		short.Growth.Tenths[5+i].RowsPerSecond = result.Missing("slow")
	}
	d.Strategies = []result.Strategy{short, d.Strategies[0]}
	page := html(t, r)
	var lines []string
	for _, path := range regexp.MustCompile(`class="curve" d="(M[^"]*)"`).FindAllStringSubmatch(page, -1) {
		lines = append(lines, path[1])
	}
	if len(lines) != 2 || lines[0] == lines[1] || !strings.HasPrefix(lines[0], lines[1]) {
		t.Errorf("got the lines %q, want two, the second the beginning of the first", lines)
	}
	const note = ">short</a> <small>at 53k rows</small>"
	if n := strings.Count(page, "</small></th><td class=\"plot\">"); n != 1 || !strings.Contains(page, note) {
		t.Errorf("got %d bars of a smaller table, want 1, with %q", n, note)
	}
}

// TestChartsSayWhatIsMissing looks that a bar that is not there has its reason below the chart, and that nothing has a bar for it.
func TestChartsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Databases = r.Databases[1:2]
	s := &r.Databases[0].Strategies[0]
	s.Storage.Table = result.Missing("no right to look")
	page := html(t, r)
	chart, _, _ := strings.Cut(page[strings.Index(page, `<figure class="chart plots2">`):], "</figure>")
	if want := `<p class="notes">– bytes a row of ` + s.Name + ": no right to look</p>"; !strings.Contains(chart, want) {
		t.Errorf("the chart has no %s", want)
	}
	if n := strings.Count(chart, "<td>–</td>"); n != 1 {
		t.Errorf("got %d figures that are missing, want 1", n)
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	d := sample().Databases[1]
	var out bytes.Buffer
	if err := report.Chart(&out, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg xmlns=", "<title>", "uuidv4-text", "#ffffff", "not measured: its keys are wrong"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the chart has no %q", want)
		}
	}
	if strings.Contains(out.String(), "var(--") {
		t.Error("the chart goes by a style sheet that it has not")
	}
	if err := xml.Unmarshal(out.Bytes(), new(struct{})); err != nil {
		t.Errorf("the chart is no XML: %v", err)
	}
	if err := report.Chart(&bytes.Buffer{}, result.Database{Name: "here"}); !errors.Is(err, report.ErrNotMeasured) || !strings.Contains(err.Error(), "nothing was measured on here") {
		t.Errorf("got %v, want an error that names the database", err)
	}
}

// shown is the folder of the run that the documents show.
const shown = "../results/2026-11-21"

// committed reads the run of a folder.
func committed(t *testing.T, folder string) result.Document {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := result.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCommittedResults looks that the runs of the repository are what the reports of today make of them.
func TestCommittedResults(t *testing.T) {
	t.Parallel()
	runs, err := filepath.Glob("../results/2*")
	if err != nil || len(runs) == 0 {
		t.Fatalf("got the runs %q, %v", runs, err)
	}
	for _, results := range runs {
		t.Run(filepath.Base(results), func(t *testing.T) { isRendered(t, results) })
	}
}

func isRendered(t *testing.T, results string) {
	r := committed(t, results)
	files := map[string][]byte{"report.html": []byte(html(t, r)), "result.json": write(t, result.Write, report.Decide(r)),
		"report.md": write(t, report.Markdown, r), "bench.txt": write(t, report.Bench, r)}
	for i, d := range r.Databases {
		var chart bytes.Buffer
		if err := report.Chart(&chart, d); err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprintf("inserts-%d-%s.svg", i+1, d.Kind)] = chart.Bytes()
	}
	for name, got := range files {
		if want, err := os.ReadFile(filepath.Join(results, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what snowkey compare --from result.json --out makes (%v)", results, name, err)
		}
	}
}
