package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
)

// layoutFlag adds --layout with completion to a command. The default is that of the module.
func layoutFlag(c *cobra.Command) *layoutChoice { return layoutFlagOf(c, idgen.Snowkey) }

// layoutFlagOf is layoutFlag with another default.
func layoutFlagOf(c *cobra.Command, preset idgen.Preset) *layoutChoice {
	return layoutFlagNamed(c, "layout", preset)
}

// layoutFlagNamed is layoutFlagOf with another name.
func layoutFlagNamed(c *cobra.Command, flag string, preset idgen.Preset) *layoutChoice {
	choice := &layoutChoice{Layout: preset.Layout, option: preset, text: preset.Name()}
	c.Flags().Var(choice, flag, `name of a layout (see "snowkey layouts"), or its text form, such as
time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z`)
	complete(c, flag, presetNames()...)
	return choice
}

// presetNames completes the names of layouts.
func presetNames() (names []cobra.Completion) {
	for _, p := range idgen.Presets() {
		names = append(names, cobra.CompletionWithDesc(p.Name(), p.Origin()))
	}
	return names
}

// layoutChoice is the layout of a flag: that of a preset, with its policies as option, or one in text form.
type layoutChoice struct {
	idgen.Layout
	option idgen.Option
	text   string
}

// String returns what was given.
func (c *layoutChoice) String() string { return c.text }

// Type is the flag's kind of value in the help.
func (c *layoutChoice) Type() string { return "layout" }

// Set reads a name or a text form.
func (c *layoutChoice) Set(text string) error {
	if !strings.Contains(text, "=") {
		preset, err := idgen.LookupPreset(text)
		if err == nil {
			*c = layoutChoice{Layout: preset.Layout, option: preset, text: text}
		}
		return err
	}
	layout, err := idgen.ParseLayout(text)
	if err == nil {
		*c = layoutChoice{Layout: layout, option: layout, text: text}
	}
	return err
}

// formatFlag adds --format with completion to a command.
func formatFlag(c *cobra.Command, usage string) *formatChoice {
	choice := &formatChoice{name: idgen.Decimal.Name()}
	var names []cobra.Completion
	for _, e := range idgen.Encodings() {
		names = append(names, e.Name())
	}
	names = append(names, "{date}")
	c.Flags().Var(choice, "format", usage+": "+strings.Join(names, ", ")+", alphabet=DIGITS with digits of your own, or with text before braces, such as ORD-{date+08:00} and ORD-{base58}")
	complete(c, "format", names...)
	return choice
}

// formatChoice is the name of the text form of ids of a flag.
type formatChoice struct{ name string }

// of returns the text form for ids of a layout.
func (c *formatChoice) of(layout idgen.Layout) (idgen.TextForm, error) {
	form, err := idgen.ParseTextForm(c.name, layout)
	if err != nil {
		return form, usageError{fmt.Errorf("--format: %w", err)}
	}
	return form, nil
}

// String returns the name.
func (c *formatChoice) String() string { return c.name }

// Type is the flag's kind of value in the help.
func (c *formatChoice) Type() string { return "format" }

// Set reads a name.
func (c *formatChoice) Set(text string) error {
	c.name = text
	_, err := idgen.ParseTextForm(text, idgen.Snowkey.Layout)
	return err
}
