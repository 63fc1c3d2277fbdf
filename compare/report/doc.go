// Package report writes a result for people and for other programs: a table for a terminal, Markdown, Go's benchmark format, and one HTML page.
//
// What it writes depends on the result alone, byte for byte.
package report
