package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Empty lists are [] at every depth; what is null and no list stays so, and what was given is not changed.
func TestJSONLists(t *testing.T) {
	type step struct {
		Notes []string
		Left  []string `json:",omitempty"`
	}
	type plan struct {
		Steps   []step
		Next    *step
		None    *step
		By      map[string]step
		Any     any
		Raw     json.RawMessage
		At      time.Time
		Bytes   []byte
		private []string
	}
	given := plan{Steps: []step{{}}, Next: &step{}, By: map[string]step{"a": {}}, Any: []step(nil), private: nil}
	var out strings.Builder
	if err := writeJSONLines(&out, []any{given, &given, map[string][]int{"b": nil}}); err != nil {
		t.Fatal(err)
	}
	line := `{"Steps":[{"Notes":[]}],"Next":{"Notes":[]},"None":null,"By":{"a":{"Notes":[]}},"Any":[],"Raw":null,"At":"0001-01-01T00:00:00Z","Bytes":null}` + "\n"
	if want := line + line + `{"b":[]}` + "\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if given.Steps[0].Notes != nil || given.Next.Notes != nil || given.private != nil {
		t.Errorf("got %+v, want it unchanged", given)
	}
}
