package plan_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/dialect"
	"github.com/snowkey-go/snowkey/migrate/inspect"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

var updateShadow = flag.Bool("update-shadow", false, "write the golden file of mode shadow")

// digests are names of what a plan makes, of which a part is a digest.
var digests = regexp.MustCompile(`snowkey_[0-9a-f]{10}_`)

// TestShadowGolden compares the steps for a parent and a child with the file in testdata.
func TestShadowGolden(t *testing.T) {
	e := &changer{t: t, d: dialect.Postgres, db: dbtest.Postgres(t).Open(t)}
	e.exec(
		"CREATE TABLE parents (id serial PRIMARY KEY, created_at timestamptz NOT NULL)",
		"CREATE TABLE children (id serial PRIMARY KEY, parent_id integer NOT NULL REFERENCES parents (id) ON DELETE CASCADE, created_at timestamptz NOT NULL)",
		"CREATE INDEX by_parent ON children (parent_id)",
	)
	e.p = shadowPlan(t, e.db, plan.Options{}).p
	var text strings.Builder
	for _, s := range e.p.Steps {
		fmt.Fprintf(&text, "-- %s: %s\n-- %s; %s\n", s.Phase, s.String(), s.Algorithm, s.Lock.Text)
		action(&text, "do", &s.Do)
		action(&text, "undo", s.Undo)
		if s.Undo == nil {
			fmt.Fprintf(&text, "-- kept (final %v): %s\n", s.Final, s.Kept)
		}
		text.WriteString("\n")
	}
	got := digests.ReplaceAllString(text.String(), "snowkey_digest_")
	path := filepath.Join("testdata", "shadow.golden")
	if *updateShadow {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		different(t, "not the golden steps (write them with -update-shadow)", got, string(want))
	}
	again, err := e.p.Encode()
	must(t, err)
	if _, err := plan.Parse(again); err != nil {
		t.Errorf("Parse of Encode: %v", err)
	}
}

func action(w *strings.Builder, what string, a *plan.Action) {
	if a == nil {
		return
	}
	fmt.Fprintf(w, "-- %s %s\n", what, a.Kind)
	for _, part := range []struct {
		name  string
		texts []string
	}{{"session", a.Session}, {"", slices.Concat(a.Before, a.SQL, a.After, queries(*a))}, {"repair", a.Repair}, {"applied", a.Applied}, {"cursor", []string{a.Cursor}}, {"remaining", []string{a.Remaining}}} {
		for _, s := range part.texts {
			if s != "" && part.name != "" {
				fmt.Fprintf(w, "-- %s: %s\n", part.name, s)
			} else if s != "" {
				fmt.Fprintf(w, "%s;\n", s)
			}
		}
	}
}

// TestShadowRefused wants what the mode cannot keep refused, each with a sentence.
func TestShadowRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		schema []string
		more   []inspect.Reference
		want   string
	}{
		{"check", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz, CHECK (id > 0))"}, nil, "check"},
		{"materialized view", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz)", "CREATE MATERIALIZED VIEW m AS SELECT id FROM a"}, nil, "view"},
		{"generated", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz, twice integer GENERATED ALWAYS AS (id * 2) STORED)"}, nil, "computed from id"},
		{"default", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz, a_id integer DEFAULT 7 REFERENCES a (id))"}, nil, "the default 7"},
		{"partition", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz) PARTITION BY RANGE (id)"}, nil, "plain tables"},
		{"deferrable key", []string{"CREATE TABLE a (id serial PRIMARY KEY DEFERRABLE, created_at timestamptz)"}, nil, "deferrable"},
		{"set default", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz, a_id integer REFERENCES a (id) ON DELETE SET DEFAULT)"}, nil, "SET DEFAULT"},
		{"text", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz, note text)"},
			[]inspect.Reference{{Table: "a", Column: "note", To: "a", ToColumn: "id", Origin: inspect.Given, Confidence: inspect.Certain, Text: true}}, "mode rekey"},
		{"trigger", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz)", "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
			"CREATE TRIGGER touched BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION f()", "ALTER TABLE a ENABLE ALWAYS TRIGGER touched"}, nil, "--accept trigger:a.touched"},
		{"no order", []string{"CREATE TABLE a (id serial PRIMARY KEY, created_at timestamptz)", "CREATE TABLE b (a_id integer REFERENCES a (id))"}, nil, "no index that begins with an integer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &changer{t: t, db: dbtest.Postgres(t).Open(t), d: dialect.Postgres}
			e.exec(test.schema...)
			_, err := plan.Make(t.Context(), e.db, reportOf(t, e.db, e.d, test.more...), plan.Options{Mode: plan.Shadow})
			if !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ErrBlocked with %q", err, test.want)
			}
		})
	}
	t.Run("mysql", func(t *testing.T) {
		e := &changer{t: t, db: dbtest.MySQL(t).Open(t), d: dialect.MySQL}
		e.exec("CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, created_at DATETIME)")
		_, err := plan.Make(t.Context(), e.db, reportOf(t, e.db, e.d), plan.Options{Mode: plan.Shadow, Zone: "UTC"})
		const want = "plan: invalid option: the mode shadow is not for MySQL and MariaDB, where the copy of a table never ends while others add rows, and the swap is no single moment: " +
			"use rekey, which gives old rows new ids in batches, or widen, which keeps old ids and gives new rows snowflakes"
		if !errors.Is(err, plan.ErrOption) || err.Error() != want {
			t.Errorf("got %v, want ErrOption: %s", err, want)
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		e := &changer{t: t, db: dbtest.SQLite(t).Open(t), d: dialect.SQLite}
		e.exec("CREATE TABLE a (id INTEGER PRIMARY KEY, created_at DATETIME)")
		_, err := plan.Make(t.Context(), e.db, reportOf(t, e.db, e.d), plan.Options{Mode: plan.Shadow})
		if !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "use the mode rekey") {
			t.Errorf("got %v, want ErrBlocked that names the mode rekey", err)
		}
	})
}
