package strategy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowkey-go/snowkey/compare/strategy"
	"github.com/snowkey-go/snowkey/idgen"
)

func TestAll(t *testing.T) {
	want := []string{
		"autoincrement", "uuidv1", "uuidv4", "uuidv7", "uuidv1-text", "uuidv4-text", "uuidv7-text", "nanoid", "objectid-published", "objectid",
		"ticket", "flickr", "blocks", "sequence", "twitter", "shardingjdbc", "leaf", "k8sip", "game", "js53", "snowkey", "snowkey-fleet16",
		"snowkey-public", "snowkey-packed", "snowkey-packed-fleet16", "snowkey-sharded", "snowkey-scattered",
	}
	var got []string
	for _, s := range strategy.All()[:len(want)] {
		info := s.Info()
		got = append(got, info.Name)
		for what, text := range map[string]string{"About": info.About, "Origin": info.Origin, "Needs": info.Needs, "Cost": info.Cost,
			"Coordination": info.Coordination, "Decodes": info.Decodes, "Guess": info.Guess} {
			if text == "" || strings.HasSuffix(text, ".") != (what == "About") {
				t.Errorf("%s: %s is %q; want a sentence for About, and for the others words without an end", info.Name, what, text)
			}
		}
		if info.Clock && info.Unit == 0 {
			t.Errorf("%s goes by a clock and has no unit", info.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestSelect(t *testing.T) {
	if all, err := strategy.Select(); err != nil || len(all) != len(strategy.All()) {
		t.Errorf("of none: got %d, %v, want all", len(all), err)
	}
	if some, err := strategy.Select("uuidv7", "blocks"); err != nil || len(some) != 2 || some[0].Info().Name != "uuidv7" || some[1].Info().Name != "blocks" {
		t.Errorf("of two: got %v, %v", some, err)
	}
	for text, want := range map[string][]string{
		"uuid7":         {`"uuid7"`, "did you mean uuidv7?", "there are autoincrement, uuidv1"},
		"snowflake":     {"there are"},
		"objectids":     {"did you mean objectid?"},
		"":              {`""; there are`},
		"UUIDV4":        {"there are"},
		"flickr,flickr": {"flickr is named twice"},
	} {
		some, err := strategy.Select(strings.Split(text, ",")...)
		if some != nil || !errors.Is(err, strategy.ErrStrategy) {
			t.Errorf("%q: got %v, %v, want ErrStrategy", text, some, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: got %v, want %q in it", text, err, w)
			}
		}
	}
}

func named(name string) strategy.Strategy {
	return strategy.New(strategy.Info{Name: name}, func(context.Context, strategy.Environment) (idgen.Source[int64], error) {
		return nil, fmt.Errorf("%w: for the test of the registry alone", strategy.ErrUnavailable)
	})
}

func TestRegister(t *testing.T) {
	for _, s := range []strategy.Strategy{nil, named(""), named("Mine"), named("my key"), named("my_key"), named("-mine"), named("mine-"), named("my--key"), named("7mine"),
		named(strings.Repeat("a", 41)), named("uuidv4"), named("snowkey")} {
		if err := strategy.Register(s); !errors.Is(err, strategy.ErrStrategy) || strings.Contains(err.Error(), "unknown") {
			t.Errorf("Register: got %v, want ErrStrategy, and nothing unknown", err)
		}
	}
	before := len(strategy.All())
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() { errs[i] = strategy.Register(named(fmt.Sprintf("registered-%d", i/2))) })
	}
	all.Wait()
	for i := 0; i < len(errs); i += 2 {
		if (errs[i] == nil) == (errs[i+1] == nil) {
			t.Errorf("two of one name: got %v and %v, want one error", errs[i], errs[i+1])
		}
	}
	if got := len(strategy.All()); got != before+4 {
		t.Errorf("%d strategies, want %d", got, before+4)
	}
	if s, err := strategy.Select("registered-3"); err != nil || s[0].Info().Name != "registered-3" {
		t.Errorf("Select: got %v, %v", s, err)
	}
}

// The strategies that make compare-results names are there.
func TestMakefile(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "--strategies ")
	if !found {
		t.Fatal("the Makefile names no strategies")
	}
	if _, err := strategy.Select(strings.Split(strings.Fields(list)[0], ",")...); err != nil {
		t.Error(err)
	}
}
