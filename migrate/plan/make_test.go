package plan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

var small = []string{
	"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at DATETIME NOT NULL)",
	"CREATE TABLE details (user_id INTEGER PRIMARY KEY REFERENCES users, text TEXT)",
	"CREATE TABLE notes (id INTEGER PRIMARY KEY, detail_id INTEGER REFERENCES details (user_id))",
	"CREATE TABLE plain (text TEXT)",
	"INSERT INTO users VALUES (1, '2026-01-01T00:00:00Z')",
}

// TestMakeOptions checks that options which cannot be are refused, and say why.
func TestMakeOptions(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", small...)
	report := s.report()
	shards, err := idgen.NewLayout(made.AddDate(-1, 0, 0), time.Millisecond, idgen.Time.Bits(41), idgen.Shard.Bits(10), idgen.Sequence.Bits(12))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    plan.Options
		want string
	}{
		"mode":          {plan.Options{Mode: "swap"}, `the mode "swap"`},
		"table":         {plan.Options{Tables: []string{"nobody"}}, "the report has no table nobody"},
		"name":          {plan.Options{Tables: []string{`"x`}}, "not closed"},
		"left out":      {plan.Options{Tables: []string{`!"x`}}, "not closed"},
		"in and out":    {plan.Options{Tables: []string{"users", "!users"}}, "users is named both with and without !"},
		"no key":        {plan.Options{Tables: []string{"plain"}}, "plain has no key that can be migrated"},
		"shared alone":  {plan.Options{Tables: []string{"details"}}, "the key details.user_id is a reference to users.id and has its ids: name the table users too"},
		"created":       {plan.Options{Created: map[string]string{"nobody": "keep"}}, "nobody"},
		"below":         {plan.Options{Below: -1}, "below -1"},
		"below too far": {plan.Options{Below: 1 << 62}, "which ids of the layout"},
		"window":        {plan.Options{Window: -1}, "negative"},
		"grants":        {plan.Options{Grants: "a b"}, `the table of grants "a b"`},
		"space":         {plan.Options{Space: "a b"}, `the key space "a b"`},
		"zone":          {plan.Options{Zone: "Mars/Base"}, "Mars/Base"},
		"tool":          {plan.Options{Tool: "a\nb"}, "control characters"},
		"too early":     {plan.Options{Now: time.Unix(0, 0)}, "has no ids for now"},
		"node":          {plan.Options{Mode: plan.Rekey, Node: node(1024)}, "node 1024, must be 0 to 1023"},
		"no node":       {plan.Options{Mode: plan.Rekey, Node: node(-1)}, "node -1, must be 0 to 1023"},
		"shards":        {plan.Options{Mode: plan.Rekey, Layout: shards}, "has shards"},
		"two times":     {plan.Options{Mode: plan.Rekey, Layout: idgen.Packed.Layout}, "has the time in two places"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.o.Now.IsZero() {
				c.o.Now = made
			}
			if _, err := plan.Make(t.Context(), s.DB, report, c.o); !errors.Is(err, plan.ErrOption) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrOption with %q", err, c.want)
			}
		})
	}
}

// TestMakeWithout checks that a table with ! in front is left out of a plan, whether the report has it or not.
func TestMakeWithout(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", small...)
	for _, inspected := range [][]string{nil, {"!notes"}} {
		report, err := inspect.Read(t.Context(), s.gorm, inspect.Options{Tables: inspected})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Make(t.Context(), s.DB, report, plan.Options{Mode: plan.Rekey, Tables: []string{"!notes"}, Now: made})
		if err != nil {
			t.Fatalf("inspected %q: %v", inspected, err)
		}
		if slices.ContainsFunc(p.Keys, func(k plan.Key) bool { return k.Table == "notes" }) || len(p.Keys) == 0 {
			t.Errorf("inspected %q: got the keys %v, want some, without that of notes", inspected, p.Keys)
		}
	}
}

// TestMakeReport checks that a report of another database, form or time is refused.
func TestMakeReport(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*schema, *inspect.Report)
		want   string
	}{
		"form":          {func(_ *schema, r *inspect.Report) { r.Schema = 99 }, "none of form 1"},
		"kind":          {func(_ *schema, r *inspect.Report) { r.Database.Kind = "oracle" }, `unknown kind "oracle"`},
		"database":      {func(_ *schema, r *inspect.Report) { r.Database.ID = "x" }, "the report is of the database"},
		"table dropped": {func(s *schema, _ *inspect.Report) { s.exec("DROP TABLE notes") }, "there is no table notes any more: inspect again"},
		"column gone":   {func(s *schema, _ *inspect.Report) { s.exec("ALTER TABLE notes RENAME detail_id TO d") }, "notes has no column detail_id any more"},
		"view": {func(s *schema, _ *inspect.Report) {
			s.exec("DROP TABLE notes")
			s.exec("CREATE VIEW notes AS SELECT 1 AS id")
		}, "notes is a view"},
		"new reference": {func(s *schema, _ *inspect.Report) { s.exec("ALTER TABLE details ADD u INT REFERENCES users") }, "the report does not have the foreign key"},
		"mark":          {func(s *schema, _ *inspect.Report) { s.exec(`ALTER TABLE users ADD "a:after" INT`) }, ":after in it"},
		"control":       {func(s *schema, _ *inspect.Report) { s.exec("ALTER TABLE users ADD \"a\nb\" INT") }, "control characters"},
		"in a circle": {func(_ *schema, r *inspect.Report) {
			r.References = append(r.References, inspect.Reference{Table: "users", Column: "id", To: "details", ToColumn: "user_id", Confidence: inspect.Certain})
		}, "references to each other"},
		"no keys": {func(_ *schema, r *inspect.Report) { r.Tables = nil }, "none of the report's 0 tables"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "sqlite", small...)
			report := s.report()
			c.change(s, report)
			if _, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made}); !errors.Is(err, plan.ErrOption) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrOption with %q", err, c.want)
			}
		})
	}
	s := open(t, "sqlite", small...)
	if _, err := plan.Make(t.Context(), s.DB, nil, plan.Options{}); !errors.Is(err, plan.ErrOption) {
		t.Errorf("got %v without a report, want ErrOption", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := plan.Make(ended, s.DB, s.report(), plan.Options{Now: made}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v when the context has ended", err)
	}
}

// TestMakeShared checks that a key which is a reference is no key of its own, and that what refers to it refers to the key that it shares.
func TestMakeShared(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", small...)
	p := s.plan(plan.Options{})
	var keys, references []string
	for _, k := range p.Keys {
		keys = append(keys, k.Table+"."+k.Column)
	}
	for _, r := range p.References {
		references = append(references, r.Table+"."+r.Column+"="+r.To+"."+r.ToColumn)
	}
	slices.Sort(references)
	same(t, "the keys", strings.Join(keys, " "), "notes.id users.id")
	same(t, "the references", strings.Join(references, " "), "details.user_id=users.id notes.detail_id=users.id")
	same(t, "the tables", strings.Join(p.Tables, " "), "details notes users")
	if p.Node != -1 {
		t.Errorf("got node %d, want none", p.Node)
	}
}

// TestMakeNothing checks that a plan for keys that need none has no steps, and says so.
func TestMakeNothing(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", "CREATE TABLE t (id BIGINT PRIMARY KEY)")
	p := s.plan(plan.Options{})
	if len(p.Steps) != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "There is nothing to do") {
		t.Errorf("got %d steps and the notes %q, want none and that there is nothing to do", len(p.Steps), p.Notes)
	}
	if read, err := plan.Parse([]byte(encoded(t, p))); err != nil || len(read.Steps) != 0 {
		t.Errorf("got %v for the text of a plan without steps", err)
	}
}

// TestMakePossible checks that a reference which may be one blocks the rewriting of keys until it is known, and not the widening.
func TestMakePossible(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", small...)
	report := s.report()
	report.References = append(report.References, inspect.Reference{Table: "plain", Column: "text", To: "users", ToColumn: "id", Confidence: inspect.Possible, Why: "its name says so"})
	p, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made})
	if err != nil || !strings.Contains(strings.Join(p.Notes, "\n"), "plain.text may be a reference to users.id (its name says so)") {
		t.Errorf("got %v and %v, want a note", p, err)
	}
	_, err = plan.Make(t.Context(), s.DB, report, plan.Options{Now: made, Mode: plan.Rekey})
	want := "plain.text may be a reference to users.id: its name says so. Say whether it is: inspect with --reference plain.text=users.id or --reference '!plain.text=users.id'."
	if !errors.Is(err, plan.ErrBlocked) && !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, plan.ErrBlocked) && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want ErrBlocked with %q", err, want)
	}
}

// TestMakeAccept checks that all that stands in the way is told at once, with the words that accept it.
func TestMakeAccept(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", small...)
	report := s.report()
	report.Obstacles = []inspect.Obstacle{
		{Table: "users", Kind: "trigger", Name: "it's", Text: "a trigger", Do: "drop it", Blocks: []string{"widen"}},
		{Table: "users", Kind: "replica", Text: "a replica", Blocks: []string{"widen", "rekey"}},
		{Table: "users", Kind: "other", Text: "of another mode", Blocks: []string{"shadow"}},
		{Table: "plain", Kind: "far", Text: "of another table", Blocks: []string{"widen"}},
	}
	_, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made})
	want := "users: a trigger. What to do: drop it. Or accept it: --accept 'trigger:users.it'\\''s'\nusers: a replica. Or accept it: --accept replica:users"
	if !errors.Is(err, plan.ErrBlocked) || !strings.HasSuffix(err.Error(), ":\n"+want) {
		t.Errorf("got %v, want ErrBlocked and %s", err, want)
	}
	if _, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made, Accept: []string{"trigger:users.it's", "replica:users"}}); err != nil {
		t.Errorf("got %v with all accepted", err)
	}
	for _, word := range []string{"", "trigger", "trigger:", "trigger:nobody.x", "trigger:user", "users.it's"} {
		if _, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made, Accept: []string{word}}); !errors.Is(err, plan.ErrOption) {
			t.Errorf("got %v for %q, want ErrOption", err, word)
		}
	}
}

// TestMakeNarrow checks columns that cannot hold snowflakes.
func TestMakeNarrow(t *testing.T) {
	t.Parallel()
	s := open(t, "postgres", "CREATE TABLE p (id bigint PRIMARY KEY)", "CREATE DOMAIN small AS int",
		"CREATE TABLE c (a varchar(10), b numeric(12), d real, e small, f timestamp, g numeric(19), h text)")
	report := s.report()
	for _, column := range []string{"a", "b", "d", "e", "f", "g", "h"} {
		report.References = append(report.References, inspect.Reference{Table: "c", Column: column, To: "p", ToColumn: "id", Confidence: inspect.Certain})
	}
	_, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made})
	if !errors.Is(err, plan.ErrBlocked) {
		t.Fatalf("got %v, want ErrBlocked", err)
	}
	for _, want := range []string{"c.a has the type character varying(10)", "c.b has the type numeric(12,0)", "c.d has the type real", "c.e has the domain", "c.f has the type timestamp"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "c.g") || strings.Contains(err.Error(), "c.h") {
		t.Errorf("got %v, want nothing about the wide columns", err)
	}
}

// node returns the option of a node.
func node(n int64) *int64 { return &n }

// TestMakeNode checks that the node of old rows is one that was never granted.
func TestMakeNode(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite", small[:1]...)
	store := grant.SQL(s.DB, grant.SQLite)
	layout := idgen.Snowkey.Layout.String()
	if _, err := store.Prepare(t.Context(), grant.DefaultSpace, layout); err != nil {
		t.Fatal(err)
	}
	for _, node := range []int64{1023, 1022, 5} {
		if ok, err := store.Swap(t.Context(), grant.DefaultSpace, grant.Row{Number: node, Holder: grant.Absent}, grant.Row{Number: node, Holder: "somebody", From: 1, Until: 2}); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	report := s.report()
	make := func(node *int64, space string, l idgen.Layout) (int64, error) {
		p, err := plan.Make(t.Context(), s.DB, report, plan.Options{Now: made, Mode: plan.Rekey, Node: node, Space: space, Layout: l, Created: map[string]string{"users": "created_at"}, Zone: "UTC"})
		if err != nil {
			return 0, err
		}
		return p.Node, nil
	}
	for want, given := range map[int64]*int64{1021: nil, 7: node(7), 0: node(0)} {
		if got, err := make(given, "", idgen.Layout{}); err != nil || got != want {
			t.Errorf("got node %d, %v, want %d", got, err, want)
		}
	}
	if got, err := make(nil, "other", idgen.Layout{}); err != nil || got != 1023 {
		t.Errorf("another space: got %d, %v, want 1023", got, err)
	}
	if _, err := make(node(5), "", idgen.Layout{}); !errors.Is(err, plan.ErrOption) || !strings.Contains(err.Error(), "node 5 was granted") {
		t.Errorf("got %v for a node that was granted, want ErrOption", err)
	}
	if _, err := make(nil, "", idgen.Twitter.Layout); !errors.Is(err, plan.ErrOption) || !strings.Contains(err.Error(), "has the layout") {
		t.Errorf("got %v for another layout than the space's, want ErrOption", err)
	}
	s.SetMaxOpenConns(1)
	s.exec("PRAGMA synchronous = OFF")
	if _, err := make(nil, "", idgen.Layout{}); !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "synchronous is off") {
		t.Errorf("got %v where commits may be lost, want ErrBlocked", err)
	}
	s = open(t, "postgres", "CREATE TABLE users (id serial PRIMARY KEY, created_at timestamptz NOT NULL)")
	if _, err := grant.SQL(s.DB, grant.Postgres).Prepare(t.Context(), grant.DefaultSpace, layout); err != nil {
		t.Fatal(err)
	}
	s.exec("CREATE SCHEMA second")
	s.exec("CREATE TABLE second.snowkey_nodes AS SELECT * FROM snowkey_nodes")
	report = s.report()
	if _, err := make(nil, "", idgen.Layout{}); !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "second.snowkey_nodes too") || !strings.Contains(err.Error(), "--space NAME") {
		t.Errorf("got %v for a key space in two tables, want ErrBlocked", err)
	}
	if got, err := make(nil, "other", idgen.Layout{}); err != nil || got != 1023 {
		t.Errorf("another space than that of two tables: got %d, %v, want 1023", got, err)
	}
}
