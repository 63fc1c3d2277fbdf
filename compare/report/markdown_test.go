package report_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

var bar = regexp.MustCompile(`\\.|\|`)

// bars counts the bars that divide cells.
func bars(line string) int {
	n := 0
	for _, found := range bar.FindAllString(line, -1) {
		if found == "|" {
			n++
		}
	}
	return n
}

// TestMarkdownOfHostileTexts puts what means something in Markdown into every text of a document.
func TestMarkdownOfHostileTexts(t *testing.T) {
	const hostile = "a|b <script>*c*_d_ `e`\n| - | [f](g) \\ & ~~h~~"
	const escaped = `a\|b \<script\>\*c\*\_d\_ ` + "\\`e\\`" + ` \| - \| \[f\](g) \\ \& \~\~h\~\~`
	r := sample()
	r.Tool, r.Interrupted = hostile, hostile
	for i := range r.Databases {
		d := &r.Databases[i]
		d.Name, d.Version, d.Failed, d.Settings[0].Value = hostile, hostile, hostile, hostile
		for j := range d.Strategies {
			s := &d.Strategies[j]
			s.Name, s.About, s.Guess, s.Key.Column, s.Shards.Method = hostile, hostile, hostile, hostile, hostile
			s.Storage.Splits = result.Missing(hostile)
			if s.Skipped != "" {
				s.Skipped = hostile
			}
			for k := range s.Verify.Checks {
				s.Verify.Checks[k].Detail, s.Verify.Checks[k].Evidence = hostile, hostile
			}
		}
	}
	got := string(write(t, report.Markdown, r))
	if !strings.Contains(got, "| "+escaped+" |") {
		t.Errorf("no cell has %s", escaped)
	}
	if strings.Contains(got, "<script>") {
		t.Error("HTML came through")
	}
	wellFormed(t, got)
}

// wellFormed looks that tables have as many cells in each row.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	tables, want := 0, 0
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			want = 0
			continue
		}
		if want == 0 {
			tables, want = tables+1, bars(line)
		}
		if n := bars(line); n != want {
			t.Errorf("line %d: got %d bars, want %d: %s", i+1, n, want, line)
		}
	}
	if tables < 10 {
		t.Errorf("got %d tables, want 10 at least", tables)
	}
}

// TestMarkdownIsComplete looks that every group of measurements has its table, on each database.
func TestMarkdownIsComplete(t *testing.T) {
	r := sample()
	got := string(write(t, report.Markdown, r))
	wellFormed(t, got)
	for _, want := range []string{
		"### Which key?", "Why not another?", "### Strategies that fail", "### Strategies left out", "### Inserting through GORM", "rows/s in the fifth tenth",
		"### 99th percentile of an INSERT", "page splits", "leaf fill", "log B/row", "### Reading 1,000 rows", "### Making keys, as fast as", "4 goroutines",
		"### Making keys, the code alone", " 1,000 a call", " p99.9 |", "### The keys", "JavaScript-safe", "n = 1024", "### After kill -9",
		"### Checks", "[What the names mean](#what-the-names-mean)",
	} {
		n := strings.Count(got, want)
		if want == "### Strategies left out" { // none on MariaDB
			n++
		}
		if n < len(r.Databases) {
			t.Errorf("got %q %d times, want it for each of %d databases", want, n, len(r.Databases))
		}
	}
}

// TestReportsInTheOrderOfReading looks that the ranked rates come first, the fastest first, then the verdicts with their figures; that Markdown has the
// rest behind them and says once what the names mean, and that the terminal ends with the verdicts.
func TestReportsInTheOrderOfReading(t *testing.T) {
	r := sample()
	r.Databases = r.Databases[1:2]
	for name, c := range map[string]struct {
		got   string
		order []string
	}{
		"terminal": {string(write(t, report.Table, r)), []string{"== MariaDB", "rows/s", "  snowkey ", "█", "  autoincrement ", "  uuidv4-text ", "  replace ",
			"The names of the verdicts", "snowkey  ", "Which key on MariaDB", "Fast inserts", " rows/s, ", "No key twice"}},
		"markdown": {string(write(t, report.Markdown, r)), []string{"## MariaDB", "### Inserting through GORM", "B/row", "| snowkey ", "| autoincrement ", "| uuidv4-text ",
			"| replace ", "### Which key?", "| Fast inserts", " rows/s, ", "Why not another?", "### 99th percentile", "### What is stored", "## What the names mean",
			"a key tells", "its processes agree upon", "| snowkey "}},
	} {
		at := 0
		for _, want := range c.order {
			i := strings.Index(c.got[at:], want)
			if i < 0 {
				t.Fatalf("%s: got no %q behind byte %d of\n%.3000s", name, want, at, c.got)
			}
			at += i + len(want)
		}
	}
	if n := strings.Count(string(write(t, report.Markdown, sample())), "its processes agree upon"); n != 1 {
		t.Errorf("got what the names mean %d times, want it once", n)
	}
}
