package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Empty lists are [] at every depth; what is null and no list stays so.
func TestJSONLists(t *testing.T) {
	type step struct {
		Notes []string
		Left  []string `json:",omitempty"`
	}
	type plan struct {
		Steps   []step
		Next    *step
		None    *step
		Raw     json.RawMessage
		At      time.Time
		Bytes   []byte
		private []string
	}
	given := plan{Steps: []step{{}}, Next: &step{}, private: nil}
	var out strings.Builder
	if err := writeJSONLines(&out, []any{given, &given, [][]int{nil}}); err != nil {
		t.Fatal(err)
	}
	line := `{"Steps":[{"Notes":[]}],"Next":{"Notes":[]},"None":null,"Raw":null,"At":"0001-01-01T00:00:00Z","Bytes":null}` + "\n"
	if want := line + line + "[[]]\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
