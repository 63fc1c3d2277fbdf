//go:build unix

package gormsuite

import (
	"reflect"
	"strings"
	"testing"
)

// What go test -json prints of a test that passes, one that fails with a subtest, one that fails by itself, and one that is skipped.
const ended = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"connected\n"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"of A\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestB/one"}
{"Action":"output","Package":"p","Test":"TestB/one","Output":"of one\n"}
{"Action":"output","Package":"p","Test":"TestB/one","Output":"more of one\n"}
{"Action":"run","Package":"p","Test":"TestB/two"}
{"Action":"fail","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB/two"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestC","Output":"of C\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"run","Package":"p","Test":"TestD"}
{"Action":"skip","Package":"p","Test":"TestD"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}
`

// What it prints when a test ends the process.
const panicked = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`

func read(t *testing.T, text string) (results, []int) {
	t.Helper()
	var counts []int
	res, err := readResults(strings.NewReader(text), func(n int) { counts = append(counts, n) })
	if err != nil {
		t.Fatal(err)
	}
	return res, counts
}

func TestReadResults(t *testing.T) {
	got, counts := read(t, ended)
	want := results{
		passed: 1, skipped: 1, complete: true, output: "connected\nFAIL\n",
		failed: map[string]string{"TestB/one": "of one\nmore of one\n", "TestC": "of C\n"},
	}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(counts, []int{1, 2, 3, 4}) {
		t.Errorf("got %+v and the counts %v, want %+v and four", got, counts, want)
	}
}

func TestReadResultsOfPanic(t *testing.T) {
	got, _ := read(t, panicked)
	if text := got.failed["TestA"]; got.complete || !strings.Contains(text, "panic: no") || !strings.Contains(text, "did not end") {
		t.Errorf("got %+v, want TestA failed and not complete", got)
	}
}

func TestReadResultsOfOtherText(t *testing.T) {
	if _, err := readResults(strings.NewReader("no JSON"), func(int) {}); err == nil {
		t.Error("got no error")
	}
}

func TestCompare(t *testing.T) {
	list, err := parseList(`
TestA all all
	Passes.
TestB/one mysql keys
	Fails.
TestB/two mysql keys chance
	Passes.
TestC sqlite all
	Fails on another database.
TestD mysql prepare
	Skipped in another mode.
TestE mysql keys
	Is no more.
`)
	if err != nil {
		t.Fatal(err)
	}
	res, _ := read(t, ended)
	want := comparison{unexpected: []string{"TestC"}, stale: []string{"TestA", "TestE"}, expected: 1}
	if got := compare(list, res, "mysql", "keys"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// After an early end nobody knows of those that did not run.
	res.complete = false
	want.stale = nil
	if got := compare(list, res, "mysql", "keys"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
