package plan_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/migrate/plan"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	p := every()
	text := encoded(t, p)
	read, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "what was read", encoded(t, read), text)
	same(t, "what people read of what was read", textOf(t, read), textOf(t, p))
	hash, err := p.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := read.Hash(); err != nil || other != hash || len(hash) != 64 {
		t.Errorf("got the hash %s of what was read (%v), want %s", other, err, hash)
	}
	read.Steps[0].Do.Window = 1
	if other, err := read.Hash(); err != nil || other == hash {
		t.Errorf("got the same hash for another plan (%v)", err)
	}
}

// TestParseChanged changes letters all over a plan in turn: none may go unnoticed.
func TestParseChanged(t *testing.T) {
	t.Parallel()
	p := every()
	p.Steps = p.Steps[4:5]
	text := encoded(t, p)
	for i := 0; i < len(text)-1; i += 17 {
		for _, changed := range []string{text[:i] + "#" + text[i+1:], text[:i] + text[i+1:], text[:i] + " " + text[i:]} {
			if changed == text {
				continue
			}
			if _, err := plan.Parse([]byte(changed)); !errors.Is(err, plan.ErrChanged) && !errors.Is(err, plan.ErrText) {
				t.Fatalf("a change at %d (%q) is not noticed: %v", i, text[max(0, i-20):i+1], err)
			}
		}
		if _, err := plan.Parse([]byte(text[:i])); !errors.Is(err, plan.ErrText) {
			t.Fatalf("got %v for the first %d bytes, want ErrText", err, i)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	text := encoded(t, every())
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"empty":         {"", plan.ErrText, "is empty"},
		"blank":         {" \n\n", plan.ErrText, "is empty"},
		"other":         {"SELECT 1;\n", plan.ErrText, "it is another file"},
		"other JSON":    {"{}\n", plan.ErrText, "it has no plan"},
		"for people":    {textOf(t, every()), plan.ErrText, "the plan itself is in the .json"},
		"cut off":       {text[:len(text)/4], plan.ErrText, "was cut off"},
		"Windows":       {strings.ReplaceAll(text, "\n", "\r\n"), plan.ErrText, "CR LF"},
		"other form":    {strings.Replace(text, `"schema": 3,`, `"schema": 9,`, 1), plan.ErrText, "it has the form 9, this program reads the form 3"},
		"no form":       {strings.Replace(text, `"schema": 3,`, ``, 1), plan.ErrText, "it has no plan with the number of its form"},
		"unknown field": {strings.Replace(text, `"schema": 3,`, `"schema": 3, "x": 2,`, 1), plan.ErrText, `unknown field "x"`},
		"more":          {text + "{}\n", plan.ErrText, "after top-level value"},
		"line added":    {text + "\n", plan.ErrChanged, "was added"},
		"value":         {strings.Replace(text, `"title": "reserve"`, `"title": "forget!"`, 1), plan.ErrChanged, `line 2 reads " \"hash\": `},
		"SQL":           {strings.Replace(text, "DELETE FROM t", "DELETE FROM u", 1), plan.ErrChanged, `line 2 reads " \"hash\": `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Parse([]byte(c.text))
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestNotUTF8(t *testing.T) {
	t.Parallel()
	p := every()
	p.Steps[0].Title = "\xff"
	if _, err := p.Text(); err == nil {
		t.Error("a title that is no UTF-8 is written")
	}
	if _, err := p.Encode(); err == nil {
		t.Error("a title that is no UTF-8 is written, and read as another one")
	}
	if _, err := p.Hash(); err == nil {
		t.Error("a title that is no UTF-8 has a hash")
	}
}

// TestFiles checks that a plan is read by either of its files, and that neither is taken when one of them is not as it was written.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := every()
	want, err := p.Hash()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	sql, data := filepath.Join(folder, "a.b.sql"), filepath.Join(folder, "a.b.json")
	if err := p.WriteFiles(sql); err != nil {
		t.Fatal(err)
	}
	is := func(path string) {
		t.Helper()
		read, err := plan.ReadFiles(path)
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := read.Hash(); err != nil || hash != want {
			t.Errorf("got the plan %s, %v of %s, want %s", hash, err, path, want)
		}
	}
	is(sql)
	is(data)
	for _, path := range []string{sql, data} {
		if err := p.WriteFiles(path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("got %v, want no file to be written over", err)
		}
	}
	change := func(path, old, new string) func() {
		t.Helper()
		was, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(was, []byte(old), []byte(new), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(path, was, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, says := range map[string]string{sql: "a.b.sql: plan: changed since it was made: line ", data: "a.b.json: plan: changed since it was made: line 2 "} {
		back := change(path, "CREATE INDEX", "CREATE TABLE")
		for _, by := range []string{sql, data} {
			if _, err := plan.ReadFiles(by); !errors.Is(err, plan.ErrChanged) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s was changed, and %s is read: got %v, want ErrChanged with %q", path, by, err, says)
			}
		}
		back()
	}
	is(sql)
	if err := os.Remove(sql); err != nil {
		t.Fatal(err)
	}
	is(data)
	if _, err := plan.ReadFiles(sql); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no file", err)
	}
	if err := p.WriteFiles(data); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want no file to be written over", err)
	}
	if _, err := os.Stat(sql); err == nil {
		t.Error("half a plan was written")
	}
	if err := os.Rename(data, sql); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.ReadFiles(sql); !errors.Is(err, plan.ErrText) || !strings.Contains(err.Error(), "there is no a.b.json beside it") {
		t.Errorf("got %v, want that the .json is missing", err)
	}
}

func FuzzParse(f *testing.F) {
	text := encoded(f, every())
	f.Add([]byte(text))
	f.Add([]byte(text[:len(text)/2]))
	f.Add([]byte(`{"hash": "", "plan": {"schema": 3}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Parse(text)
		if err != nil {
			if !errors.Is(err, plan.ErrText) && !errors.Is(err, plan.ErrChanged) {
				t.Errorf("got %v, want ErrText or ErrChanged", err)
			}
			return
		}
		again, err := p.Encode()
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("a plan that was read is written as another one, or not at all: %v", err)
		}
		if _, err := p.Text(); err != nil {
			t.Error(err)
		}
	})
}
