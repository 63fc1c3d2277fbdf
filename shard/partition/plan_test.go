package partition_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/shard/partition"
)

// statusOf returns a table whose partitions are of the days from one to before another, at noon of that day.
func statusOf(t testing.TB, d partition.Dialect, from, to, now string) partition.Status {
	s := partition.Status{Table: "public.orders", Dialect: d, Schema: "public", Name: "orders", Now: at(now), Local: at(now), Newest: at(now), Default: &partition.Default{Schema: "public", Name: "rest"}}
	for day := at(from); day.Before(at(to)); day = day.Add(24 * time.Hour) {
		part := partition.Part{Schema: "public", Name: "orders_" + day.Format("p20060102"),
			Range: partition.Range{FromID: idAt(t, day, 0), ToID: idAt(t, day.Add(24*time.Hour), 0), From: day, To: day.Add(24 * time.Hour)}}
		if d == partition.MySQL {
			if part.Name = strings.TrimPrefix(part.Name, "orders_"); len(s.Parts) == 0 {
				part.FromID = math.MinInt64
			}
		}
		s.Parts = append(s.Parts, part)
	}
	return s
}

func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		name              string
		from, to, now     string // of statusOf
		settings          func(*partition.Table)
		status            func(*partition.Status)
		steps, ofMySQL    string // "" for those of PostgreSQL
		problems, mysqlIs string // kinds
	}{
		{name: "as it should be", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z"},
		{name: "a day later", from: "2026-03-01T00:00:00Z", to: "2026-03-12T00:00:00Z", now: "2026-03-10T12:00:00Z", steps: "make p20260312", ofMySQL: "make p20260312"},
		{name: "the last instant of a day", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T23:59:59Z"},
		{name: "the first of the next", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-11T00:00:00Z", steps: "make p20260313", ofMySQL: "make p20260313"},
		{name: "no run for long", from: "2026-03-01T00:00:00Z", to: "2026-03-05T00:00:00Z", now: "2026-03-06T12:00:00Z",
			steps: "make p20260305, make p20260306, make p20260307, make p20260308", ofMySQL: "make p20260305 … p20260308", problems: "behind", mysqlIs: "behind"},
		{name: "one old partition", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z",
			settings: func(s *partition.Table) { s.Keep, s.Old = 8, partition.Drop }, steps: "detach p20260301, drop p20260301", ofMySQL: "discard p20260301"},
		{name: "to archive", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z",
			settings: func(s *partition.Table) {
				s.Keep, s.Old, s.Archive = 8, partition.Archive, new(engine).archive(nil, nil)
			},
			steps: "detach p20260301, archive p20260301, drop p20260301", ofMySQL: "shell p20260301, detach p20260301, archive p20260301, drop p20260301"},
		{name: "too many", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z",
			settings: func(s *partition.Table) { s.Keep, s.Old, s.Most = 5, partition.Drop, 3 }, problems: "many", mysqlIs: "many"},
		{name: "no keys yet", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z",
			settings: func(s *partition.Table) { s.Keep, s.Old = 1, partition.Drop }, status: func(s *partition.Status) { s.Newest = time.Time{} }},
		{name: "a name that is taken", from: "2026-03-01T00:00:00Z", to: "2026-03-12T00:00:00Z", now: "2026-03-10T12:00:00Z",
			status: func(s *partition.Status) { s.Taken = []string{"orders_p20260312"} }, problems: "name", ofMySQL: "make p20260312"},
		{name: "a table of an old run", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z",
			status: func(s *partition.Status) {
				s.Detached = []partition.Detached{{Name: "orders_a", Then: "keep"}, {Name: "orders_b", Then: "drop"}, {Name: "orders_c", Then: "archive"}, {Name: "orders_d", Then: "sell"}}
			}, steps: "drop b", ofMySQL: "drop b", problems: "archive archive", mysqlIs: "archive archive"},
		{name: "clocks apart", from: "2026-03-01T00:00:00Z", to: "2026-03-13T00:00:00Z", now: "2026-03-10T12:00:00Z",
			settings: func(s *partition.Table) { s.Keep, s.Old = 8, partition.Drop }, status: func(s *partition.Status) { s.Local = s.Local.Add(-61 * time.Minute * 20) },
			problems: "clock", mysqlIs: "clock"},
		{name: "the layout's end", from: "2094-09-06T00:00:00Z", to: "2094-09-07T00:00:00Z", now: "2094-09-06T12:00:00Z",
			steps: "make p20940907", ofMySQL: "make p20940907", problems: "limit behind", mysqlIs: "limit behind"},
	} {
		for _, d := range []partition.Dialect{partition.Postgres, partition.MySQL} {
			t.Run(tt.name+" on "+d.String(), func(t *testing.T) {
				settings, status := orders(), statusOf(t, d, tt.from, tt.to, tt.now)
				if tt.settings != nil {
					tt.settings(&settings)
				}
				if tt.status != nil {
					tt.status(&status)
				}
				plan, err := settings.Plan(status)
				if err != nil {
					t.Fatal(err)
				}
				var kinds []string
				for _, problem := range plan.Problems {
					kinds = append(kinds, problem.Kind)
				}
				steps, problems := tt.steps, tt.problems
				if d == partition.MySQL {
					steps, problems = tt.ofMySQL, tt.mysqlIs
				}
				if got := actions(plan.Steps); got != steps {
					t.Errorf("got the steps %q, want %q", got, steps)
				}
				if got := strings.Join(kinds, " "); got != problems {
					t.Errorf("got the problems %q %+v, want %q", got, plan.Problems, problems)
				}
			})
		}
	}
}

// MySQL has 8,192 partitions a table at most; a plan does not ask for more.
func TestPlanWithinLimits(t *testing.T) {
	status := statusOf(t, partition.MySQL, "2026-01-01T00:00:00Z", "2048-05-01T00:00:00Z", "2048-04-30T12:00:00Z")
	settings := orders()
	settings.Ahead = 1000
	plan, err := settings.Plan(status)
	if err != nil {
		t.Fatal(err)
	}
	room := 8192 - len(status.Parts) - 1
	if len(plan.Steps) != 1 || strings.Count(plan.Steps[0].SQL[1], "LESS THAN") != room+1 {
		t.Errorf("got %d partitions made, want the %d that there is room for, and the last one again", strings.Count(plan.Steps[0].SQL[1], "LESS THAN")-1, room)
	}
	if !slices.ContainsFunc(plan.Problems, func(p partition.Problem) bool { return p.Kind == "limit" && strings.Contains(p.Text, "at most 8192") }) {
		t.Errorf("got the problems %+v, want the limit", plan.Problems)
	}
}

// Bounds are the least ids of the periods' first instants, in layouts of long ticks too, and are read as these instants.
func TestBounds(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		odd, err := idgen.ParseLayout("time=30@7s,node=10,sequence=20;epoch=2025-01-01T00:00:03Z") // midnight is within a tick
		if err != nil {
			t.Fatal(err)
		}
		for i, layout := range []idgen.Layout{idgen.Snowkey.Layout, idgen.Sonyflake.Layout, idgen.K8sIP.Layout, odd} {
			settings := orders()
			settings.Layout, settings.In = layout, berlin
			e.exec(t, "DROP TABLE IF EXISTS orders")
			e.create(t, settings)
			now := at("2026-03-28T12:00:00Z")
			k := e.keeper(t, settings, &now)
			run(t, k)
			plan, err := k.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Parts) != 3 || len(plan.Steps) != 0 {
				t.Fatalf("layout %d: got the partitions %+v and the steps %v", i, plan.Parts, plan.Steps)
			}
			for n, want := range []string{"2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"} {
				part := plan.Parts[n]
				if id, err := layout.MinID(at(want)); err != nil || part.ToID != id || !part.To.Equal(at(want)) {
					t.Errorf("layout %d: got the bound %d of %v, want %d of %s", i, part.ToID, part.To, id, want)
				}
				if want := "p202603" + fmt.Sprint(28+n); !strings.HasSuffix(part.Name, want) {
					t.Errorf("layout %d: got the name %s, want %s", i, part.Name, want)
				}
			}
		}
	})
}
