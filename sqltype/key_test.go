package sqltype_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The key of one model does not compile where the key of another belongs.
func TestMixedKeysDoNotCompile(t *testing.T) {
	const file = "testdata/mixed/mixed.go"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// -e is for the errors after the first ten.
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-e", "./testdata/mixed").CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	refused := 0
	for i, line := range strings.Split(string(source), "\n") {
		want := strings.HasSuffix(line, "// refused")
		if want {
			refused++
		}
		if got := bytes.Contains(out, fmt.Appendf(nil, "%s:%d:", file, i+1)); got != want {
			t.Errorf("line %d, %s: refused is %t, want %t", i+1, strings.TrimSpace(line), got, want)
		}
	}
	if got := bytes.Count(out, []byte(file)); got != refused || refused == 0 {
		t.Errorf("got %d errors in %d lines\n%s", got, refused, out)
	}
}
