package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

// every returns a plan with a step of each kind, and texts that could be taken for something else.
func every() *plan.Plan {
	instant := made.Add(time.Hour)
	ones := plan.RowsOf("t")
	return &plan.Plan{
		Schema: plan.Schema, Tool: "snowkey v1", Made: made, Mode: plan.Rekey, Database: inspect.Database{Kind: "postgres", Version: "PostgreSQL 15", Name: "shop", ID: "7"},
		Tables: []string{"t"}, Fingerprint: "f00", Layout: "time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z", Node: 1023, Grants: "snowkey_nodes", Space: "default",
		Keys: []plan.Key{
			{Table: "t", Column: "id", Created: "created_at", Zone: "Europe/Berlin", Unit: time.Second, Below: 1 << 42, Map: "map"},
			{Table: "u", Column: "id", Through: "t_id", Parent: "t", Shadow: "id_sf"}, {Table: "v", Column: "id", Instant: &instant},
		},
		References: []plan.Reference{{Reference: inspect.Reference{Table: "u", Column: "t_id", Path: "$.a", To: "t", ToColumn: "id", OwnerType: "kind", Owner: "T", Orphans: 1234}, Shadow: "s"}},
		Notes:      []string{"one\ntwo", "-- snowkey migrate plan"},
		Steps: []plan.Step{
			{Title: "reserve", Phase: "map", Do: plan.Action{Kind: plan.ReserveNode}, Kept: "for good"},
			{Title: "map", Phase: "map", Do: plan.Action{Kind: plan.FillMap, Table: "t"}},
			{Title: "count", Phase: "check", Do: plan.Action{Kind: plan.Count, Queries: []plan.Query{{About: "ones", SQL: "SELECT 1", Subject: ones}}}},
			{Title: "digest", Phase: "check", Do: plan.Action{Kind: plan.Digest, Table: "t"}},
			{Title: "rewrite", Phase: "rewrite", Lock: plan.Lock{Waits: "rows", Text: "rows"}, Algorithm: "batches", Rows: 1234567, Bytes: 1234567, Disk: -1,
				Do:   plan.Action{Kind: plan.Batch, SQL: []string{"UPDATE t SET c = '<&>\u2028'\n\n-- snowkey migrate plan\nWHERE id > :after AND id <= :upto"}, Cursor: "SELECT max(id) FROM t", Remaining: "SELECT 0"},
				Undo: &plan.Action{Kind: plan.Transactional, Session: []string{"SET a = 1"}, SQL: []string{"UPDATE t\nSET c = 1", "DELETE FROM t"}}},
			{Title: "index", Phase: "swap", Do: plan.Action{Kind: plan.Autocommit, SQL: []string{"CREATE INDEX"}, Applied: []string{"SELECT 1"}, Repair: []string{"DROP INDEX"}}, Final: true, Kept: "it is gone"},
			{Title: "expect", Phase: "check", Do: plan.Action{Kind: plan.Assert, Queries: []plan.Query{{About: "ones", SQL: "SELECT 1", Subject: ones}}, Baseline: 3, OnFailure: "other"}},
			{Title: "steady", Phase: "check", Do: plan.Action{Kind: plan.AssertStable, Queries: []plan.Query{{About: "ones", SQL: "SELECT 1"}}, Window: time.Minute, OnFailure: "other"}},
			{Title: strings.Repeat("long ", 100), Phase: "flip", Do: plan.Action{Kind: plan.Hold, Name: plan.DeployWriters, Text: "deploy"}},
		},
	}
}

func textOf(t testing.TB, p *plan.Plan) string {
	t.Helper()
	text, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	legend := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if label, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(label, "-- lock ") {
			if legend[label] {
				t.Errorf("the text says twice what %q is:\n%s", label, text)
			}
			legend[label] = true
		}
	}
	return string(text)
}

// encoded returns the plan's JSON.
func encoded(t testing.TB, p *plan.Plan) string {
	t.Helper()
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	legend := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if label, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(label, "-- lock ") {
			if legend[label] {
				t.Errorf("the text says twice what %q is:\n%s", label, text)
			}
			legend[label] = true
		}
	}
	return string(text)
}

func TestText(t *testing.T) {
	t.Parallel()
	text := textOf(t, every())
	for _, want := range []string{
		"-- snowkey migrate plan · mode rekey · 9 steps\n-- plan: ",
		"-- t.id: new ids have the time of created_at, exact to 1s, in the zone Europe/Berlin; old are ids below 4,398,046,511,104\n",
		"  table  lock       rows   about\n", "  rows  1,234,567  ~1 min\n",
		"-- rollback: undoes what was done, the last step first; there is none once step 6 has begun\n",
		"-- reference: u.t_id:$.a to t.id where kind is \"T\" 1,234 orphans now second column s\n",
		"-- note 1: one\n--     two\n", "WHERE id > :after AND id <= :upto;\n", "--    for 1m0s nothing may change there, else: other\n", "--    the run ends here, and run --continue=deploy-writers goes on: deploy\n",
		"--    no rollback once this is done. it is gone\n", "--    counts: ones\n", "--    each has to be what it was before: ones\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	for _, hidden := range []string{"SELECT 1", "SELECT max(id)", "SET a = 1", "DELETE FROM t"} {
		if strings.Contains(text, hidden) {
			t.Errorf("the text has %q, which is for the program alone:\n%s", hidden, text)
		}
	}
}

// TestTextFolded checks that what is done to many tables is shown once, with all names, and in the order of the steps.
func TestTextFolded(t *testing.T) {
	t.Parallel()
	p := every()
	p.Tables, p.Keys, p.References, p.Steps = []string{"orders", "order_lines", "t"}, nil, nil, nil
	for _, table := range p.Tables {
		p.Steps = append(p.Steps,
			plan.Step{Title: "close …", Names: []string{table}, Phase: "flip", Tables: []string{table}, Lock: plan.Lock{Waits: "writes", Brief: true, Text: "writes to the table wait for a moment"}, Do: plan.Action{Kind: plan.Transactional, SQL: []string{
				"SET lock_timeout = 1", "CREATE TRIGGER \"snowkey_gate_" + table + "\" BEFORE INSERT ON \"" + table + "\" WHEN (NEW.\"id\" > 7) RAISE 'no " + table + " now'"}}},
			plan.Step{Title: "open …", Names: []string{table + ".id"}, Phase: "flip", Tables: []string{table}, Rows: 2, Do: plan.Action{Kind: plan.Transactional, SQL: []string{"ALTER TABLE \"" + table + "\" DROP x", "DROP " + strings.ToUpper(table) + " x"}}})
	}
	text := textOf(t, p)
	for _, want := range []string{
		"--  1, 3 … 5  close …  orders and 2 more  writes, briefly\n--  2, 4 … 6  open …   orders and 2 more  none                6   <1 s\n",
		"-- 1, 3 … 5 · close …\nSET lock_timeout = 1;\n" +
			"CREATE TRIGGER \"snowkey_gate_{1}\" BEFORE INSERT ON \"{1}\" WHEN (NEW.\"id\" > 7) RAISE 'no {1} now';\n--    {1} = orders, order_lines, t\n",
		"ALTER TABLE \"{1}\" DROP x;\n--    {1} = orders, order_lines, t\nDROP ORDERS x;\nDROP ORDER_LINES x;\nDROP T x;\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p := every()
	text := textOf(t, p)
	if err := p.Check([]byte(text)); err != nil {
		t.Error(err)
	}
	other := every()
	other.Steps[4].Do.Cursor = "SELECT 7" // what the text does not show
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"before it":  {"DROP TABLE t;\n" + text, plan.ErrChanged, `line 1 reads "DROP TABLE t;", and was made as "-- snowkey migrate plan`},
		"SQL":        {strings.Replace(text, "WHERE id > :after", "WHERE id < :after", 1), plan.ErrChanged, `reads "WHERE id < :after AND`},
		"lock":       {strings.Replace(text, "rows  1,234,567", "none  1,234,567", 1), plan.ErrChanged, "was made as \"--  5     rewrite"},
		"after it":   {text + "DROP TABLE t;\n", plan.ErrChanged, `"DROP TABLE t;", was added`},
		"cut off":    {text[:len(text)-9], plan.ErrChanged, "was made as"},
		"empty":      {"", plan.ErrChanged, "line 1"},
		"Windows":    {strings.ReplaceAll(text, "\n", "\r\n"), plan.ErrText, "CR LF"},
		"other plan": {textOf(t, other), plan.ErrChanged, `line 2 reads "-- plan: `},
	} {
		t.Run(name, func(t *testing.T) {
			if err := p.Check([]byte(c.text)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}
