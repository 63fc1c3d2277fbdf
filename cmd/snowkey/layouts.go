package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

func newLayouts() *cobra.Command {
	c := &cobra.Command{
		Use:   "layouts",
		Short: "List the layouts known by name",
		Long: `List the layouts known by name: their fields from the top bit down, the length of a tick, how many
generators can make keys at the same time, how many a second each of them, and when no tick is left.`,
		Example: `  snowkey layouts
  snowkey layouts --json`,
		Args: cobra.NoArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *asJSON {
			return writeLayoutsJSON(c.OutOrStdout())
		}
		return writeLayouts(c.OutOrStdout())
	}
	return c
}

func writeLayouts(w io.Writer) error {
	text := new(strings.Builder)
	table := newColumns(text, "NAME", "FIELDS", "TICK", "EPOCH", "GENERATORS", "IDS/S EACH", "RUNS OUT", "ORIGIN")
	for _, p := range idgen.Presets() {
		var fields []string
		for _, f := range p.Fields() {
			fields = append(fields, fmt.Sprintf("%s %d", f.Kind, f.Bits))
		}
		table.line(p.Name(), strings.Join(fields, ", "), p.Unit(), formatTime(p.Epoch(), p.Unit()), p.Generators(), fmt.Sprintf("%.0f", p.PerSecond()),
			p.ExhaustsAt().Format(time.DateOnly), p.Origin())
	}
	table.end()
	_, err := io.WriteString(w, text.String())
	return err
}

// layoutLine is the JSON object of a layout.
type layoutLine struct {
	Name       string      `json:"name"`
	Layout     string      `json:"layout"`
	Epoch      string      `json:"epoch"`
	UnitNS     int64       `json:"unit_ns"`
	Fields     []fieldLine `json:"fields"`
	Generators int64       `json:"generators"`
	PerSecond  float64     `json:"ids_per_second_each"`
	ExhaustsAt string      `json:"exhausts_at"`
	Origin     string      `json:"origin"`
}

type fieldLine struct {
	Kind string `json:"kind"`
	Bits int    `json:"bits"`
}

func writeLayoutsJSON(w io.Writer) error {
	var lines []layoutLine
	for _, p := range idgen.Presets() {
		line := layoutLine{
			Name: p.Name(), Layout: p.String(), Epoch: formatTime(p.Epoch(), p.Unit()), UnitNS: int64(p.Unit()), Generators: p.Generators(),
			PerSecond: p.PerSecond(), ExhaustsAt: formatTime(p.ExhaustsAt(), p.Unit()), Origin: p.Origin(),
		}
		for _, f := range p.Fields() {
			line.Fields = append(line.Fields, fieldLine{Kind: f.Kind.String(), Bits: f.Bits})
		}
		lines = append(lines, line)
	}
	return writeJSONLines(w, lines)
}
