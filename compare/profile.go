package compare

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrConfig says that a setting of a run is out of its range.
var ErrConfig = errors.New("compare: invalid setting")

// The limits of a [Profile].
const (
	MinRows   = 10 // a row a tenth
	MaxRows   = 100_000_000
	MaxRounds = 100
	MaxBatch  = 1000 // SQLite takes 32,766 values a statement
	MaxRate   = 1_000_000.0
	// MaxConnections insert at once. Servers have some hundred.
	MaxConnections = 64
	MinBudget      = 5 * time.Second
)

// Profile says how thoroughly is measured.
type Profile struct {
	Name string // in the result; not empty
	// Rows are inserted in each table and round; fewer, down to a tenth, where a pilot shows that the budget does not suffice for them.
	Rows int
	// KeepRows has as many rows also where the budget does not suffice for them: there are fewer rounds then.
	KeepRows bool
	Batch    int // rows an INSERT
	// Writers are the ways in which several connections insert at once, into a table of as many rows each; on servers alone, as SQLite has one writer at a time.
	Writers []Writers
	Rounds  int
	// Budget is how long the run may take, 0 for as long as it needs. What is left undone then is named in the result.
	Budget time.Duration
	// Slow bounds one strategy's inserts of one round. What it has not inserted by then is named in the result.
	Slow time.Duration
	// Rate is the keys a second at which the latency of single keys is taken, for the time Steady.
	Rate   float64
	Steady time.Duration
	// Keys are how many keys a check looks at; of sources that cost a round trip a key, a fiftieth.
	Keys int
	// Kills are how often a private server is killed for each strategy.
	Kills int
	// Every has all strategies take part where none is named, and not only those of [strategy.Usual].
	Every bool
}

// Writers are connections that insert at once, with so many rows an INSERT.
type Writers struct{ Connections, Batch int }

// ParseWriters reads connections and rows an INSERT with an x between them, such as 16x20. The error wraps [ErrConfig].
func ParseWriters(text string) (w Writers, err error) {
	if _, err := fmt.Sscanf(text, "%dx%d", &w.Connections, &w.Batch); err != nil || w.String() != text {
		return w, fmt.Errorf("%w: writers %q, want connections and rows an INSERT, such as 16x20", ErrConfig, text)
	}
	return w, w.check()
}

// String is the text that [ParseWriters] reads.
func (w Writers) String() string { return fmt.Sprintf("%dx%d", w.Connections, w.Batch) }

func (w Writers) check() error {
	if w.Connections < 1 || w.Connections > MaxConnections || w.Batch < 1 || w.Batch > MaxBatch {
		return fmt.Errorf("%w: writers %s, must be 1 to %d connections and 1 to %d rows an INSERT", ErrConfig, w, MaxConnections, MaxBatch)
	}
	return nil
}

// Quick is the profile of a look around: a minute or so on SQLite. Full takes some minutes to an hour on a server, for figures to decide by.
var (
	Quick = Profile{
		Name: "quick", Rows: 20_000, Batch: 100, Rounds: 5, Budget: 70 * time.Second, Slow: time.Second,
		Writers: []Writers{{1, 20}, {16, 20}},
		Rate:    1000, Steady: 300 * time.Millisecond, Keys: 10_000, Kills: 1,
	}
	Full = Profile{
		Name: "full", Rows: 300_000, Batch: 100, Rounds: 5, Budget: 30 * time.Minute, Slow: 2 * time.Minute,
		Writers: []Writers{{1, 20}, {16, 1}, {16, 20}},
		Rate:    1000, Steady: 2 * time.Second, Keys: 100_000, Kills: 3, Every: true,
	}
)

// Profiles returns the profiles there are.
func Profiles() []Profile { return []Profile{Quick, Full} }

// LookupProfile returns the profile of a name.
func LookupProfile(name string) (Profile, error) {
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("%w: unknown profile %q; there are %s and %s", ErrConfig, name, Quick.Name, Full.Name)
}

// Check returns an error that wraps [ErrConfig] for a profile that is out of its ranges.
func (p Profile) Check() error {
	switch {
	case p.Name == "":
		return fmt.Errorf("%w: a profile without a name", ErrConfig)
	case p.Rows < MinRows || p.Rows > MaxRows:
		return fmt.Errorf("%w: %d rows, must be %d to %d", ErrConfig, p.Rows, MinRows, MaxRows)
	case p.Batch < 1 || p.Batch > MaxBatch:
		return fmt.Errorf("%w: %d rows an INSERT, must be 1 to %d", ErrConfig, p.Batch, MaxBatch)
	case p.Rounds < 1 || p.Rounds > MaxRounds:
		return fmt.Errorf("%w: %d rounds, must be 1 to %d", ErrConfig, p.Rounds, MaxRounds)
	case p.Budget != 0 && p.Budget < MinBudget:
		return fmt.Errorf("%w: a budget of %v, must be at least %v, or 0 for none", ErrConfig, p.Budget, MinBudget)
	case p.Slow <= 0 || p.Steady <= 0 || p.Keys < 1 || p.Kills < 0:
		return fmt.Errorf("%w: the profile %q has a time or a number of keys that is not positive, or kills below 0", ErrConfig, p.Name)
	case !(p.Rate > 0 && p.Rate <= MaxRate) || p.Rate*p.Steady.Seconds() < 1:
		return fmt.Errorf("%w: %v keys a second for %v, must be above 0 and at most %d, and one key or more", ErrConfig, p.Rate, p.Steady, int(MaxRate))
	}
	for i, w := range p.Writers {
		if err := w.check(); err != nil {
			return err
		}
		if slices.Contains(p.Writers[:i], w) {
			return fmt.Errorf("%w: writers %s twice", ErrConfig, w)
		}
	}
	return nil
}
