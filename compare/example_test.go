package compare_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/snowkey-go/snowkey/compare"
	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

// texts makes keys of 26 random letters.
type texts struct{}

func (texts) Next(context.Context) (string, error) { return rand.Text(), nil }

func (t texts) Fill(_ context.Context, keys []string) error {
	for i := range keys {
		keys[i] = rand.Text()
	}
	return nil
}

// A strategy of one's own is compared like all others, once it is registered.
func ExampleRun_ownStrategy() {
	err := strategy.Register(strategy.New(strategy.Info{
		Name:         "random-text",
		About:        "26 random letters and digits",
		Origin:       "our own",
		Needs:        "nothing",
		Cost:         "26 bytes a key, at random places of the index",
		Coordination: "none",
		Decodes:      "nothing",
		Guess:        "nothing",
		Random:       130,
	}, func(context.Context, strategy.Environment) (idgen.Source[string], error) { return texts{}, nil }))
	if err != nil {
		log.Fatal(err)
	}

	folder, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	target, err := compare.OpenTarget(ctx, "sqlite:"+filepath.Join(folder, "orders.db")+"?_journal_mode=WAL", "")
	if err != nil {
		log.Fatal(err)
	}
	defer target.Close()
	chosen, err := strategy.Select("snowkey", "random-text")
	if err != nil {
		log.Fatal(err)
	}
	profile := compare.Quick
	profile.Rows, profile.Rounds = 1000, 1
	result, err := compare.Run(ctx, compare.Config{Targets: []*compare.Target{target}, Strategies: chosen, Profile: profile})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range result.Databases[0].Strategies {
		fmt.Println(s.Name, s.Verify.OK(), s.Growth.Rows, s.Key.Text)
	}
	// report.HTML(file, result) has the charts.

	// Output:
	// snowkey true 1000 18
	// random-text true 1000 26
}
