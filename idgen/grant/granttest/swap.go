package granttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/idgen/grant"
)

func swapAdds(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	first := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	s.add(space, first)
	s.has(space, first)
	s.swap(space, none(7), grant.Row{Number: 7, Holder: "b", From: 30, Until: 40}, false)
	s.swap(space, none(7), first, false)
	s.has(space, first)
	second := grant.Row{Number: 6, Holder: "a", From: 10, Until: 20}
	s.add(space, second)
	s.has(space, second, first)
}

func swapReplaces(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	other := grant.Row{Number: 8, Holder: "a", From: 10, Until: 20}
	s.add(space, other)
	row := none(7)
	for _, next := range []grant.Row{
		{Number: 7, Holder: "a", From: 10, Until: 20},
		{Number: 7, Holder: "a", From: 10, Until: 21}, // renewed
		{Number: 7, Holder: "", From: 10, Until: 15},  // released
		{Number: 7, Holder: "b", From: 15, Until: 15}, // acquired
		{Number: 7, Holder: "", From: 15, Until: 15},
		{Number: 7, Holder: "a", From: 16, Until: 20},
		{Number: 7, Holder: "c", From: 16, Until: 20}, // nothing but the holder
	} {
		s.swap(space, row, next, true)
		s.has(space, next, other)
		row = next
	}
}

func swapRefuses(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	held := grant.Row{Number: 7, Holder: "a", From: 10, Until: 20}
	free := grant.Row{Number: 8, Holder: "", From: 10, Until: 20}
	s.add(space, held)
	s.add(space, free)
	for name, old := range map[string]grant.Row{
		"other holder":           {Number: 7, Holder: "b", From: 10, Until: 20},
		"holder in capitals":     {Number: 7, Holder: "A", From: 10, Until: 20},
		"holder and a space":     {Number: 7, Holder: "a ", From: 10, Until: 20},
		"no holder":              {Number: 7, Holder: "", From: 10, Until: 20},
		"other until":            {Number: 7, Holder: "a", From: 10, Until: 21},
		"smaller until":          {Number: 7, Holder: "a", From: 10, Until: 19},
		"no until":               {Number: 7, Holder: "a", From: 10},
		"holder of a free one":   {Number: 8, Holder: "a", From: 10, Until: 20},
		"blank for a free one":   {Number: 8, Holder: " ", From: 10, Until: 20},
		"until of a free one":    {Number: 8, Holder: "", From: 10, Until: 21},
		"missing row":            {Number: 9, Holder: "a", From: 10, Until: 20},
		"missing row, no holder": {Number: 9},
		"zero row":               {Number: 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := store{t: t, s: s.s}
			s.swap(space, old, grant.Row{Number: old.Number, Holder: "new", From: 20, Until: 30}, false)
			s.has(space, held, free)
		})
	}
	// From is not compared: the holder and the until tell rows apart.
	s.swap(space, grant.Row{Number: 7, Holder: "a", Until: 20}, grant.Row{Number: 7, Holder: "new", From: 20, Until: 30}, true)
}

func numbers(_ *testing.T, s store) {
	s.prepare(space, layout, layout)
	var rows []grant.Row
	for _, n := range []int64{0, 1, 1023, 1<<15 - 1, 1 << 15, 1<<24 - 1, 1<<31 - 1, 1 << 31, 1<<53 + 1, 1<<62 - 1} {
		rows = append(rows, grant.Row{Number: n, Holder: "a", From: n, Until: 1<<62 - 1})
		s.add(space, rows[len(rows)-1])
	}
	s.has(space, rows...)
	id := s.list(space, 0, 0).ID
	for i := range rows {
		next := grant.Row{Number: rows[i].Number, Holder: "a", From: 1 << 62, Until: 1 << 62}
		s.swap(space, rows[i], next, true)
		s.swap(space, rows[i], next, false)
		rows[i] = next
	}
	s.has(space, rows...)
	s.has(space, append(s.list(space, 0, 1<<31-1).Rows, s.list(space, 1<<31, 1<<62-1).Rows...)...)
	s.prepare(space, layout, layout)
	s.knows(space, id, 1<<62-1) // of those that are taken for good it is not
}

func holders(t *testing.T, s store) {
	s.prepare(space, layout, layout)
	for i, holder := range []string{
		ascii + strings.Repeat("x", 128-len(ascii)),
		strings.Repeat(`'"`, 64), strings.Repeat(`\`, 128), strings.Repeat("%", 128), strings.Repeat("_", 128),
		"a", "A", "a ", " a", "  ", "null", "NULL", "0", "00", "1e2", "-1", "--", `a'; DROP TABLE snowkey_nodes; --`, "?", "$1", "@p1", ":a", "{d}", "~",
	} {
		t.Run(fmt.Sprintf("%.12q", holder), func(t *testing.T) {
			s := store{t: t, s: s.s}
			row := grant.Row{Number: int64(i), Holder: holder, From: 5, Until: 6}
			s.add(space, row)
			for _, like := range []string{
				strings.ToUpper(holder), strings.ToLower(holder), holder + " ", strings.TrimSpace(holder), holder[:len(holder)-1], "%", "_", "",
			} {
				if like != holder && len(like) <= 128 {
					s.swap(space, grant.Row{Number: row.Number, Holder: like, From: 5, Until: 6}, grant.Row{Number: row.Number, Holder: "new", From: 6, Until: 7}, false)
				}
			}
			renewed := grant.Row{Number: row.Number, Holder: holder, From: 5, Until: 7}
			s.swap(space, row, renewed, true)
			if got := s.list(space, row.Number, row.Number).Rows; !slices.Equal(got, []grant.Row{renewed}) {
				t.Errorf("got %+v, want %+v", got, renewed)
			}
		})
	}
}

// swapChain adds one to the until of one row from many goroutines. Each value may be won once, and none be left out.
func swapChain(t *testing.T, s store) {
	const workers, each = 8, 25
	s.prepare(space, layout, layout)
	s.add(space, grant.Row{Number: 7, Holder: "start"})
	type attempt struct {
		until int64
		err   error
	}
	var attempts [workers][]attempt // that were answered with success or an error
	atOnce(workers, func(w int) {
		var lost int
		for won := 0; won < each; {
			if len(attempts[w])-won > chainErrors || lost > 1000*workers*each {
				return
			}
			l, err := s.s.List(t.Context(), space, 7, 7)
			if err != nil || len(l.Rows) != 1 {
				attempts[w] = append(attempts[w], attempt{err: errors.Join(errors.New("List"), err)})
				continue
			}
			old := l.Rows[0]
			done, err := s.s.Swap(t.Context(), space, old, grant.Row{Number: 7, Holder: fmt.Sprint("worker ", w), Until: old.Until + 1})
			if err == nil && !done {
				lost++
				continue
			}
			attempts[w] = append(attempts[w], attempt{old.Until + 1, err})
			if done {
				won++
			}
		}
	})
	won, failed := map[int64]int{}, map[int64]bool{}
	for w := range workers {
		successes := 0
		var last error
		for _, a := range attempts[w] {
			if a.err != nil {
				failed[a.until], last = true, a.err
				continue
			}
			successes++
			won[a.until]++
		}
		if successes != each {
			t.Errorf("worker %d made %d of %d changes, with %d errors, the last of them %v", w, successes, each, len(attempts[w])-successes, last)
		}
	}
	rows := s.list(space, 7, 7).Rows
	if len(rows) != 1 {
		t.Fatalf("got the rows %+v", rows)
	}
	final := rows[0].Until
	for until, n := range won {
		if n > 1 {
			t.Errorf("until %d was won %d times", until, n)
		}
		if until > final {
			t.Errorf("until %d was won, and is lost: the row has %d", until, final)
		}
	}
	for until := int64(1); until <= final; until++ {
		// A change that was answered with an error may have been made.
		if won[until] == 0 && !failed[until] {
			t.Errorf("the row has until %d, and nobody was told to have won %d", final, until)
		}
	}
}

// firstAtOnce adds the first row of some numbers from many goroutines.
func firstAtOnce(t *testing.T, s store) {
	const workers = 8
	s.prepare(space, layout, layout)
	for number := range int64(5) {
		var won [workers]bool
		var errs [workers]error
		atOnce(workers, func(w int) {
			won[w], errs[w] = s.s.Swap(t.Context(), space, none(number), grant.Row{Number: number, Holder: fmt.Sprint("worker ", w), Until: 5})
		})
		rows := s.list(space, number, number).Rows
		if len(rows) != 1 {
			t.Fatalf("got the rows %+v, errors %v", rows, errs)
		}
		for w := range workers {
			holds := rows[0].Holder == fmt.Sprint("worker ", w)
			if won[w] && !holds || holds && !won[w] && errs[w] == nil {
				t.Errorf("worker %d was told %t, %v, and the row is %+v", w, won[w], errs[w], rows[0])
			}
		}
	}
}
