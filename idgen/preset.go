package idgen

import (
	"fmt"
	"strings"
	"time"
)

// Preset is a published layout under its name. It is immutable and safe for concurrent use; all methods of [Layout] are its own.
type Preset struct {
	Layout
	name   string
	origin string
}

// Twitter is the layout of Twitter's snowflake: 41 bits of milliseconds since 2010-11-04T01:42:54.657Z, 5 bits of datacenter, 5 of
// worker, 12 of sequence. Source: the service that Twitter published as twitter-archive/snowflake in 2010.
var Twitter = preset("twitter", "Twitter's snowflake service, 2010", time.UnixMilli(1288834974657), time.Millisecond,
	Time.Bits(41), Datacenter.Bits(5), Node.Bits(5), Sequence.Bits(12))

// Snowkey is this module's default: 41 bits of milliseconds since 2025-01-01T00:00:00Z, 10 bits of node, 12 of sequence. It lasts
// until September 2094.
var Snowkey = preset("snowkey", "default of this module", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
	Time.Bits(41), Node.Bits(10), Sequence.Bits(12))

// Presets returns all presets, the default first.
func Presets() []Preset { return []Preset{Snowkey, Twitter} }

// preset needs no error: a test makes every preset's layout again and compares.
func preset(name, origin string, epoch time.Time, unit time.Duration, fields ...Field) Preset {
	layout, _ := NewLayout(epoch, unit, fields...)
	return Preset{Layout: layout, name: name, origin: origin}
}

// LookupPreset returns the preset of a name. The error wraps [ErrLayout] and lists the names there are.
func LookupPreset(name string) (Preset, error) {
	names := make([]string, 0, len(Presets()))
	for _, p := range Presets() {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return Preset{}, fmt.Errorf("%w: no preset is named %q; there are %s", ErrLayout, name, strings.Join(names, ", "))
}

// Name returns the name by which [LookupPreset] and the command line know the preset.
func (p Preset) Name() string { return p.name }

// Origin says where the layout was published.
func (p Preset) Origin() string { return p.origin }
