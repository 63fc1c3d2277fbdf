package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
	"unicode"
)

// newJSON returns what writes values as JSON.
func newJSON(w io.Writer) *json.Encoder {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out
}

// writeJSON prints one value, indented, with empty lists as [].
func writeJSON(w io.Writer, value any) error {
	out := newJSON(w)
	out.SetIndent("", "  ")
	return out.Encode(withLists(value))
}

// writeJSONLines writes an object a line, with empty lists as [].
func writeJSONLines[T any](w io.Writer, lines []T) error {
	out := newJSON(w)
	for _, line := range lines {
		if err := out.Encode(withLists(line)); err != nil {
			return err
		}
	}
	return nil
}

// withLists returns a copy of a value, in which slices that are nil are empty: for who reads the JSON, null is no list. What pointers and slices have in
// common with the value is changed there, too.
func withLists(value any) any {
	whole := reflect.New(reflect.TypeOf(value))
	whole.Elem().Set(reflect.ValueOf(value))
	fillLists(whole)
	return whole.Interface()
}

func fillLists(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		fillLists(value.Elem()) // of nil, no value
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fillLists(value.Field(i))
			}
		}
	case reflect.Slice:
		if value.IsNil() && value.Type().Elem().Kind() != reflect.Uint8 { // which is a text
			value.Set(reflect.MakeSlice(value.Type(), 0, 0))
		}
		for i := range value.Len() {
			fillLists(value.Index(i))
		}
	}
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// printable replaces what a terminal would take for more than text, in what somebody has written to the table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

// oneLine returns a text without line ends, for a comment in SQL.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

// columns aligns the cells of lines. It writes to memory, so nothing fails.
type columns struct{ *tabwriter.Writer }

func newColumns(w *strings.Builder, names ...any) columns {
	c := columns{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	c.line(names...)
	return c
}

func (c columns) line(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = c.Write([]byte{'\t'})
		}
		_, _ = fmt.Fprint(c, cell)
	}
	_, _ = c.Write([]byte{'\n'})
}

func (c columns) end() { _ = c.Flush() }
