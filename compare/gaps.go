package compare

import (
	"reflect"

	"github.com/snowkey-go/snowkey/compare/result"
)

// explain gives every figure of a strategy that has no samples, and no reason for it, the reason why.
func explain(s *result.Strategy, why string) {
	if why == "" {
		why = "it was not measured"
	}
	for _, part := range []struct {
		why  *string
		none bool
	}{
		{&s.Latency.Why, len(s.Latency.Samples) == 0},
		{&s.Growth.Why, len(s.Growth.Tenths) == 0},
		{&s.Shards.Why, len(s.Shards.Chi) == 0},
	} {
		if part.none && *part.why == "" {
			*part.why = why
		}
	}
	explainFigures(reflect.ValueOf(s).Elem(), why)
}

var figureType = reflect.TypeFor[result.Figure]()

// explainFigures explains the figures within a value.
func explainFigures(v reflect.Value, why string) {
	switch {
	case v.Type() == figureType:
		figure := v.Addr().Interface().(*result.Figure)
		if !figure.OK() && figure.Why == "" {
			figure.Why = why
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			explainFigures(v.Field(i), why)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			explainFigures(v.Index(i), why)
		}
	}
}

// explainCrash says why no server was killed.
func explainCrash(c *result.Crash, why string) { explainFigures(reflect.ValueOf(c).Elem(), why) }
