package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/snowkey-go/snowkey/compare/report"
	"github.com/snowkey-go/snowkey/compare/result"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// writers are the reports that are text.
var writers = map[string]func(io.Writer, result.Document) error{
	"table.txt": report.Table, "markdown.md": report.Markdown, "bench.txt": report.Bench,
}

// brief is MariaDB of the sample, with four strategies, and few of their thousands of single times, so that a golden file can be read.
func brief() result.Document {
	r := sample()
	r.Databases = r.Databases[1:2]
	d := &r.Databases[0]
	d.Strategies = slices.DeleteFunc(d.Strategies, func(s result.Strategy) bool {
		return !slices.Contains([]string{"autoincrement", "snowkey", "uuidv4", "sequence"}, s.Name)
	})
	for i := range d.Strategies {
		s := &d.Strategies[i]
		s.Latency.Samples = s.Latency.Samples[:min(len(s.Latency.Samples), 3)]
		for j, round := range s.Growth.Batches {
			s.Growth.Batches[j] = round[:min(len(round), 2)]
		}
	}
	return r
}

// write returns what a report writes.
func write(t *testing.T, to func(io.Writer, result.Document) error, r result.Document) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := to(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReportsAsBefore(t *testing.T) {
	for name, to := range writers {
		t.Run(name, func(t *testing.T) {
			r := sample()
			if name == "bench.txt" {
				r = brief()
			}
			got, path := write(t, to, r), filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
				for i := range min(len(gotLines), len(wantLines)) {
					if !bytes.Equal(gotLines[i], wantLines[i]) {
						t.Fatalf("%s:%d: got\n%s\nwant\n%s\n(go test -update writes it anew)", path, i+1, gotLines[i], wantLines[i])
					}
				}
				t.Fatalf("%s: got %d lines, want %d", path, len(gotLines), len(wantLines))
			}
		})
	}
}

func TestReportsOfAReadDocumentAreTheSame(t *testing.T) {
	var file bytes.Buffer
	if err := result.Write(&file, sample()); err != nil {
		t.Fatal(err)
	}
	loaded, err := result.Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range writers {
		fresh := write(t, to, sample())
		if !bytes.Equal(fresh, write(t, to, sample())) {
			t.Errorf("%s: got other bytes the second time", name)
		}
		if !bytes.Equal(fresh, write(t, to, loaded)) {
			t.Errorf("%s: got other bytes from the document that was written and read", name)
		}
	}
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestReportsReturnTheWritersError(t *testing.T) {
	for name, to := range writers {
		if err := to(failing{}, brief()); err != os.ErrClosed {
			t.Errorf("%s: got %v, want %v", name, err, os.ErrClosed)
		}
	}
}
