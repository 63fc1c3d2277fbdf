package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	var compact bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("compare: the result has no form in JSON: %w", err)
	}
	out := bufio.NewWriter(w)
	indent(out, bytes.TrimSuffix(compact.Bytes(), []byte("\n")))
	if err := out.Flush(); err != nil { // which keeps the first error of all writes before it
		return fmt.Errorf("compare: writing the result: %w", err)
	}
	return nil
}

// indent writes compact JSON with an element a line, except for lists of numbers. Only lists can be null here.
func indent(w *bufio.Writer, compact []byte) {
	depth := 0
	line := func() {
		w.WriteByte('\n')
		for range depth {
			w.WriteByte('\t')
		}
	}
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			end := stringEnd(compact, i)
			w.Write(compact[i:end])
			i = end - 1
		case '{', '[':
			next := compact[i+1]
			if next == '}' || next == ']' || c == '[' && (next == '-' || '0' <= next && next <= '9') {
				end := i + bytes.IndexAny(compact[i:], "]}") + 1
				w.Write(compact[i:end])
				i = end - 1
				continue
			}
			w.WriteByte(c)
			depth++
			line()
		case '}', ']':
			depth--
			line()
			w.WriteByte(c)
		case ',':
			w.WriteByte(c)
			line()
		case ':':
			w.WriteString(": ")
		case 'n':
			w.WriteString("[]")
			i += len("null") - 1
		default: // of numbers, true and false
			w.WriteByte(c)
		}
	}
	w.WriteByte('\n')
}

// stringEnd is the index after the string that begins at i.
func stringEnd(compact []byte, i int) int {
	for i++; compact[i] != '"'; i++ {
		if compact[i] == '\\' {
			i++
		}
	}
	return i + 1
}

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
