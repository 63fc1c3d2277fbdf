package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/migrate"
	"github.com/snowkey-go/snowkey/migrate/plan"
)

func init() {
	scenarios = append(scenarios,
		scenario{"05 10,000 rows of one second", nil, testCrowd},
		scenario{"06 times that say nothing of when a row was made", nil, testTimes},
		scenario{"06 times in the zones of sessions", []string{"mysql", "postgres"}, testZones},
		scenario{"06 a new row beside many that have one time", []string{"postgres"}, testOneTime},
		scenario{"07 a new id that is a row's already", nil, testClash},
	)
}

// made makes the table rows, with times of a type, which children refer to.
func (d *database) made(instant string) {
	d.t.Helper()
	key := map[string]string{"mysql": "BIGINT PRIMARY KEY AUTO_INCREMENT", "postgres": "bigserial PRIMARY KEY", "sqlite": "integer PRIMARY KEY AUTOINCREMENT"}[d.kind]
	d.exec(
		"CREATE TABLE made (id "+key+", place BIGINT NOT NULL DEFAULT 0, created_at "+instant+")",
		"CREATE TABLE children (id "+key+", made_id BIGINT NOT NULL, CONSTRAINT fk_made FOREIGN KEY (made_id) REFERENCES made (id))",
	)
}

// testOneTime adds rows in shadow to 5,000 that have one time: before these have their ids, and after. The ids that come next after the first row's
// are old rows' then, and the second must not try each of them.
func testOneTime(t *testing.T, d *database) {
	d.made("timestamptz NULL")
	d.exec("INSERT INTO made (place) SELECT n FROM generate_series(1, 5000) n")
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Shadow, Created: map[string]string{"made": "2020-02-29T00:00:00Z", "children": "2020-02-29T00:00:00Z"}})
	var tried []int64
	add := func() {
		tx, err := d.pool.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }() // nothing after the commit
		for _, statement := range []string{"SET LOCAL track_functions = 'all'", fmt.Sprintf("INSERT INTO made (place) VALUES (%d)", 5001+len(tried))} {
			if _, err := tx.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		var ids int64
		if err := tx.QueryRow("SELECT SUM(calls) FROM pg_stat_xact_user_functions WHERE funcname LIKE '%mint'").Scan(&ids); err != nil {
			t.Fatal(err)
		}
		tried = append(tried, ids)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := migrate.Run(t.Context(), d.gorm, p, migrate.RunOptions{Progress: func(now migrate.Progress) {
		if len(tried) == 0 && strings.HasPrefix(now.Title, "fill the map") || len(tried) == 1 && strings.HasPrefix(now.Title, "fill the second columns") {
			add()
		}
	}})
	if err != nil || len(tried) != 2 {
		t.Fatalf("got %v and %d rows, want 2", err, len(tried))
	}
	if tried[0] != 1 || tried[1] > 20 {
		t.Errorf("got ids at the tries %d, want the first, and one of the first 20", tried)
	}
	d.run(p)
	if got := d.number("SELECT COUNT(DISTINCT id) FROM made"); got != 5002 {
		t.Errorf("got %d ids, want 5002", got)
	}
}

// testCrowd has more rows of one second than a millisecond has ids for.
func testCrowd(t *testing.T, d *database) {
	d.made(map[string]string{"mysql": "DATETIME NOT NULL", "postgres": "timestamptz(0) NOT NULL", "sqlite": "datetime NOT NULL"}[d.kind])
	second := time.Date(2020, 2, 29, 23, 59, 59, 0, time.UTC)
	zone := map[string]string{"mysql": "", "postgres": "+00", "sqlite": "+00:00"}[d.kind]
	const crowd, others = 10_000, 3 // those of the second before and after it
	var values []string
	for i := range crowd + 2*others {
		at := second
		if i < others {
			at = at.Add(-time.Second)
		} else if i >= crowd+others {
			at = at.Add(time.Second)
		}
		values = append(values, fmt.Sprintf("(%d, %d, '%s%s')", 3*i+1, i, at.Format(time.DateTime), zone))
	}
	for part := range slices.Chunk(values, 1000) {
		d.exec("INSERT INTO made (id, place, created_at) VALUES " + strings.Join(part, ", "))
	}
	d.exec("INSERT INTO children (made_id) SELECT id FROM made WHERE place % 10 = 0")
	p := d.plan(migrate.InspectOptions{}, migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"made"}, Zone: "UTC"})
	d.run(p)
	rows, err := d.pool.QueryContext(t.Context(), "SELECT id, place FROM made ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for want := int64(0); ; want++ {
		if !rows.Next() {
			if want != int64(len(values)) {
				t.Errorf("got %d rows, want %d", want, len(values))
			}
			break
		}
		var id, place int64
		if err := rows.Scan(&id, &place); err != nil {
			t.Fatal(err)
		}
		at := second
		if place < others {
			at = at.Add(-time.Second)
		} else if place >= crowd+others {
			at = at.Add(time.Second)
		}
		parts, err := layout.Decode(id)
		if err != nil || place != want || parts.Node != p.Node || parts.Time.Before(at) || !parts.Time.Before(at.Add(time.Second)) {
			t.Fatalf("row %d is the id %d at place %d, %+v (%v), want node %d and a time in the second from %s", want, id, place, parts, err, p.Node, at)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if n := d.number("SELECT COUNT(*) FROM children JOIN made ON made.id = children.made_id WHERE place % 10 = 0"); n != 1001 {
		t.Errorf("%d children refer to their rows, want 1001", n)
	}
}

// testTimes has rows of each kind that has no place in the order of ids: each is counted, before anything is written.
func testTimes(t *testing.T, d *database) {
	d.made(map[string]string{"mysql": "DATETIME NULL", "postgres": "timestamptz", "sqlite": "datetime"}[d.kind])
	zone := map[string]string{"mysql": "", "postgres": "+00", "sqlite": "+00:00"}[d.kind]
	zero := map[string]string{"mysql": "0000-00-00 00:00:00", "postgres": "0001-01-01 00:00:00", "sqlite": "0001-01-01 00:00:00"}[d.kind]
	values := []string{"(NULL)", "(NULL)"}
	for at, n := range map[string]int{zero: 3, "2009-12-31 23:59:59": 4, "2107-01-01 00:00:00": 5, "2020-01-01 00:00:00": 6} {
		if at == "2107-01-01 00:00:00" {
			at = "2049-01-01 00:00:00" // within what the layout has times for
		}
		for range n {
			values = append(values, "('"+at+zone+"')")
		}
	}
	insert := "INSERT INTO made (created_at) VALUES " + strings.Join(values, ", ")
	if d.kind == "mysql" {
		insert = "SET STATEMENT sql_mode = '' FOR " + insert
	}
	d.exec(insert)
	err := d.refusal(migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"made"}, Zone: "UTC"})
	if !errors.Is(err, plan.ErrBlocked) {
		t.Fatalf("got %v, want that rows are refused", err)
	}
	for _, want := range []string{"2 of 20 rows without a time", "3 of 20 rows with the zero time", "made (4 of 20 rows): made before the epoch of the layout", "5 of 20 rows made later than now"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// testZones has a session whose zone is another one. What says which instant it is means that one, and what does not is refused until somebody says the zone.
func testZones(t *testing.T, d *database) {
	d.made(map[string]string{"mysql": "DATETIME NOT NULL", "postgres": "timestamp NOT NULL"}[d.kind])
	d.exec("INSERT INTO made (created_at) VALUES ('2020-06-01 00:00:00')")
	if d.kind == "mysql" {
		d.exec("ALTER TABLE made ADD seen_at TIMESTAMP NULL", "SET STATEMENT time_zone = '+00:00' FOR UPDATE made SET seen_at = '2020-06-01 00:00:00'")
	} else {
		d.exec("ALTER TABLE made ADD seen_at timestamptz", "UPDATE made SET seen_at = '2020-06-01 00:00:00+00'")
	}
	far := connect(t, d.kind, d.name+map[string]string{"mysql": "&time_zone=%27%2B09%3A00%27", "postgres": "&timezone=Asia%2FTokyo"}[d.kind])
	o := migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"made"}}
	if err := far.refusal(o); !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "zone") {
		t.Errorf("got %v, want that the zone is asked for", err)
	}
	o.Created = map[string]string{"made": "seen_at"}
	far.run(far.plan(migrate.InspectOptions{}, o))
	parts, err := layout.Decode(d.number("SELECT id FROM made"))
	if want := time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC); err != nil || !parts.Time.Equal(want) {
		t.Errorf("got the time %v (%v), want %v, whatever the session's zone", parts.Time, err, want)
	}
}

// testClash has rows whose new ids would be those of others: one that is a snowflake already, and one that is as small as old ids are.
func testClash(t *testing.T, d *database) {
	d.made(map[string]string{"mysql": "DATETIME NOT NULL", "postgres": "timestamptz(0) NOT NULL", "sqlite": "datetime NOT NULL"}[d.kind])
	zone := map[string]string{"mysql": "", "postgres": "+00", "sqlite": "+00:00"}[d.kind]
	o := migrate.PlanOptions{Mode: migrate.Rekey, Tables: []string{"made"}, Zone: "UTC"}
	at := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	insert := func(id int64, at time.Time) {
		d.exec(fmt.Sprintf("INSERT INTO made (id, place, created_at) VALUES (%d, %[1]d, '%s%s')", id, at.Format(time.DateTime), zone))
	}
	insert(7, at)
	taken, err := layout.Compose(idgen.Parts{Time: at, Node: layout.Generators() - 1})
	if err != nil {
		t.Fatal(err)
	}
	insert(taken, at)
	d.clashes(o)

	// The first millisecond of the layout, whose ids are small.
	d.exec(fmt.Sprintf("DELETE FROM made WHERE id = %d", taken))
	insert(4_190_208, layout.Epoch()) // is what it would get
	d.clashes(o)

	d.exec("DELETE FROM made WHERE id = 4190208")
	insert(taken+1, at)
	p := d.plan(migrate.InspectOptions{}, o)
	d.run(p)
	if n := d.number(fmt.Sprintf("SELECT COUNT(*) FROM made WHERE id = %d AND place = 7 OR id = %d AND place = id", taken, taken+1)); n != 2 {
		t.Errorf("got %d rows with the ids that are free, and their own, want 2", n)
	}
}

// clashes sees that the plan is refused for a new id.
func (d *database) clashes(o migrate.PlanOptions) {
	d.t.Helper()
	if err := d.refusal(o); !errors.Is(err, plan.ErrBlocked) || !strings.Contains(err.Error(), "1 of ") || !strings.Contains(err.Error(), " rows whose new id is another row's") {
		d.t.Errorf("got %v, want that one new id is another row's", err)
	}
}

// refusal returns the error of the plan or of its run, and sees that nothing was written: no row is another, and nothing new is declared.
func (d *database) refusal(o migrate.PlanOptions) error {
	d.t.Helper()
	contents := func() string {
		return d.declared() + strings.Join(d.sorted("SELECT CONCAT_WS(' ', id, place, created_at) FROM made"), "\n")
	}
	before := contents()
	p, err := d.tryPlan(migrate.InspectOptions{}, o)
	if err == nil {
		_, err = migrate.Run(d.t.Context(), d.gorm, p, migrate.RunOptions{})
	}
	if after := contents(); after != before {
		d.t.Errorf("refused, and still written:\n%s", difference(after, before))
	}
	return err
}
