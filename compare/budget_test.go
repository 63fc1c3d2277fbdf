package compare_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A budget gets as many rows as fit, all rounds as long as a tenth of the rows fits, and then fewer rounds.
func TestFit(t *testing.T) {
	idle := compare.Cost{Fixed: 300 * time.Millisecond, Row: 10 * time.Microsecond, Slow: time.Second}
	busy := compare.Cost{Fixed: 800 * time.Millisecond, Row: 50 * time.Microsecond, Slow: time.Second}
	random, ticket := busy, busy
	random.Grows = true
	ticket.Row = time.Millisecond // 1,000 rows until Slow
	seven := func(c compare.Cost) []compare.Cost { return []compare.Cost{c, c, c, c, c, c, c} }
	kept := compare.Quick
	kept.KeepRows = true
	for name, test := range map[string]struct {
		profile      compare.Profile
		costs        []compare.Cost
		left         time.Duration
		rounds, rows int
	}{
		"idle":                         {compare.Quick, seven(idle), time.Minute, 5, 20_000},
		"busy":                         {compare.Quick, seven(busy), time.Minute, 5, 6200},
		"busy, keys in no order":       {compare.Quick, seven(random), time.Minute, 5, 3300},
		"busy, little time":            {compare.Quick, seven(busy), 40 * time.Second, 5, 2000},
		"slow keys cost no more":       {compare.Quick, seven(ticket), 100 * time.Second, 5, 20_000},
		"a tenth uses up the margin":   {compare.Quick, seven(busy), 33 * time.Second, 5, 2000},
		"too little for all rounds":    {compare.Quick, seven(busy), 20 * time.Second, 3, 2000},
		"nothing":                      {compare.Quick, seven(busy), 0, 1, 2000},
		"less than nothing":            {compare.Quick, seven(busy), -time.Second, 1, 2000},
		"rows that stay, enough":       {kept, seven(busy), 80 * time.Second, 5, 20_000},
		"rows that stay, too little":   {kept, seven(busy), 40 * time.Second, 2, 20_000},
		"rows that stay, far too many": {kept, seven(busy), 5 * time.Second, 1, 20_000},
		"no strategy":                  {compare.Quick, nil, time.Minute, 5, 20_000},
	} {
		rounds, rows := compare.Fit(test.profile, test.costs, test.left)
		if rounds != test.rounds || rows != test.rows {
			t.Errorf("%s: got %d rounds of %d rows, want %d of %d", name, rounds, rows, test.rounds, test.rows)
		}
	}
}

// Rows that are asked for stay. The budget that they need is told before the rounds, and after them whose share the time was.
func TestBudgetKeepsRows(t *testing.T) {
	t.Parallel()
	dbtest.Long(t)
	profile := small
	profile.Rows, profile.KeepRows, profile.Batch, profile.Rounds, profile.Budget = 100_000, true, 100, 40, compare.MinBudget
	var plan string
	r, err := compare.Run(t.Context(), compare.Config{
		Targets: []*compare.Target{open(t, sqlite(t).DSN)}, Strategies: choose(t, "autoincrement", "blocks"), Profile: profile,
		Planned: func(text string) { plan = text },
	})
	if err != nil {
		t.Fatal(err)
	}
	requireDocument(t, r)
	if g := r.Databases[0].Strategies[0].Growth; g.Rows != profile.Rows {
		t.Errorf("got %d rows, want %d", g.Rows, profile.Rows)
	}
	if plan != r.Databases[0].Plan {
		t.Errorf("got the plan %q in the document, and was told %q", r.Databases[0].Plan, plan)
	}
	for text, want := range map[string]string{
		plan:          `^\d+ rounds? of 100,000 rows, about \S+ from now on; measured speed: \S+ rows/s \(\w+\) to .*; for 40 rounds of 100,000 rows: --budget \w+$`,
		r.Interrupted: `^the budget of 5s was over after round \d+ of 40 on sqlite:.*; most of the time went to \w+ \d+s \(of it \d+s inserting and reading rows\), \w+ .* For all rounds: --budget \w+, or leave --rows out, or without the slowest: --strategies (blocks|autoincrement)$`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("got %q, want %s", text, want)
		}
	}
}
