package compare

import (
	"context"

	"github.com/snowkey-go/snowkey/compare/internal/database"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// Strategy is a way to give rows their keys, see package strategy.
type Strategy = strategy.Strategy

// The errors that tell what was wrong. They are wrapped in those that are returned.
var (
	ErrStrategy = strategy.ErrStrategy // a name is no strategy, or cannot be one
	ErrDatabase = database.ErrDatabase // a database cannot be used
)

// NewStrategy makes a strategy of a function that opens a source of keys, see strategy.New.
func NewStrategy[K strategy.KeyType](info strategy.Info, open func(ctx context.Context, at strategy.Place) (idgen.Source[K], error)) Strategy {
	return strategy.New(info, open)
}

// Register adds a strategy to those that [Strategies] returns. The error wraps [ErrStrategy] where its name is no good, or taken. It is safe for
// concurrent use.
func Register(s Strategy) error { return strategy.Register(s) }

// Strategies returns all strategies, in the order of the report.
func Strategies() []Strategy { return strategy.All() }

// Select returns the strategies of the names given, all for none. The error wraps [ErrStrategy] and lists the names there are.
func Select(names ...string) ([]Strategy, error) { return strategy.Select(names...) }
