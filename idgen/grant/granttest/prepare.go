package granttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

func prepareIsRepeated(_ *testing.T, s store) {
	row := grant.Row{Number: 3, Holder: "a", From: 1, Until: 2}
	s.prepare(space, layout, layout)
	s.prepare(space, layout, layout)
	s.add(space, row)
	s.prepare(space, layout, layout)
	s.has(space, row)
}

func prepareTellsTheFirstLayout(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	s.prepare(space, "another", layout)
	s.prepare(space, layout, layout)
	s.prepare("other", "another", "another")
	s.prepare("other", layout, "another")
}

func prepareAtOnce(t *testing.T, s store) {
	var told [10]string
	var errs [len(told)]error
	atOnce(len(told), func(i int) { told[i], errs[i] = s.s.Prepare(t.Context(), space, fmt.Sprintf("layout %d", i)) })
	for i := range told {
		if errs[i] != nil || told[i] != told[0] || !strings.HasPrefix(told[i], "layout ") {
			t.Errorf("process %d was told %q, %v, process 0 %q", i, told[i], errs[i], told[0])
		}
	}
	s.prepare(space, "late", told[0])
}

// identity is made up once for a space, whoever prepares it, and is another one for each.
func identity(t *testing.T, s store) {
	spaces := []string{"a", "A", "b"}
	const workers = 4
	var told [workers][]string
	atOnce(workers, func(w int) {
		for _, space := range spaces {
			_, err := s.s.Prepare(t.Context(), space, fmt.Sprint("layout ", w))
			l, listErr := s.s.List(t.Context(), space, 0, 9)
			if err != nil || listErr != nil {
				t.Errorf("Prepare: %v, List: %v", err, listErr)
			}
			told[w] = append(told[w], l.ID)
		}
	})
	for w := range workers {
		if !slices.Equal(told[w], told[0]) {
			t.Errorf("process %d was told %q, process 0 %q", w, told[w], told[0])
		}
	}
	for i, id := range told[0] {
		if id == "" || slices.Contains(told[0][:i], id) {
			t.Errorf("got the identities %q, want different ones", told[0])
		}
	}
	for i, space := range spaces {
		s.add(space, grant.Row{Number: 7, Holder: "a", From: 10, Until: 20})
		s.prepare(space, "late", s.prepared(space))
		s.knows(space, told[0][i], 20)
	}
}

// prepared returns the layout in force.
func (s store) prepared(space string) string {
	s.t.Helper()
	return must(s.s.Prepare(s.t.Context(), space, "none"))(s.t)
}

func layouts(_ *testing.T, s store) {
	for i, layout := range []string{
		strings.Repeat("x", 255), strings.Repeat(`'"\%_ ~`, 36), "", " ", "a ", " a", "null",
	} {
		space := fmt.Sprint("space-", i)
		s.prepare(space, layout, layout)
		s.prepare(space, "another", layout)
	}
}

func spacesApart(_ *testing.T, s store) {
	spaces := []string{
		"a", "A", "a_", "a.", "a-", "ab", "b", ".", "-", "_", "__", "0", "00", "null",
		strings.Repeat("a", 64), strings.Repeat("a", 63), strings.Repeat("a", 63) + "A",
	}
	for i, space := range spaces {
		layout := fmt.Sprint("layout ", i)
		s.prepare(space, layout, layout)
	}
	row := func(i int) grant.Row {
		return grant.Row{Number: 7, Holder: fmt.Sprint("holder ", i), From: 10, Until: 20}
	}
	for i, space := range spaces {
		s.has(space)
		s.add(space, row(i))
	}
	for i, space := range spaces {
		s.prepare(space, "another", fmt.Sprint("layout ", i))
		s.has(space, row(i))
		s.swap(space, row((i+1)%len(spaces)), grant.Row{Number: 7, Holder: "new", From: 20, Until: 30}, false)
	}
	for i, space := range spaces[1:] {
		s.swap(space, row(i+1), grant.Row{Number: 7, Holder: "new", From: 20, Until: 30}, true)
	}
	s.has(spaces[0], row(0))
}
