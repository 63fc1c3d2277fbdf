package result

import _ "embed" // of the schema

// SchemaJSON is the JSON Schema (draft 2020-12) of the document: every field with its unit and meaning. Nobody may change it.
//
//go:embed schema.json
var SchemaJSON []byte
