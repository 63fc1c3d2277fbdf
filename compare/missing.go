package compare

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/snowkey-go/snowkey/compare/result"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// close ends a participant's part: what was not measured of it says why. ended is what ended the comparison early.
func (c *comparison) close(e *participant, ended error) {
	if e.figures.Key.Column != "" {
		e.result.Key = e.figures.Key // of full tables
	}
	e.result.Growth, e.result.Storage, e.result.Read = e.figures.Growth, e.figures.Storage, e.figures.Read
	if tenths := e.result.Growth.Tenths; c.rows < c.config.Profile.Rows && len(tenths) > 0 {
		if last := &tenths[len(tenths)-1].RowsPerSecond; last.Why == "" {
			last.Why = fmt.Sprintf("the budget of %v allowed for no more", c.config.Profile.Budget)
		}
	}
	if !e.out && !c.kills() {
		explainCrash(&e.result.Crash, c.noKill())
	}
	explain(&e.result, c.why(e, ended))
}

// why says why something of a participant was not measured that tells no reason of its own.
func (c *comparison) why(e *participant, ended error) string {
	switch {
	case e.result.Skipped != "":
		return e.result.Skipped
	case e.out:
		return "it does not hold what it promises, see its checks"
	case ended != nil:
		return "the run ended before: " + ended.Error()
	}
	return c.short
}

// noKill says why the database is not killed.
func (c *comparison) noKill() string {
	switch {
	case c.target.database.Kind() == dsn.SQLite:
		return "SQLite runs inside the application: there is no server to kill"
	case c.target.server != nil:
		return fmt.Sprintf("the profile %s does not kill the server", c.config.Profile.Name)
	}
	return "only a server of the run's own is killed, such as private:" + c.target.database.Kind()
}

// explain gives every figure of a strategy that has no samples, and no reason for it, the reason why.
func explain(s *result.Strategy, why string) {
	why = cmp.Or(why, "it was not measured")
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
