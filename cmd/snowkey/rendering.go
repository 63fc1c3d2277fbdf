package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

// rendering is a form that a result is written in.
type rendering struct {
	name, about string
	file        string // in a folder of reports
	write       func(io.Writer, result.Document) error
}

// renderings are all forms of a result; the first is the default on standard output.
var renderings = []rendering{
	{"table", "for a terminal", "", report.Table},
	{"markdown", "everything, for a page of documentation", "report.md", report.Markdown},
	{"html", "one page with charts", "report.html", report.HTML},
	{"bench", "Go's benchmark format, for benchstat", "bench.txt", report.Bench},
	{"json", "the document with every sample, for --from", "result.json", result.Write},
}

func lookupRendering(name string) (rendering, error) {
	for _, r := range renderings {
		if r.name == name {
			return r, nil
		}
	}
	return rendering{}, fmt.Errorf("--format: unknown format %q; there are %s", name, renderingNames())
}

func renderingNames() string {
	names := make([]string, len(renderings))
	for i, r := range renderings {
		names[i] = r.name
	}
	return strings.Join(names, ", ")
}

// readResult reads the document of an earlier run, from standard input for "-".
func readResult(path string, stdin io.Reader) (result.Document, error) {
	if path == "-" {
		return result.Load(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return result.Document{}, err
	}
	defer file.Close() // of reading: its error changes nothing
	r, err := result.Load(file)
	if err != nil {
		return result.Document{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// checkFolder makes a folder for reports, or returns why they could not be written to it.
func checkFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(folder, ".snowkey-*")
	if err != nil {
		return err
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return err
	}
	for _, r := range renderings {
		path := filepath.Join(folder, r.file)
		if info, err := os.Stat(path); r.file != "" && err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is there already and no file", path)
		}
	}
	return nil
}

// writeFolder writes a result to a folder in every form that has a file there, and a chart of the inserts on each database. What others can be
// made of again comes first.
func writeFolder(folder string, r result.Document) (failed error) {
	for _, form := range slices.Backward(renderings) {
		if form.file != "" {
			failed = errors.Join(failed, writeFile(filepath.Join(folder, form.file), r, form.write))
		}
	}
	for i, d := range r.Databases {
		name := fmt.Sprintf("inserts-%d-%s.svg", i+1, d.Kind)
		err := writeFile(filepath.Join(folder, name), d, report.Chart)
		if err != nil && !errors.Is(err, report.ErrNotMeasured) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// writeFile writes a file as a whole, or leaves what was there: the disk may be full, or there may be nothing that could be written to it.
func writeFile[T any](path string, of T, write func(io.Writer, T) error) error {
	var content bytes.Buffer
	if err := write(&content, of); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	next := path + ".new"
	err := os.WriteFile(next, content.Bytes(), 0o644)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next) // it may not be there
	}
	return err
}
