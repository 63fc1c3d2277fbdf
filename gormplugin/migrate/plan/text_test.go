package plan_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/migrate/inspect"
	"github.com/snowkey-go/snowkey/gormplugin/migrate/plan"
)

// every returns a plan with a step of each kind, and texts that could be taken for something else.
func every() *plan.Plan {
	instant := made.Add(time.Hour)
	return &plan.Plan{
		Schema: plan.Schema, Tool: "snowkey v1", Made: made, Mode: plan.Rekey, Database: inspect.Database{Kind: "postgres", Version: "PostgreSQL 15", Name: "shop", ID: "7"},
		Tables: []string{"t"}, Fingerprint: "f00", Layout: "time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z", Node: 1023, Grants: "snowkey_nodes", Space: "default",
		Keys: []plan.Key{
			{Table: "t", Column: "id", Created: "created_at", Zone: "Europe/Berlin", Unit: time.Second, Below: 1 << 42, Map: "map"},
			{Table: "u", Column: "id", Through: "t_id", Parent: "t", Shadow: "id_sf"}, {Table: "v", Column: "id", Instant: &instant},
		},
		References: []plan.Reference{{Reference: inspect.Reference{Table: "u", Column: "t_id", Path: "$.a", To: "t", ToColumn: "id", OwnerType: "kind", Owner: "T", Orphans: 1234}, Shadow: "s"}},
		Notes:      []string{"one\ntwo", "-- the plan as the program reads it; any change above or below makes it another plan"},
		Steps: []plan.Step{
			{Title: "reserve", Phase: "map", Do: plan.Action{Kind: plan.Reserve}, Kept: "for good"},
			{Title: "map", Phase: "map", Do: plan.Action{Kind: plan.Map, Table: "t"}},
			{Title: "count", Phase: "check", Do: plan.Action{Kind: plan.Count, SQL: []string{"SELECT 1"}, Each: []string{"ones"}}},
			{Title: "digest", Phase: "check", Do: plan.Action{Kind: plan.Digest, Table: "t"}},
			{Title: "rewrite", Phase: "rewrite", Lock: "rows", Algorithm: "batches", Rows: 1234567, Bytes: 1234567, Disk: -1,
				Do:   plan.Action{Kind: plan.Batch, SQL: []string{"UPDATE t SET c = '<&>\u2028'\n\n-- the plan as the program reads it; any change above or below makes it another plan\nWHERE id > :after AND id <= :upto"}, Cursor: "SELECT max(id) FROM t", Again: "SELECT 0"},
				Undo: &plan.Action{Kind: plan.Together, Session: []string{"SET a = 1"}, SQL: []string{"UPDATE t\nSET c = 1", "DELETE FROM t"}}},
			{Title: "index", Phase: "swap", Do: plan.Action{Kind: plan.Apart, SQL: []string{"CREATE INDEX"}, Applied: "SELECT 1", Repair: []string{"DROP INDEX"}}, Final: true, Kept: "it is gone"},
			{Title: "expect", Phase: "check", Do: plan.Action{Kind: plan.Expect, SQL: []string{"SELECT 1"}, Each: []string{"ones"}, Like: "count", Otherwise: "other"}},
			{Title: "steady", Phase: "check", Do: plan.Action{Kind: plan.Steady, SQL: []string{"SELECT 1"}, Window: time.Minute, Otherwise: "other"}},
			{Title: strings.Repeat("long ", 100), Phase: "flip", Do: plan.Action{Kind: plan.Hold, Text: "deploy"}},
		},
	}
}

func textOf(t testing.TB, p *plan.Plan) string {
	t.Helper()
	text, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestText(t *testing.T) {
	p := every()
	text := textOf(t, p)
	read, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if again := textOf(t, read); again != text {
		same(t, "what was read", again, text)
	}
	hash, err := p.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := read.Hash(); err != nil || other != hash || len(hash) != 64 {
		t.Errorf("got the hash %s of what was read (%v), want %s", other, err, hash)
	}
	read.Steps[0].Do.Window = 1
	if other, err := read.Hash(); err != nil || other == hash {
		t.Errorf("got the same hash for another plan (%v)", err)
	}
	for _, want := range []string{
		"-- step 5 of 9 · rewrite · rewrite\n-- lock: rows\n-- algorithm: batches\n-- about: 1,234,567 rows, 1.2 MB written, unknown more on disk at the peak\n",
		"-- undo:\n--     on a connection of its own, after:\n--     SET a = 1;\n--     in one transaction:\n--     UPDATE t\n--     SET c = 1;\n--     DELETE FROM t;\n",
		"again and again, for one range of :after < id <= :upto after another", "-- undo: none: for good\n", "-- undo: none, and no rollback of the plan once this is done. it is gone\n",
		"-- note 1: one\n--     two\n", "WHERE id > :after AND id <= :upto;\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "-- | ") && (len([]rune(line)) > 200 || strings.HasSuffix(line, " ")) {
			t.Errorf("line %d has %d letters, or a space at its end: %q", i+1, len([]rune(line)), line)
		}
	}
}

// TestParseChanged changes letters all over a plan in turn: none may go unnoticed.
func TestParseChanged(t *testing.T) {
	p := every()
	p.Steps = p.Steps[4:5]
	text := textOf(t, p)
	for i := 0; i < len(text); i += 17 {
		for _, changed := range []string{text[:i] + "#" + text[i+1:], text[:i] + text[i+1:], text[:i] + " " + text[i:]} {
			if changed == text {
				continue
			}
			if _, err := plan.Parse([]byte(changed)); !errors.Is(err, plan.ErrChanged) && !errors.Is(err, plan.ErrText) {
				t.Fatalf("a change at %d (%q) is not noticed: %v", i, text[max(0, i-20):i+1], err)
			}
		}
		if _, err := plan.Parse([]byte(text[:i])); !errors.Is(err, plan.ErrText) {
			t.Fatalf("got %v for the first %d bytes, want ErrText", err, i)
		}
	}
}

func TestParseErrors(t *testing.T) {
	text := textOf(t, every())
	at := strings.LastIndex(text, "\n-- the plan as the program reads it;") + 1
	other := every()
	other.Tables[0] = "u"
	hidden := textOf(t, other)
	hidden = text[:at] + hidden[strings.LastIndex(hidden, "\n-- the plan as the program reads it;")+1:]
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"empty":         {"", plan.ErrText, "is empty"},
		"blank":         {" \n\n", plan.ErrText, "is empty"},
		"other":         {"SELECT 1;\n", plan.ErrText, "it is another file"},
		"cut off":       {text[:len(text)/4], plan.ErrText, "was cut off"},
		"cut off below": {text[:at+strings.Index(text[at:], "\n")+1], plan.ErrText, "cut off below"},
		"last line cut": {text[:len(text)-1], plan.ErrText, "has no end"},
		"lines lost":    {text[:strings.LastIndex(text, "\n-- | ")+1], plan.ErrText, "not whole"},
		"Windows":       {strings.ReplaceAll(text, "\n", "\r\n"), plan.ErrText, "CR LF"},
		"other form":    {strings.Replace(text, `{"schema":1,`, `{"schema":9,`, 1), plan.ErrText, "it has the form 9, this program reads the form 1"},
		"no form":       {strings.Replace(text, `{"schema":1,`, `{`, 1), plan.ErrText, "it has no form"},
		"unknown field": {strings.Replace(text, `{"schema":1,`, `{"schema":1,"x":2,`, 1), plan.ErrText, `unknown field "x"`},
		"more":          {text + "-- | {}\n", plan.ErrText, "after top-level value"},
		"after it":      {text + "DROP TABLE t;\n", plan.ErrText, "does not begin with"},
		"before it":     {"DROP TABLE t;\n" + text, plan.ErrChanged, `line 1 reads "DROP TABLE t;", and was made as "-- snowkey migrate plan`},
		"SQL":           {strings.Replace(text, "\nSELECT 1;", "\nSELECT 2;", 1), plan.ErrChanged, `reads "SELECT 2;", and was made as "SELECT 1;"`},
		"not shown":     {hidden, plan.ErrChanged, `line 2 reads "-- plan: `},
		"comment":       {strings.Replace(text, "-- lock: rows\n", "", 1), plan.ErrChanged, `reads "-- algorithm: batches", and was made as "-- lock: rows"`},
		"JSON":          {strings.Replace(text, `"title":"reserve"`, `"title":"forget!"`, 1), plan.ErrChanged, `line 2 reads "-- plan: `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Parse([]byte(c.text))
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestTextNotUTF8(t *testing.T) {
	p := every()
	p.Steps[0].Title = "\xff"
	if _, err := p.Text(); err == nil {
		t.Error("a title that is no UTF-8 is written, and read as another one")
	}
	if _, err := p.Hash(); err == nil {
		t.Error("a title that is no UTF-8 has a hash")
	}
}

func FuzzParse(f *testing.F) {
	text := textOf(f, every())
	f.Add([]byte(text))
	f.Add([]byte(text[:len(text)/2]))
	f.Add([]byte("\n-- the plan as the program reads it; any change above or below makes it another plan\n-- | {\"schema\":1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Parse(text)
		if err != nil {
			if !errors.Is(err, plan.ErrText) && !errors.Is(err, plan.ErrChanged) {
				t.Errorf("got %v, want ErrText or ErrChanged", err)
			}
			return
		}
		again, err := p.Text()
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("a plan that was read is written as another one, or not at all: %v", err)
		}
	})
}
