package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Errors of [Load].
var (
	// ErrSchema says that the document has another schema than [Schema].
	ErrSchema = errors.New("compare: not a document that this program reads")
	// ErrDocument says that a document is cut off, is no JSON, has fields that the schema has not, or contradicts itself.
	ErrDocument = errors.New("compare: broken document")
)

// Write writes the document as JSON, with a line end after it: indented, but each list of numbers on one line, for there may be hundreds of
// thousands. The same result is always the same bytes, and what [Load] makes of them is written as those bytes again. A list without
// elements is [], never null. It refuses samples that are NaN or infinite, which JSON cannot say, and looks at nothing else: see
// [Document.Validate].
func Write(w io.Writer, r Document) error {
	r.Made = r.Made.UTC()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("compare: the result has no form in JSON: %w", err)
	}
	lines := numbers.ReplaceAllFunc(text.Bytes(), func(list []byte) []byte { return bytes.Join(bytes.Fields(list), nil) })
	if _, err := w.Write(nulls.ReplaceAll(lines, []byte("[]$1\n"))); err != nil {
		return fmt.Errorf("compare: writing the result: %w", err)
	}
	return nil
}

// What is written on other lines than encoding/json has it. No text of JSON has a line end in it.
var (
	numbers = regexp.MustCompile(`\[\n[-+.0-9eE,\s]+\]`)
	nulls   = regexp.MustCompile(`null(,?)\n`) // of lists, as nothing else can be null here
)

// Load reads a document that [Write] wrote, or somebody by hand. The error wraps [ErrSchema] or [ErrDocument], or is the reader's. A document
// that is read can be relied upon in what [Document.Validate] says.
func Load(r io.Reader) (Document, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Document{}, fmt.Errorf("compare: reading the result: %w", err)
	}
	if err := checkSchema(text); err != nil {
		return Document{}, err
	}
	var result Document
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&result); err != nil {
		return Document{}, fmt.Errorf("%w: %s", ErrDocument, reason(err))
	}
	result.Made = result.Made.UTC()
	if err := result.Validate(); err != nil {
		return Document{}, err
	}
	return result, nil
}

// checkSchema looks at the whole text as JSON, and at the schema alone, for a document of another one may have any fields.
func checkSchema(text []byte) error {
	var head struct {
		Schema *int   `json:"schema"`
		Tool   string `json:"tool"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%w: %s", ErrDocument, reason(err))
	}
	by := ""
	if head.Tool != "" {
		by = fmt.Sprintf(", made by %q", head.Tool)
	}
	switch {
	case head.Schema == nil:
		return fmt.Errorf("%w: it has no field \"schema\"; is it a result of snowkey compare?", ErrSchema)
	case *head.Schema > Schema:
		return fmt.Errorf("%w: it has schema %d%s, and this program reads schema %d: use a newer version of snowkey", ErrSchema, *head.Schema, by, Schema)
	case *head.Schema < Schema:
		return fmt.Errorf("%w: it has schema %d%s, and this program reads schema %d: render it with the version that made it, or measure again",
			ErrSchema, *head.Schema, by, Schema)
	}
	return nil
}

// reason is an error of the JSON library in words for somebody who did not write the program.
func reason(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && strings.Contains(err.Error(), "unexpected end"):
		return "it is empty or cut off: the end of its JSON is missing"
	case errors.As(err, &syntax):
		return fmt.Sprintf("no JSON at byte %d: %v", syntax.Offset, syntax)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Sprintf("it is a JSON %s, not an object", kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("field %q cannot be %s, at byte %d", kind.Field, kind.Value, kind.Offset)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
