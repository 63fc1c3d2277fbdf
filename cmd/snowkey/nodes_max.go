package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parsePercentage takes a number greater than 0 and up to 100, with the percent sign: 0.8 without one could be meant as either.
func parsePercentage(text string) (float64, error) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || math.IsNaN(n) || n <= 0 || n > 100 {
		return 0, fmt.Errorf("%q, want more than 0%% and at most 100%%, such as 80%%", text)
	}
	return n, nil
}

// taken returns how many numbers nobody can acquire now: those that are held or reserved, and where rows are gone those without a row.
func (s nodeSpace) taken() int64 {
	states := s.count()
	taken := states["held"] + states["reserved"]
	if s.absent() > 0 {
		taken += max(0, s.numbers()-int64(len(s.Rows)))
	}
	return taken
}

// checkHeld returns an error for each space of which more than that part is taken, and for each whose numbers cannot be counted. A space
// with a single number has it taken whenever it is used, so it is not judged.
func (n nodeList) checkHeld(most float64) error {
	var failed error
	for _, s := range n.spaces {
		switch taken, of := s.taken(), s.numbers(); {
		case most == 0 || s.err != nil: // which is an error already
		case !s.known:
			failed = errors.Join(failed, fmt.Errorf("space %q has the layout %q, which this version does not know, so that its numbers cannot be counted; update snowkey",
				s.Name, s.Layout))
		case of > 1 && float64(taken)*100 > most*float64(of):
			failed = errors.Join(failed, fmt.Errorf("space %q in %s: %d of %d numbers are held, %.1f%%, more than %v%%; end processes that are not needed, or choose a layout with more node bits",
				s.Name, s.table, taken, of, float64(taken)*100/float64(of), most))
		}
	}
	return failed
}
