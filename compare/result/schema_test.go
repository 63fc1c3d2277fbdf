package result_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
)

func TestDocumentsFitTheSchema(t *testing.T) {
	for name, r := range map[string]result.Document{"sample": sample(), "small": small()} {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range [][2]string{
		{`"schema": 2`, `"schema": 3`},
		{`"seconds": 1.5`, `"seconds": "long"`},
		{`"made": "2026-01-02T02:04:05.0000006Z"`, `"made": "yesterday"`},
		{`"made": `, `"fade": `},
		{`"kind": "sqlite"`, `"kind": "oracle"`},
		{`"tool": `, `"fool": `},
		{`"checks": []`, `"checks": [{"name": "order", "state": "fine", "keys": 1}]`},
		{`"profile": "quick"`, `"profile": "quick", "more": 1`},
	} {
		text := written(t, small())
		changed := strings.Replace(text, c[0], c[1], 1)
		if changed == text {
			t.Errorf("there is no %s in %s", c[0], text)
		}
		if _, err := result.Load(strings.NewReader(changed)); err == nil {
			t.Errorf("%s fits, too", c[1])
		}
	}
}

// node is what the test below looks at in a schema.
type node struct {
	Type        string           `json:"type"`
	Const       any              `json:"const"`
	Description string           `json:"description"`
	Ref         string           `json:"$ref"`
	Properties  map[string]*node `json:"properties"`
	Required    []string         `json:"required"`
	Additional  *bool            `json:"additionalProperties"`
	Items       *node            `json:"items"`
	Defs        map[string]*node `json:"$defs"`
}

// comparison walks the Go types and the schema side by side.
type comparison struct {
	t    *testing.T
	defs map[string]*node
	used map[string]reflect.Type
}

func TestSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	var root node
	if err := json.Unmarshal(result.SchemaJSON, &root); err != nil {
		t.Fatal(err)
	}
	if root.Properties["schema"].Const != float64(result.Schema) {
		t.Errorf("the schema is of %v, not %d", root.Properties["schema"].Const, result.Schema)
	}
	c := comparison{t, root.Defs, map[string]reflect.Type{}}
	c.object("", reflect.TypeFor[result.Document](), &root)
	for name := range root.Defs {
		if c.used[name] == nil {
			t.Errorf("nothing is a %s", name)
		}
	}
}

// object compares a structure: the same fields, the same of them required, all with a description, none beside them.
func (c comparison) object(path string, typ reflect.Type, n *node) {
	if n.Type != "object" || n.Description == "" || n.Additional == nil || *n.Additional {
		c.t.Errorf("%s: no object, without a description, or with any fields", path)
	}
	var fields, required []string
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
		if options != "omitempty" {
			required = append(required, name)
		}
		property := n.Properties[name]
		if property == nil || name == "" {
			c.t.Errorf("%s.%s is not in the schema", path, typ.Field(i).Name)
			continue
		}
		if len(property.Description) < 10 || !strings.HasSuffix(property.Description, ".") {
			c.t.Errorf("%s.%s is described by %q", path, name, property.Description)
		}
		c.value(path+"."+name, typ.Field(i).Type, property)
	}
	slices.Sort(fields)
	if properties := slices.Sorted(maps.Keys(n.Properties)); !slices.Equal(properties, fields) {
		c.t.Errorf("%s: the schema has %v, the type has %v", path, properties, fields)
	}
	slices.Sort(required)
	if got := slices.Sorted(slices.Values(n.Required)); !slices.Equal(got, required) {
		c.t.Errorf("%s: the schema requires %v, the type %v", path, got, required)
	}
}

// value compares a field or an element. Write relies on that nothing but a list can be null: there are no pointers, maps and interfaces.
func (c comparison) value(path string, typ reflect.Type, n *node) {
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		if c.defs[name] == nil || c.used[name] != nil && c.used[name] != typ {
			c.t.Errorf("%s is a %s, as %v", path, name, c.used[name])
		} else if c.used[name] == nil {
			c.used[name] = typ
			c.object(path, typ, c.defs[name])
		}
		return
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Slice: "array",
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
	}
	want := kinds[typ.Kind()]
	if typ == reflect.TypeFor[time.Time]() {
		want = "string"
	}
	if want == "" || n.Type != want && n.Const == nil {
		c.t.Errorf("%s is a %v, and %q in the schema", path, typ, n.Type)
	}
	if want == "array" {
		c.value(path+"[]", typ.Elem(), n.Items)
	}
}
