package table_test

import (
	"errors"
	"testing"

	"github.com/snowkey-go/snowkey/internal/table"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]table.Name{
		"t": {Name: "t"}, "s.t": {Schema: "s", Name: "t"}, `"a.b".t`: {Schema: "a.b", Name: "t"}, "`a``b`": {Name: "a`b"}, `"a""b"`: {Name: `a"b`},
		"s.`x.y`": {Schema: "s", Name: "x.y"}, " a b ": {Name: " a b "}, `a"b`: {Name: `a"b`},
	} {
		got, err := table.Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
		if again, err := table.Parse(got.String()); err != nil || again != got {
			t.Errorf("%s: its text %s is read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a.b.c", `"a`, `"a"b`, "``", "a\x00", `""."a"`} {
		if got, err := table.Parse(text); !errors.Is(err, table.ErrName) {
			t.Errorf("%q: got %+v, %v, want an error", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"t", "s.t", `"a.b"."c""d"`, "`a``b`", `"a`, "a.b.c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := table.Parse(text)
		if err != nil {
			return
		}
		if again, err := table.Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is %+v, whose text %q is %+v, %v", text, got, got.String(), again, err)
		}
	})
}
