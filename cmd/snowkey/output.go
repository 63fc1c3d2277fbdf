package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// writeJSON prints one value, indented.
func writeJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(value)
}

// writeJSONLines writes an object a line.
func writeJSONLines[T any](w io.Writer, lines []T) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
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
