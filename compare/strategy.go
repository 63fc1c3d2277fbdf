package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/sqltype"
)

// ErrStrategy says that a name is no strategy.
var ErrStrategy = errors.New("compare: unknown strategy")

// Strategy is a way to give rows their keys.
type Strategy interface {
	// Name is how the strategy is called on the command line and in reports.
	Name() string
	// About says in a sentence what the keys are and who makes them.
	About() string
	// Limit is the most keys a second that one process can make, 0 where nothing but its speed limits it.
	Limit() float64
	// Open makes a fresh table of that name in the database. The plugins on db are this strategy's alone.
	Open(ctx context.Context, db *gorm.DB, table string) (Table, error)
}

// Table is a table whose rows get their keys by one strategy. It is not safe for concurrent use.
type Table interface {
	// Insert inserts the orders through GORM, in one statement and one transaction.
	Insert(ctx context.Context, orders []Order) error
	// Generate makes n keys and drops them. It returns [errors.ErrUnsupported] where the database makes the keys.
	Generate(ctx context.Context, n int) error
}

// Order is what the rows of all tables hold beside their keys.
type Order struct {
	CustomerID int64     `gorm:"index"`
	Status     string    `gorm:"size:16"`
	Total      int64     // cents
	CreatedAt  time.Time // set by the maker of the order
}

// Strategies returns all strategies, in the order of the report.
func Strategies() []Strategy {
	return []Strategy{
		strategy[int64]{name: "autoincrement", about: "64-bit numbers that the database counts", open: databaseKeys},
		strategy[sqltype.ID]{
			name: "snowflake", about: "64-bit snowflake keys of the default layout, filled in by the plugin", open: snowflakeKeys,
			limit: float64((idgen.Snowkey.Max(idgen.Sequence) + 1) * int64(time.Second/idgen.Snowkey.Unit())),
		},
		strategy[UUID]{name: "uuidv4", about: "128-bit keys, 122 of them random, stored binary", open: uuidKeys(uuid.NewRandom)},
		strategy[UUID]{name: "uuidv7", about: "128-bit keys, milliseconds and then random bits, stored binary", open: uuidKeys(uuid.NewV7)},
	}
}

// Select returns the strategies of the names given, all for none. The error wraps [ErrStrategy] and lists the names there are.
func Select(names ...string) ([]Strategy, error) {
	all := Strategies()
	if len(names) == 0 {
		return all, nil
	}
	byName, known := map[string]Strategy{}, make([]string, len(all))
	for i, s := range all {
		byName[s.Name()], known[i] = s, s.Name()
	}
	selected, seen := make([]Strategy, 0, len(names)), map[string]bool{}
	for _, name := range names {
		s, ok := byName[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("%w %q; there are %s", ErrStrategy, name, strings.Join(known, ", "))
		case seen[name]:
			return nil, fmt.Errorf("%w list: %s is named twice", ErrStrategy, name)
		}
		seen[name] = true
		selected = append(selected, s)
	}
	return selected, nil
}
