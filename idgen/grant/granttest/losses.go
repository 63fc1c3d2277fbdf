package granttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

func (s store) record(space string, losses ...grant.Loss) {
	s.t.Helper()
	for _, loss := range losses {
		if err := s.s.Record(s.t.Context(), space, loss); err != nil {
			s.t.Fatalf("Record in %q of %+v: %v", space, loss, err)
		}
	}
}

// lost fails the test when other losses of the space end the list. Those before may be there no more.
func (s store) lost(space string, want ...grant.Loss) {
	s.t.Helper()
	got, err := s.s.Losses(s.t.Context(), space)
	if err != nil || len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		s.t.Fatalf("space %q: got the losses %+v, %v, want %+v", space, got, err, want)
	}
}

// losses are kept in their order, none of the first hundred forgotten, apart from the rows and from those of other spaces.
func losses(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	s.prepare("other", layout, layout)
	row := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	s.add(space, row)
	id := s.list(space, 0, 0).ID
	for _, space := range []string{space, "other"} {
		if got := must(s.s.Losses(t.Context(), space))(t); len(got) != 0 {
			t.Fatalf("space %q: got the losses %+v, want none", space, got)
		}
	}
	all := []grant.Loss{
		{Number: 7, Holder: "a", From: 30, Until: 40},
		{Number: 7, Holder: "a", From: 30, Until: 40}, // once more
		{Number: 3, Holder: "", From: 0, Until: 0},
		{Number: 0, Holder: "a ", From: 5, Until: 6},
		{Number: 1<<62 - 1, Holder: ascii + strings.Repeat("x", 128-len(ascii)), From: 1<<62 - 1, Until: 1 << 62},
		{Number: 1, Holder: strings.Repeat(`'"\%`, 32), From: 1, Until: 2},
	}
	for i := range all {
		s.record(space, all[i])
		s.lost(space, all[:i+1]...)
	}
	theirs := grant.Loss{Number: 9, Holder: "b", From: 50, Until: 60}
	s.record("other", theirs)
	s.lost("other", theirs)
	s.lost(space, all...)
	for i := range int64(110) {
		loss := grant.Loss{Number: i % 9, Holder: fmt.Sprint("holder ", i), From: 1000 - i, Until: 2000 - i}
		s.record(space, loss)
		all = append(all, loss)
	}
	s.lost(space, all...)
	if got := must(s.s.Losses(t.Context(), "other"))(t); !slices.Equal(got, []grant.Loss{theirs}) {
		t.Errorf("got the losses %+v of the other space, want %+v", got, theirs)
	}
	s.has(space, row)
	s.knows(space, id, 20)
	s.prepare(space, "another", layout)
}

// lossesAtOnce records losses from many goroutines: none is forgotten, and those of each are in their order.
func lossesAtOnce(t *testing.T, s store) {
	const workers, each = 8, 6
	s.prepare(space, layout, layout)
	atOnce(workers, func(w int) {
		for i := range int64(each) {
			if err := s.s.Record(t.Context(), space, grant.Loss{Number: int64(w), Holder: fmt.Sprint("worker ", w), From: i, Until: i + 1}); err != nil {
				t.Errorf("Record: %v", err)
			}
		}
	})
	var next [workers]int64
	all := must(s.s.Losses(t.Context(), space))(t)
	for _, loss := range all {
		if loss.Number < 0 || loss.Number >= workers || loss.From != next[loss.Number] || loss.Holder != fmt.Sprint("worker ", loss.Number) {
			t.Fatalf("got %+v after %d of that worker, in %+v", loss, next[loss.Number], all)
		}
		next[loss.Number]++
	}
	if len(all) != workers*each {
		t.Errorf("got %d losses, want %d", len(all), workers*each)
	}
}
