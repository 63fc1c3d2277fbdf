package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

// The criteria, as reports have them.
const (
	one       = "Fast inserts and small rows, one database"
	several   = "Inserts over several connections at once"
	own       = "Keys made in the application"
	processes = "Many processes, no node numbers by hand"
	shards    = "Even shards by key % n"
	secret    = "Keys nobody can guess; they may tell the time"
	silent    = "Keys nobody can guess, and that tell nothing"
	numbers   = "Numbers that JavaScript reads"
	uuids     = "Keys of the 128-bit UUID type"
	killed    = "No key twice when the database is killed"
)

// decide returns the decision table of a database.
func decide(d result.Database) []result.Decision {
	return report.Decide(result.Document{Databases: []result.Database{d}}).Databases[0].Decisions
}

// change changes a strategy of a case.
type change func(*result.Strategy)

// around is five samples within 2 % of a value: those of values a tenth apart do not overlap, those of equal values are the same.
func around(value float64) result.Figure {
	return result.Measured(value*0.98, value*0.99, value, value*1.01, value*1.02)
}

// made is a strategy that passed its checks, makes a key in 50 ns and has no order that could be guessed; half its bytes are in the table.
func made(name string, rate, bytes float64, changes ...change) result.Strategy {
	s := result.Strategy{
		Name: name, Coordination: "none", Decodes: "nothing",
		Verify:     result.Verify{Checks: []result.Check{{Name: "unique: processes", State: result.Passed, Keys: 1000}}},
		Key:        result.Key{Column: "bigint", Bytes: 8, Text: 19, Numeric: true, Gap: result.Measured(1)},
		Generation: result.Generation{Uncapped: []result.Speed{{Goroutines: 1, Keys: 1, Time: around(50)}}},
		Storage:    result.Storage{Table: around(bytes / 2), Index: around(bytes / 2)},
		Shards:     result.Shards{Chi: []result.Chi{{Shards: 2, Value: 1, P: 0.3}, {Shards: 4, Value: 3, P: 0.4}}},
		Crash:      result.Crash{Twice: result.Missing("the keys are made without the database")},
	}
	grow(rate, rate)(&s)
	for _, c := range changes {
		c(&s)
	}
	return s
}

// grow sets the rate over all rows, and that of the last tenth.
func grow(rate, last float64) change {
	return func(s *result.Strategy) {
		s.Growth = result.Growth{Rows: 10_000_000, Tenths: make([]result.Tenth, 10)}
		for _, r := range around(rate).Samples {
			s.Growth.Batches = append(s.Growth.Batches, []int64{int64(1e13 / r)})
		}
		for i := range s.Growth.Tenths {
			s.Growth.Tenths[i].RowsPerSecond = around(rate)
		}
		s.Growth.Tenths[9].RowsPerSecond = around(last)
	}
}

// writing adds the rate and the bytes a row of several connections.
func writing(connections, batch int, rate, bytes float64) change {
	return func(s *result.Strategy) {
		s.Writers = append(s.Writers, result.Writers{Connections: connections, Batch: batch, Rows: 1000, RowsPerSecond: around(rate), Last: around(rate),
			Table: around(bytes), Index: around(0)})
	}
}

// stop ends all rounds at so many rows, at the rate that they had.
func stop(rows int) change {
	return func(s *result.Strategy) {
		for _, round := range s.Growth.Batches {
			round[0] = int64(float64(round[0]) * float64(rows) / float64(s.Growth.Rows))
		}
		s.Growth.Rows = rows
	}
}

// steady sets the rate of all rounds to nearly the same.
func steady(rate float64) change {
	return func(s *result.Strategy) {
		for i := range s.Growth.Batches {
			s.Growth.Batches[i] = []int64{int64(1e13/rate) + int64(i)}
		}
	}
}

func agree(on string) change { return func(s *result.Strategy) { s.Coordination = on } }

func takes(ns float64) change {
	return func(s *result.Strategy) { s.Generation.Uncapped[0].Time = around(ns) }
}

func gap(bits float64) change { return func(s *result.Strategy) { s.Key.Gap = result.Measured(bits) } }

func decodes(text string) change { return func(s *result.Strategy) { s.Decodes = text } }

func twice(keys ...float64) change {
	return func(s *result.Strategy) { s.Crash.Twice = result.Measured(keys...) }
}

func uneven(p float64) change {
	return func(s *result.Strategy) { s.Shards.Chi[1] = result.Chi{Shards: 4, Value: 31, P: p} }
}

// hot has the keys carry buckets.
func hot(s *result.Strategy) { s.Shards.Hot = []result.Bucket{{Bucket: 1, Share: 0.1, Tenants: 1}} }

func key(bytes, text int, numeric, safe bool) change {
	return func(s *result.Strategy) {
		s.Key.Bytes, s.Key.Text, s.Key.Numeric, s.Key.JSSafe = bytes, text, numeric, safe
	}
}

// rounds leaves so many rounds of the growth and the sizes.
func rounds(n int) change {
	return func(s *result.Strategy) {
		s.Growth.Batches = s.Growth.Batches[:n]
		s.Storage.Table.Samples, s.Storage.Index.Samples = s.Storage.Table.Samples[:n], s.Storage.Index.Samples[:n]
	}
}

func failed(s *result.Strategy) {
	s.Verify.Checks = append(s.Verify.Checks, result.Check{Name: "order", State: result.Failed, Evidence: "2 before 1"})
}

func unchecked(s *result.Strategy) { s.Verify.Checks = nil }

func inserted(s *result.Strategy) {
	m := result.Missing("the INSERT makes it")
	s.Generation.Uncapped[0].Time, s.Crash.Twice, s.Shards = m, m, result.Shards{Why: m.Why}
}

// untimed has no key made, as when a run was broken off before its first round.
func untimed(s *result.Strategy) { s.Generation = result.Generation{} }

func ungrown(s *result.Strategy) { s.Growth = result.Growth{Why: "no room"} }

func unsized(s *result.Strategy) { s.Storage.Index = result.Missing("no rights") }

func TestDecide(t *testing.T) {
	type all = []result.Strategy
	const grant = "the node numbers, by a grant in the database"
	for name, c := range map[string]struct {
		want    string
		of      all
		take    string
		because string // one of the reasons
		not     string // one of those against others
	}{
		"the faster one":                 {one, all{made("a", 100e3, 100), made("b", 60e3, 100)}, "a", "100k rows/s", "b: 1.67 × slower (60k against 100k rows/s)"},
		"the faster one, turned":         {one, all{made("a", 60e3, 100), made("b", 100e3, 100)}, "b", "100k rows/s, 1.67 × a", "a: 1.67 × slower (60k against 100k rows/s)"},
		"slower at the end":              {one, all{made("a", 98e3, 159), made("b", 60e3, 265, grow(60e3, 10e3))}, "a", "159 bytes a row", "b: 1.63 × slower (60k against 98k rows/s), 9.80 × in the last tenth; 265 against 159 bytes a row"},
		"the smaller one of equal rates": {one, all{made("a", 100e3, 120), made("b", 100e3, 100)}, "b", "100k rows/s, no difference to a; 100 bytes a row, against 120 of a", "a: 120 against 100 bytes a row"},
		"turned":                         {one, all{made("a", 100e3, 100), made("b", 100e3, 120)}, "a", "100 bytes a row", "b: 120 against 100 bytes a row"},
		"no difference: the simpler one": {one, all{made("a", 100e3, 100, agree(grant)), made("b", 101e3, 100)}, "b a", "level with a in rows/s and bytes: its coordination is simpler (none)", ""},
		"no difference, turned":          {one, all{made("a", 100e3, 100), made("b", 101e3, 100, agree(grant))}, "a b", "level with b in rows/s and bytes: its coordination is simpler (none)", ""},
		"making a key decides nothing":   {one, all{made("a", 100e3, 100, takes(65)), made("b", 100e3, 100)}, "a b", "level with b in rows/s and bytes: take either", ""},
		"no difference at all":           {one, all{made("a", 100e3, 100), made("b", 100e3, 100)}, "a b", "level with b in rows/s and bytes: take either", ""},
		"standing without a difference":  {one, all{made("autoincrement", 100e3, 100, agree(grant)), made("b", 100e3, 100)}, "b autoincrement", "100k rows/s, no difference to autoincrement", ""},
		"the reference comes second":     {own, all{made("b", 60e3, 120), made("autoincrement", 100e3, 100, inserted)}, "b", "0.60 × autoincrement", "autoincrement: the INSERT makes it"},
		"one round":                      {one, all{made("a", 60e3, 100, rounds(1)), made("b", 100e3, 100, rounds(1))}, "", "rounds: 1; rates are told apart from 4 on", ""},
		"real, but too small to matter":  {one, all{made("a", 100e3, 100, agree(grant), steady(100e3)), made("b", 98.5e3, 100, steady(98.5e3))}, "b a", "its coordination is simpler (none)", ""},
		"too few rounds, far apart":      {one, all{made("a", 60e3, 100, rounds(2)), made("b", 100e3, 100, agree(grant), rounds(2))}, "", "what fits: a, b", ""},
		"too few rounds, near":           {one, all{made("a", 96e3, 100, rounds(2)), made("b", 100e3, 100, agree(grant), rounds(2))}, "", "rounds: 2; rates are told apart from 4 on", ""},
		"four rounds":                    {one, all{made("a", 60e3, 100, rounds(4)), made("b", 100e3, 100, rounds(4))}, "b", "rows/s, 1.67 × a", "a: 1.67 × slower"},
		"one that fits needs no rounds":  {numbers, all{made("a", 100e3, 100, rounds(1)), made("b", 60e3, 100, key(8, 16, true, true), rounds(1))}, "b", "sqltype.ID writes", ""},
		"one that fits needs no rows":    {numbers, all{made("b", 60e3, 100, key(8, 16, true, true), ungrown)}, "b", "rows/s were not measured: no room", ""},
		"several that fit and no rows":   {own, all{made("a", 100e3, 100, ungrown), made("b", 60e3, 100, ungrown)}, "", "rows/s were not measured: no room", ""},
		"several connections": {several, all{made("autoincrement", 100e3, 100, writing(16, 1, 20e3, 100), writing(16, 20, 50e3, 150)),
			made("b", 60e3, 140, writing(16, 1, 30e3, 90), writing(16, 20, 20e3, 90)), made("c", 90e3, 90, writing(16, 1, 30e3, 95))},
			"b", "30k rows/s, 1.50 × autoincrement; 90 bytes a row, against 100 of autoincrement", "c: 95 against 90 bytes a row"},
		"one connection alone":  {several, all{made("a", 100e3, 100), made("b", 60e3, 100, writing(16, 1, 30e3, 90))}, "b", "30k rows/s", "a: not measured: no rows over several connections"},
		"the fastest of none":   {one, all{made("a", 100e3, 100, ungrown)}, "", "no room", ""},
		"inserts of one only":   {one, all{made("a", 60e3, 100), made("b", 100e3, 10, ungrown)}, "a", "60k rows/s", "b: not measured: no room"},
		"bytes of one only":     {one, all{made("a", 100e3, 100, unsized), made("b", 100e3, 100)}, "b", "100 bytes a row", "a: its bytes a row were not measured: no rights"},
		"bytes of none":         {one, all{made("a", 100e3, 100, unsized), made("b", 50e3, 100, unsized)}, "a", "bytes a row were not measured: no rights", "b: 2.00 × slower"},
		"given up for slowness": {one, all{made("a", 100e3, 100, stop(2_000_000)), made("b", 60e3, 100)}, "b", "60k rows/s", "a: its table got to 2,000,000 rows, at 100k rows/s; that of b to 10,000,000, at 60k"},
		"stopped at nearly all": {one, all{made("a", 100e3, 100, stop(9_500_000)), made("b", 60e3, 100)}, "a", "100k rows/s", "b: 1.67 × slower"},

		"never one that failed":       {one, all{made("a", 100e3, 100, failed), made("b", 60e3, 120)}, "b", "60k rows/s", ""},
		"never one that was left out": {one, all{made("a", 100e3, 100, func(s *result.Strategy) { s.Skipped = "no server" }), made("b", 60e3, 120)}, "b", "", ""},
		"never one without checks":    {one, all{made("a", 100e3, 100, unchecked), made("b", 60e3, 120)}, "b", "", "a: not measured: its keys were not checked"},
		"never keys issued twice":     {one, all{made("a", 100e3, 100, twice(0, 21e3, 0)), made("b", 60e3, 120)}, "b", "", "a: up to 21,000 keys issued twice after the database was killed"},
		"none is left":                {one, all{made("a", 100e3, 100, twice(1)), made("b", 60e3, 120, failed)}, "", "a: up to 1 keys issued twice", ""},
		"nothing was measured":        {one, nil, "", "no strategy was measured", ""},

		"made in the process":           {own, all{made("a", 100e3, 100, inserted), made("b", 60e3, 100), made("c", 90e3, 100, takes(74e3))}, "b", "50 ns a key in the process", "c: 74 µs a key: each is asked for"},
		"made in the process, turned":   {own, all{made("b", 60e3, 100, takes(74e3)), made("c", 50e3, 100, takes(9e3))}, "c", "9 µs a key in the process", "b: 74 µs a key"},
		"the INSERT makes it":           {own, all{made("a", 100e3, 100, inserted), made("b", 60e3, 100)}, "b", "", "a: the INSERT makes it"},
		"others untimed, no rows":       {own, all{made("a", 60e3, 100, ungrown), made("b", 100e3, 100, ungrown, untimed)}, "", "what fits: a", ""},
		"others untimed, with rows":     {own, all{made("a", 60e3, 100), made("b", 100e3, 100, ungrown, untimed)}, "a", "60k rows/s", "b: not measured: making keys was not timed"},
		"shards untimed, no rows":       {shards, all{made("a", 60e3, 100, ungrown), made("b", 100e3, 100, ungrown, untimed)}, "", "what fits: a", ""},
		"not even the code was timed":   {own, all{made("a", 100e3, 100, inserted)}, "", "a: the INSERT makes it", ""},
		"nodes by hand":                 {processes, all{made("a", 100e3, 100, agree("the worker's number, by hand")), made("b", 60e3, 100, agree(grant))}, "b", "1,000 keys of several processes all differ; these agree upon " + grant, "a: its processes have to agree upon the worker's number, by hand"},
		"nodes by hand, turned":         {processes, all{made("a", 100e3, 100, agree(grant)), made("b", 60e3, 100, agree("the worker's number, by hand"))}, "a", "measured with one process: what many do to its table was not measured", ""},
		"the figures of the fleet":      {processes, all{made("a", 100e3, 100, agree(grant)), made("a-fleet16", 70e3, 150), made("b", 80e3, 120, gap(62))}, "b", "80k rows/s", "a: as a-fleet16 1.14 × slower (70k against 80k rows/s); 150 against 120 bytes a row"},
		"a fleet has no buckets":        {processes, all{made("a", 100e3, 100, agree(grant)), made("a-fleet16", 70e3, 150), made("a-sharded", 200e3, 90, agree(grant), hot)}, "a", "70k rows/s", "a-sharded: not measured: no rows of many processes, as a-fleet16 has them"},
		"the fleet is fast":             {processes, all{made("a", 100e3, 100, agree(grant)), made("a-fleet16", 90e3, 110), made("b", 80e3, 120, gap(62))}, "a", "as a-fleet16: 90k rows/s", "b: 1.13 × slower"},
		"no fleet of a counter":         {processes, all{made("a", 100e3, 100, agree(grant)), made("a-fleet16", 70e3, 150), made("b", 80e3, 120)}, "a", "as a-fleet16: 70k rows/s, 0.70 × a; 150 bytes a row, against 100 of a", "b: not measured: no rows of many processes, as a-fleet16 has them"},
		"a fleet is no choice":          {one, all{made("a", 60e3, 120), made("a-fleet16", 100e3, 100)}, "a", "60k rows/s", ""},
		"processes were not looked at":  {processes, all{made("a", 100e3, 100, func(s *result.Strategy) { s.Verify.Checks[0].Name = "order" })}, "", "keys of several processes were not looked at", ""},
		"even shards":                   {shards, all{made("a", 100e3, 100, uneven(1e-9)), made("b", 60e3, 100)}, "b", "even over 2 to 4 shards (χ², p 0.3 at the least)", "a: uneven: χ² = 31 for 4 shards, where even ones give 3 or so (p < 0.0001)"},
		"even shards, turned":           {shards, all{made("a", 100e3, 100, uneven(0.0002)), made("b", 60e3, 100)}, "a", "p 0.0002 at the least", "b: 1.67 × slower"},
		"shards need keys first":        {shards, all{made("a", 100e3, 100, inserted), made("b", 60e3, 100)}, "b", "", "a: its keys are not known before the row is stored: the INSERT makes it"},
		"shards were not measured":      {shards, all{made("a", 100e3, 100, func(s *result.Strategy) { s.Shards = result.Shards{Why: "no time"} })}, "", "no time", ""},
		"guessed":                       {secret, all{made("a", 100e3, 100, gap(59)), made("b", 60e3, 100, gap(61))}, "b", "keys lie some 2^61 apart; a key tells nothing", "a: keys lie some 2^59 apart"},
		"guessed, turned":               {secret, all{made("a", 100e3, 100, gap(60)), made("b", 60e3, 100, gap(0))}, "a", "2^60 apart", "b: who knows a key can work out the next"},
		"nobody tried":                  {secret, all{made("a", 100e3, 100, func(s *result.Strategy) { s.Key.Gap = result.Missing("too few keys") })}, "", "too few keys", ""},
		"tells the time":                {silent, all{made("a", 100e3, 100, gap(64), decodes("when it was made")), made("b", 60e3, 100, gap(122))}, "b", "keys lie some 2^122 apart; a key tells nothing", "a: a key tells when it was made"},
		"tells nobody knows what":       {silent, all{made("a", 100e3, 100, gap(64), decodes("")), made("b", 60e3, 100, gap(3))}, "", "a: what a key tells is not stated", ""},
		"numbers of JavaScript":         {numbers, all{made("a", 100e3, 100), made("b", 60e3, 100, key(8, 16, true, true)), made("c", 90e3, 100, key(16, 36, false, true))}, "b", "numbers of 16 digits in this run, below 2^53", "a: numbers of 19 digits, not exact above 2^53"},
		"numbers of JavaScript, turned": {numbers, all{made("a", 100e3, 100, key(8, 15, true, true)), made("b", 60e3, 100, key(8, 16, true, true))}, "a", "numbers of 15 digits", "b: 1.67 × slower"},
		"text is no number":             {numbers, all{made("c", 90e3, 100, key(16, 36, false, true))}, "", "c: text there, of 36 characters", ""},
		"UUIDs":                         {uuids, all{made("a", 100e3, 100), made("v4", 50e3, 130, key(16, 36, false, true)), made("v7", 90e3, 120, key(16, 36, false, true))}, "v7", "16 bytes as bigint", "v4: 1.80 × slower (50k against 90k rows/s); 130 against 120 bytes a row"},
		"UUIDs, turned":                 {uuids, all{made("v4", 90e3, 120, key(16, 36, false, true)), made("v7", 50e3, 130, key(36, 36, false, true)), made("o", 99e3, 100, key(12, 24, false, true))}, "v4", "", "v7: 1.80 × slower"},
		"no UUID":                       {uuids, all{made("o", 99e3, 100, key(12, 24, false, true))}, "", "o: 12 bytes, 24 characters", ""},
		"killed":                        {killed, all{made("a", 100e3, 100, twice(0, 3)), made("b", 60e3, 100, twice(0, 0, 0))}, "b", "3 kills, 0 keys issued twice", "a: up to 3 keys issued twice after the database was killed"},
		"killed, turned":                {killed, all{made("a", 100e3, 100, twice(0, 0)), made("b", 60e3, 100, twice(5, 0, 0))}, "a", "2 kills, 0 keys issued twice", "b: up to 5 keys"},
		"killed, without keys of it":    {killed, all{made("a", 60e3, 100, twice(0)), made("b", 100e3, 100), made("c", 110e3, 100, inserted)}, "b", "the keys are made without the database, 50 ns a key", "c: not measured: the INSERT makes it"},
		"nobody was killed":             {killed, all{made("a", 60e3, 100), made("b", 100e3, 100, inserted)}, "", "not measured of b: the INSERT makes it", ""},
	} {
		t.Run(name, func(t *testing.T) {
			table := decide(result.Database{Strategies: c.of})
			i := slices.IndexFunc(table, func(a result.Decision) bool { return a.Want == c.want })
			if i < 0 {
				t.Fatalf("got no line %q", c.want)
			}
			got := table[i]
			if strings.Join(got.Take, " ") != c.take {
				t.Errorf("got %q, want %q: %q", got.Take, c.take, got.Because)
			}
			has := func(all []string, part string) bool {
				return slices.ContainsFunc(all, func(text string) bool { return strings.Contains(text, part) })
			}
			if !has(got.Because, c.because) {
				t.Errorf("got the reasons %q, want %q among them", got.Because, c.because)
			}
			if c.not != "" && !has(got.Not, c.not) {
				t.Errorf("got against others %q, want %q among them", got.Not, c.not)
			}
		})
	}
}

// TestDecideNeverTakesWhatIsWrong looks at all lines of the sample, with each strategy spoilt in its turn.
func TestDecideNeverTakesWhatIsWrong(t *testing.T) {
	taken := map[string]bool{}
	for _, d := range sample().Databases {
		for _, a := range decide(d) {
			taken[strings.Join(a.Take, " ")] = true
		}
		for name, spoil := range map[string]change{"failed": failed, "unchecked": unchecked, "issued twice": twice(0, 1)} {
			for i, s := range d.Strategies {
				spoil(&d.Strategies[i])
				for _, a := range decide(d) {
					if slices.Contains(a.Take, s.Name) {
						t.Errorf("%s, %s: got %s, which is %s", d.Kind, a.Want, a.Take, name)
					}
				}
				d.Strategies[i] = s
			}
		}
	}
	if len(taken) < 3 {
		t.Errorf("only %v are ever taken, so that nothing was looked at", taken)
	}
}

// TestDecideOnTheSample looks at what a reader of the sample is told of MariaDB.
func TestDecideOnTheSample(t *testing.T) {
	want := []string{"autoincrement snowkey", "snowkey", "uuidv7", "snowkey", "uuidv7", "uuidv4", "autoincrement", "uuidv7", "snowkey"}
	var got []string
	for _, a := range decide(sample().Databases[1]) {
		got = append(got, strings.Join(a.Take, " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDecideOnCoordination looks at sentences that strategies have on what their processes agree upon: who needs people is no advice for those
// who want to set nothing, and among equals the simpler one is named first.
func TestDecideOnCoordination(t *testing.T) {
	sentences := [][]string{ // the simplest first; the last group is by hand
		{"none", "none, as the database counts for all", "nothing", ""},
		{
			"the node number: through the database, by compare and swap, without anybody's doing", "all through the one server, once a block",
			"addresses that differ in their low 24 bits: the cluster's network gives them", "what an own strategy says",
		},
		{"the worker's number, by hand here; Leaf has it in ZooKeeper", "a number configured in each process"},
	}
	advise := func(want string, of ...result.Strategy) result.Decision {
		table := decide(result.Database{Strategies: of})
		return table[slices.IndexFunc(table, func(a result.Decision) bool { return a.Want == want })]
	}
	for i, group := range sentences {
		for _, sentence := range group {
			wanted := "a"
			if i == len(sentences)-1 {
				wanted = ""
			}
			if got := advise(processes, made("a", 100e3, 100, agree(sentence))); strings.Join(got.Take, " ") != wanted {
				t.Errorf("%q: got %q for many processes, want %q", sentence, got.Take, wanted)
			}
			for _, worse := range slices.Concat(sentences[i+1:]...) {
				if got := advise(one, made("a", 100e3, 100, agree(worse)), made("b", 100e3, 100, agree(sentence))); strings.Join(got.Take, " ") != "b a" {
					t.Errorf("got %q, want %q before %q", got.Take, sentence, worse)
				}
			}
		}
	}
}

// TestDecideNamesTheNearestFirst looks at the order of those that are not taken: what is only larger, what is slower, what does not fit; and
// what gave keys twice before them all where the criterion is about that.
func TestDecideNamesTheNearestFirst(t *testing.T) {
	d := result.Database{Strategies: []result.Strategy{
		made("unfit", 100e3, 100, failed), made("twice", 100e3, 100, twice(7)), made("slowest", 20e3, 90, twice(0)), made("slow", 60e3, 90),
		made("larger", 100e3, 150), made("large", 100e3, 120), made("taken", 100e3, 100),
	}}
	for want, first := range map[string][]string{
		one:    {"large", "larger", "slow", "slowest", "twice"},
		killed: {"twice", "large", "larger", "slow", "slowest"},
	} {
		table := decide(d)
		var got []string
		for _, not := range table[slices.IndexFunc(table, func(a result.Decision) bool { return a.Want == want })].Not {
			name, _, _ := strings.Cut(not, ":")
			got = append(got, name)
		}
		if !slices.Equal(got, first) {
			t.Errorf("%s: got %q, want %q", want, got, first)
		}
	}
}

// Bytes a row of one round are not called the same as others because one round proves no difference.
func TestBytesOfOneRound(t *testing.T) {
	round := func(bytes float64) change {
		return func(s *result.Strategy) {
			s.Storage.Table, s.Storage.Index = result.Measured(bytes/2), result.Measured(bytes/2)
		}
	}
	d := result.Database{Strategies: []result.Strategy{made("autoincrement", 100e3, 0, round(67)), made("fast", 200e3, 0, round(111))}}
	got := strings.Join(decide(d)[0].Because, "; ")
	if !strings.Contains(got, "111 bytes a row, against 67 of autoincrement") {
		t.Errorf("got %q, want both figures", got)
	}
}
