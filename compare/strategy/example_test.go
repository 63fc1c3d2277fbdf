package strategy_test

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// reversed makes snowflakes with their bits from end to end, so that rows that come one after the other are spread over all of a table.
type reversed struct{ idgen.Source[int64] }

// reverse turns the 63 bits round that a key has.
func reverse(id int64) int64 { return int64(bits.Reverse64(uint64(id)) >> 1) }

func (r reversed) Next(ctx context.Context) (int64, error) {
	id, err := r.Source.Next(ctx)
	return reverse(id), err
}

func (r reversed) Fill(ctx context.Context, ids []int64) error {
	err := r.Source.Fill(ctx, ids)
	for i := range ids {
		ids[i] = reverse(ids[i])
	}
	return err
}

// A strategy of an application's own, to be compared with the others.
func ExampleRegister() {
	mine := strategy.New(strategy.Info{
		Name:         "reversed",
		About:        "64-bit snowflakes with their bits reversed, for tables that are split by ranges of the key.",
		Origin:       "our own",
		Needs:        "a node number for each process",
		Cost:         "rows go to all pages of the index",
		Coordination: "the node numbers",
		Decodes:      "when it was made, reversed",
		Guess:        "as of the snowflake",
		Order:        strategy.Unordered,
		Limit:        idgen.Snowkey.PerSecond(),
	}, func(_ context.Context, at strategy.Environment) (idgen.Source[int64], error) {
		generator, err := idgen.New(idgen.WithNode(int64(at.Process)))
		if err != nil {
			return nil, err
		}
		return reversed{generator}, nil
	})
	if err := strategy.Register(mine); err != nil {
		fmt.Println(err)
		return
	}
	selected, err := strategy.Select("snowkey", "reversed")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range selected {
		fmt.Println(s.Info().Name)
	}
	// Output:
	// snowkey
	// reversed
}
