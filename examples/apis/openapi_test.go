package apis_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/snowkey-go/snowkey/sqltype"
)

// TestOpenAPI holds the schema of docs/ids-in-apis.md to what sqltype writes and reads.
func TestOpenAPI(t *testing.T) {
	page, err := os.ReadFile("../../docs/ids-in-apis.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```text\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no schema")
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(block[1])))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("openapi.json#/components/schemas/ID")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []sqltype.ID{1, 153652455014400000, 1<<63 - 1} {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		if value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text))); err != nil || schema.Validate(value) != nil {
			t.Errorf("%s: got %v, want what sqltype writes to be valid", text, schema.Validate(value))
		}
	}
	for _, text := range []string{`"0"`, `"007"`, `"+1"`, `"-1"`, `""`, `" 1"`, `1`, `null`, `"12345678901234567890"`} {
		if value, err := jsonschema.UnmarshalJSON(strings.NewReader(text)); err != nil || schema.Validate(value) == nil {
			t.Errorf("%s is valid, want an error; %v", text, err)
		}
	}
}
