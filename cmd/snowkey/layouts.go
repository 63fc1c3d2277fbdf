package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

func newLayouts() *cobra.Command {
	c := &cobra.Command{
		Use:   "layouts [LAYOUT]...",
		Short: "List the layouts known by name, or reckon what your own can do",
		Long: `List the layouts known by name, or those that are given, by name or in text form: their fields from the top bit
down, the length of a tick, how many generators can make keys at the same time, how many a second each of them and
all together, how many years the ticks last, and when none is left.`,
		Example: `  snowkey layouts
  snowkey layouts 'time=40@1ms,node=13,sequence=10;epoch=2026-01-01T00:00:00Z'
  snowkey layouts --json twitter`,
		ValidArgs: presetNames(),
	}
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, args []string) error {
		var chosen []namedLayout
		if len(args) == 0 {
			for _, p := range idgen.Presets() {
				args = append(args, p.Name())
			}
		}
		for _, text := range args {
			var choice layoutChoice
			if err := choice.Set(text); err != nil {
				return err
			}
			named := namedLayout{Layout: choice.Layout}
			if preset, ok := choice.option.(idgen.Preset); ok {
				named = namedLayout{preset.Layout, preset.Name(), preset.Origin()}
			}
			chosen = append(chosen, named)
		}
		if *asJSON {
			return writeLayoutsJSON(c.OutOrStdout(), chosen)
		}
		return writeLayouts(c.OutOrStdout(), chosen)
	}
	return c
}

// namedLayout is a layout with the name and the origin of a preset, where it is one.
type namedLayout struct {
	idgen.Layout
	name, origin string
}

// years is how long the layout's ticks last, in years of 365.2425 days.
func (l namedLayout) years() float64 {
	return float64(l.Max(idgen.Time)+1) * l.Unit().Seconds() / (365.2425 * 24 * 60 * 60)
}

// together is how many ids a second all generators make.
func (l namedLayout) together() float64 { return l.PerSecond() * float64(l.Generators()) }

func writeLayouts(w io.Writer, layouts []namedLayout) error {
	text := new(strings.Builder)
	table := newColumns(text, "NAME", "FIELDS", "TICK", "EPOCH", "GENERATORS", "IDS/S EACH", "IDS/S ALL", "YEARS", "RUNS OUT", "ORIGIN")
	for _, l := range layouts {
		var fields []string
		for _, f := range l.Fields() {
			fields = append(fields, fmt.Sprintf("%s %d", f.Kind, f.Bits))
		}
		table.line(cmp.Or(l.name, "-"), strings.Join(fields, ", "), l.Unit(), formatTime(l.Epoch(), l.Unit()), l.Generators(), fmt.Sprintf("%.0f", l.PerSecond()),
			fmt.Sprintf("%.0f", l.together()), fmt.Sprintf("%.2f", l.years()), l.ExhaustsAt().Format(time.DateOnly), cmp.Or(l.origin, "-"))
	}
	table.end()
	_, err := io.WriteString(w, text.String())
	return err
}

// layoutLine is the JSON object of a layout.
type layoutLine struct {
	Name       string      `json:"name,omitempty"`
	Layout     string      `json:"layout"`
	Epoch      string      `json:"epoch"`
	UnitNS     int64       `json:"unit_ns"`
	Fields     []fieldLine `json:"fields"`
	Generators int64       `json:"generators"`
	PerSecond  float64     `json:"ids_per_second_each"`
	Together   float64     `json:"ids_per_second_all"`
	Years      float64     `json:"years"`
	ExhaustsAt string      `json:"exhausts_at"`
	Origin     string      `json:"origin,omitempty"`
}

type fieldLine struct {
	Kind string `json:"kind"`
	Bits int    `json:"bits"`
}

func writeLayoutsJSON(w io.Writer, layouts []namedLayout) error {
	var lines []layoutLine
	for _, l := range layouts {
		line := layoutLine{
			Name: l.name, Layout: l.String(), Epoch: formatTime(l.Epoch(), l.Unit()), UnitNS: int64(l.Unit()), Generators: l.Generators(),
			PerSecond: l.PerSecond(), Together: l.together(), Years: math.Round(100*l.years()) / 100,
			ExhaustsAt: formatTime(l.ExhaustsAt(), l.Unit()), Origin: l.origin,
		}
		for _, f := range l.Fields() {
			line.Fields = append(line.Fields, fieldLine{Kind: f.Kind.String(), Bits: f.Bits})
		}
		lines = append(lines, line)
	}
	return writeJSONLines(w, lines)
}
