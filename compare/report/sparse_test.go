package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

// TestSparseDocuments looks that documents with little in them make reports: no panic, no NaN, and no 0 for what is not there.
func TestSparseDocuments(t *testing.T) {
	one := func(change func(*result.Strategy)) result.Document {
		s := result.Strategy{Name: "own", Verify: result.Verify{Checks: []result.Check{{Name: "unique: processes", State: result.Passed, Keys: 1}}}}
		change(&s)
		return result.Document{Databases: []result.Database{{Name: "sqlite:x", Kind: "sqlite", Strategies: []result.Strategy{s, {}}}}}
	}
	for name, r := range map[string]result.Document{
		"nothing":            {},
		"an empty database":  {Databases: []result.Database{{}}},
		"an empty strategy":  {Databases: []result.Database{{Strategies: []result.Strategy{{}, {}}}}},
		"a skipped strategy": one(func(s *result.Strategy) { s.Skipped = "no reason" }),
		"no figures":         one(func(*result.Strategy) {}),
		"one tenth without samples": one(func(s *result.Strategy) {
			s.Growth = result.Growth{Rows: 1, Tenths: make([]result.Tenth, 1), Batches: [][]int64{{}}}
		}),
		"one sample": one(func(s *result.Strategy) {
			f := result.Measured(1)
			s.Growth = result.Growth{Rows: 1, Tenths: []result.Tenth{{RowsPerSecond: f, P99: f}}, Batches: [][]int64{{1}}}
			s.Storage = result.Storage{Table: f, Index: f}
			s.Key = result.Key{Gap: f, Text: 1, Bytes: 1}
			s.Generation = result.Generation{Capped: []result.Speed{{}}, Uncapped: []result.Speed{{Goroutines: 1, Time: f}}}
			s.Latency = result.Latency{Samples: []int64{1}}
			s.Shards = result.Shards{Chi: []result.Chi{{}}, Counts: []int64{0}}
			s.Crash.Twice = f
		}),
		"samples of 0": one(func(s *result.Strategy) {
			f := result.Measured(0, 0, 0, 0, 0)
			s.Growth = result.Growth{Rows: 1, Tenths: make([]result.Tenth, 10), Batches: [][]int64{{0}, {0}}}
			for i := range s.Growth.Tenths {
				s.Growth.Tenths[i] = result.Tenth{RowsPerSecond: f, P99: f}
			}
			s.Storage = result.Storage{Table: f, Index: f, Fill: f, CacheUsed: f}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for file, to := range writers {
				got := write(t, to, r)
				for _, bad := range []string{"NaN", "Inf", "%!", "took -"} {
					if bytes.Contains(got, []byte(bad)) {
						t.Errorf("%s: got %q in\n%s", file, bad, got)
					}
				}
			}
			for _, d := range r.Databases {
				for _, a := range decide(d) {
					if len(a.Take) == 0 && len(a.Because) == 0 {
						t.Errorf("%s: nothing is taken, without a reason", a.Want)
					}
				}
			}
		})
	}
}

// TestBrokenRunsSayItFirst looks at the beginning of reports on runs that ended early.
func TestBrokenRunsSayItFirst(t *testing.T) {
	r := sample()
	r.Interrupted = "a signal,\n\x1b interrupt"
	r.Databases[1].Failed = "the server is gone | for ever"
	for want, to := range map[string]func(io.Writer, result.Document) error{
		"NOT COMPLETE: a signal, interrupt. What was measured until then follows.\nFAILED: mysql://root@tcp(127.0.0.1:3307)/compare: the server is gone | for ever\n": report.Table,
		"# Keys compared\n\n**NOT COMPLETE:** a signal, interrupt. What was measured until then follows.\n\n" +
			"**FAILED:** mysql://root@tcp(127.0.0.1:3307)/compare: the server is gone \\| for ever\n": report.Markdown,
	} {
		if got := write(t, to, r); !bytes.HasPrefix(got, []byte(want)) {
			t.Errorf("got\n%.300s\nwant at first\n%s", got, want)
		}
	}
	if got := write(t, report.Bench, r); !bytes.Contains(got, []byte("\ninterrupted: a signal, interrupt\n")) {
		t.Errorf("the benchmark format does not say that the run was interrupted:\n%.300s", got)
	}
}

// TestTableOfATerminal looks at the width of lines, and that each reason is below its table once.
func TestTableOfATerminal(t *testing.T) {
	r := sample()
	got := string(write(t, report.Table, r))
	for i, line := range strings.Split(got, "\n") {
		if n := len([]rune(line)); n > 118 || n > 110 && !strings.Contains(line, "–") && !strings.Contains(line, "strategy") {
			t.Errorf("line %d has %d characters: %s", i+1, n, line)
		}
	}
	const why = "ns/key, uncapped, p99 of autoincrement: the database makes the key when a row is inserted"
	if n := strings.Count(got, why); n != len(r.Databases) {
		t.Errorf("got %q %d times, want once for each of %d databases", why, n, len(r.Databases))
	}
	figures, which := strings.Index(got, "strategy  "), strings.Index(got, "Which key on ")
	if figures < 0 || which < figures {
		t.Error("which key to take is told of before its figures")
	}
	for _, want := range []string{
		"FAILS  objectid-published, unique: processes", "key 69b52a1d1f2e3d0001000000", "skipped  sequence: SQLite has no sequences", "1.01 same",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
}

// TestFewerRowsAreSaid looks that a table which did not grow as planned has a note.
func TestFewerRowsAreSaid(t *testing.T) {
	r := sample()
	g := &r.Databases[1].Strategies[3].Growth // uuidv4
	g.Rows = 20_000
	g.Tenths[9].RowsPerSecond, g.Tenths[9].P99 = result.Missing("the budget was used up"), result.Figure{}
	got := strings.Join(strings.Fields(string(write(t, report.Table, r))), " ")
	for _, want := range []string{
		"rows/s of uuidv4: 20,000 of 100,000 rows were inserted a round: figures of rows are of a table of that size",
		"last/first of uuidv4: the budget was used up",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
}

// TestNotesNameTheFewer looks that a note on most strategies names those that it is not about.
func TestNotesNameTheFewer(t *testing.T) {
	r := sample()
	r.Plan.Rows *= 2
	for i := range r.Databases[1].Strategies {
		if s := &r.Databases[1].Strategies[i]; s.Name == "replace" {
			s.Growth.Rows = r.Plan.Rows
		}
	}
	got := strings.Join(strings.Fields(string(write(t, report.Table, r))), " ")
	for _, want := range []string{"rows/s of all: 100,000 of 200,000 rows", "rows/s of all but replace: 100,000 of 200,000 rows"} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
}

// TestNotesThatDifferInNumbersAreOne looks that how the leaf fill was counted is a note, and not one a strategy.
func TestNotesThatDifferInNumbersAreOne(t *testing.T) {
	r := sample()
	r.Databases = r.Databases[1:2]
	for i := range r.Databases[0].Strategies {
		r.Databases[0].Strategies[i].Storage.Fill.Note = fmt.Sprintf("from %d leaf pages", 300+i)
	}
	got := string(write(t, report.Markdown, r))
	if n := strings.Count(got, "leaf pages\n"); n != 1 || !strings.Contains(got, "- leaf fill of all: from N leaf pages\n") {
		t.Errorf("got %d notes, want one", n)
	}
}

// TestWhatNobodyMeasuredIsSaidOnce looks at a criterion that nothing was measured for: no strategy is named, and the reason is there once.
func TestWhatNobodyMeasuredIsSaidOnce(t *testing.T) {
	const why = "SQLite has no server to kill"
	r := sample()
	r.Databases = r.Databases[:1]
	got := string(write(t, report.Explained, r))
	if n := strings.Count(got, why); n != 1 || !strings.Contains(got, "killed: not measured\n       "+why+"\n") {
		t.Errorf("got %q %d times, want it once, alone below the criterion, in\n%s", why, n, got)
	}
}

// TestDatabasesOfOneVersionAreToldApart by their names.
func TestDatabasesOfOneVersionAreToldApart(t *testing.T) {
	r := sample()
	r.Databases = append(r.Databases[:1], r.Databases[0])
	r.Databases[1].Name = "sqlite:other.db"
	for want, to := range map[string]func(io.Writer, result.Document) error{
		"Which key on SQLite 3.50.4 (sqlite:other.db)?":     report.Table,
		"## SQLite 3.50.4 (sqlite:other.db)\n":              report.Markdown,
		`<h2 id="db2">SQLite 3.50.4 (sqlite:other.db)</h2>`: report.HTML,
	} {
		want = strings.Join(strings.Fields(want), " ")
		if got := string(write(t, to, r)); !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("got no %q", want)
		}
	}
}

// TestKeysIssuedTwiceAreSaidFirst looks that a strategy which gave keys twice is warned of, once a database, and where no criterion would name it.
func TestKeysIssuedTwiceAreSaidFirst(t *testing.T) {
	r := sample()
	if got := string(write(t, report.Table, r)); strings.Count(got, "   UNSAFE  sequence: up to 21,390 keys issued twice") != 1 {
		t.Errorf("got no line of what is unsafe in\n%s", got)
	}
	if got := string(write(t, report.HTML, r)); strings.Count(got, `<p class="alert">Unsafe on MariaDB 11.8.3: sequence: up to 21,390 keys issued twice`) != 1 {
		t.Error("the page does not warn")
	}
}

// TestThreeReasonsAreEnough looks that terminals and pages have at most three strategies against each line, and Markdown all of them.
func TestThreeReasonsAreEnough(t *testing.T) {
	r := sample()
	r.Databases = r.Databases[1:2]
	all := decide(r.Databases[0])[0].Not
	if len(all) < 5 {
		t.Fatalf("only %q, of which none is left out", all)
	}
	table, markdown, page := string(write(t, report.Explained, r)), string(write(t, report.Markdown, r)), string(write(t, report.HTML, r))
	why := table[strings.Index(table, "Which key on"):]
	if n := strings.Count(why[:strings.Index(why, "● Keys made")], "– not "); n != 3 {
		t.Errorf("got %d others in the first line of the terminal, want 3", n)
	}
	for _, not := range all {
		if !strings.Contains(markdown, "  - not "+not+"\n") {
			t.Errorf("Markdown has not %q", not)
		}
	}
	verdict, _, _ := strings.Cut(page[strings.Index(page, `class="verdict"`):], "</details>")
	if n := strings.Count(verdict, `<li class="not">`); n != 3 {
		t.Errorf("got %d others in the first line of the page, want 3", n)
	}
}

// TestNothingMeasuredGivesNoAdvice looks that a run without a measured strategy says so once, and not once a criterion.
func TestNothingMeasuredGivesNoAdvice(t *testing.T) {
	r := sample()
	r.Databases = r.Databases[:1]
	for i := range r.Databases[0].Strategies {
		r.Databases[0].Strategies[i].Skipped = "the disk is full"
	}
	for want, to := range map[string]func(io.Writer, result.Document) error{
		"No strategy was measured.":                       report.Table,
		"No strategy was measured.\n":                     report.Markdown,
		"Too little was measured here to recommend a key": report.HTML,
	} {
		got := string(write(t, to, r))
		if strings.Count(got, want) != 1 || strings.Contains(got, "no strategy was measured") {
			t.Errorf("got not %q once in\n%.3000s", want, got)
		}
	}
}
