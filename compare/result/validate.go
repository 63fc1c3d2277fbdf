package result

import (
	"bytes"
	_ "embed" // of the schema
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// SchemaJSON is the JSON Schema (draft 2020-12) of the document: every field with its unit and meaning. Nobody may change it.
//
//go:embed schema.json
var SchemaJSON []byte

// compiled is SchemaJSON; a test holds that it compiles.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(SchemaJSON))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		return nil, err
	}
	return compiler.Compile("schema.json")
})

// Validate reports whether whoever reads the result, a report first of all, can rely on it: it fits the schema of [SchemaJSON], and
//
//   - strategies have names of their own on their database, and are in the plan;
//   - a growth with batches has rows, and at most a round of batches for each round of the plan; no tenth has more samples than there are rounds;
//   - the χ² of shards go by ascending numbers of shards, and the hot buckets by descending shares.
//
// The error wraps [ErrDocument] or [ErrSchema], and names a place that is wrong by the names of the fields in JSON.
func (r Document) Validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("%w: schema %d, not %d", ErrSchema, r.Schema, Schema)
	}
	if err := r.fits(); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	for i, d := range r.Databases {
		seen := map[string]bool{}
		for j, s := range d.Strategies {
			err := s.consistent(r.Plan)
			switch {
			case !slices.Contains(r.Plan.Strategies, s.Name):
				err = fmt.Errorf("name: %q is not in the plan", s.Name)
			case seen[s.Name]:
				err = fmt.Errorf("name: %q is there twice", s.Name)
			}
			if err != nil {
				return fmt.Errorf("%w: databases[%d].strategies[%d].%w", ErrDocument, i, j, err)
			}
			seen[s.Name] = true
		}
	}
	return nil
}

// fits holds the result, as it is written, against the schema.
func (r Document) fits() error {
	schema, err := compiled()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := Write(&text, r); err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		return err
	}
	err = schema.Validate(document)
	if invalid := (*jsonschema.ValidationError)(nil); errors.As(err, &invalid) {
		return errors.New(slices.Min(places(invalid)))
	}
	return err
}

// places are the places of a document that do not fit, each with what is wrong there.
func places(e *jsonschema.ValidationError) (all []string) {
	for _, cause := range e.Causes {
		all = append(all, places(cause)...)
	}
	if len(e.Causes) > 0 {
		return all
	}
	var path strings.Builder
	for _, field := range e.InstanceLocation {
		if _, err := strconv.Atoi(field); err == nil {
			fmt.Fprintf(&path, "[%s]", field)
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(field)
	}
	return []string{path.String() + ": " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
}

// consistent looks at what no schema can say of a strategy.
func (s Strategy) consistent(plan Plan) error {
	rounds, rows := s.Growth.Batches, s.Growth.Rows
	switch {
	case len(rounds) > plan.Rounds:
		return fmt.Errorf("growth.batches_us: %d rounds of a plan of %d", len(rounds), plan.Rounds)
	case len(rounds) > 0 && rows == 0:
		return errors.New("growth.rows: 0, but there are batches")
	}
	if len(rounds) > 0 {
		if least := len(slices.MinFunc(rounds, func(a, b []int64) int { return len(a) - len(b) })); least > rows {
			return fmt.Errorf("growth.batches_us: %d batches at least, but %d rows", least, rows)
		}
	}
	for i, t := range s.Growth.Tenths {
		if n := max(len(t.RowsPerSecond.Samples), len(t.P99.Samples)); n > len(rounds) {
			return fmt.Errorf("growth.tenths[%d]: %d samples of %d rounds", i, n, len(rounds))
		}
	}
	for i, c := range s.Shards.Chi {
		if i > 0 && c.Shards <= s.Shards.Chi[i-1].Shards {
			return fmt.Errorf("shards.chi_square[%d].shards: %d does not ascend", i, c.Shards)
		}
	}
	for i, b := range s.Shards.Hot {
		if i > 0 && b.Share > s.Shards.Hot[i-1].Share {
			return fmt.Errorf("shards.hot_buckets[%d].share: %v is above that of the bucket before", i, b.Share)
		}
	}
	return nil
}
