package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stage is steps that do the same to one table after another. They are read together.
type stage struct {
	steps  []int // their numbers, from 1
	phase  string
	what   string // in words, with … where the steps differ
	tables []string
	lock   string // in a word
	rows   int64  // -1 when unknown
	took   time.Duration
}

// numbers returns those of the steps: "3", "3–7", or "3, 5 … 11" where others are in between.
func (s stage) numbers() string {
	first, last := s.steps[0], s.steps[len(s.steps)-1]
	switch {
	case len(s.steps) == 1:
		return fmt.Sprint(first)
	case last-first == len(s.steps)-1:
		return fmt.Sprintf("%d–%d", first, last)
	}
	return fmt.Sprintf("%d, %d … %d", first, s.steps[1], last)
}

// longestTurn is of how many steps a turn may be that comes again for one table after another.
const longestTurn = 3

// stages returns the plan's, in the order of their first steps.
func (p *Plan) stages() []stage {
	shapes := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		statements := 0 // those of one transaction are read as they are, unless others are the same but for names
		if s.Do.Kind == Transactional {
			statements = len(s.Do.SQL)
		}
		shapes[i] = strings.Join([]string{s.Phase, string(s.Do.Kind), s.Lock.String(), s.Lock.Text, s.Algorithm, fmt.Sprint(s.Final, statements), s.Title}, "\x00")
	}
	var all []stage
	for at := 0; at < len(p.Steps); {
		turn, times := 1, 1
		for n := 1; n <= longestTurn; n++ {
			again := 1
			for at+(again+1)*n <= len(shapes) && slices.Equal(shapes[at:at+n], shapes[at+again*n:at+(again+1)*n]) {
				again++
			}
			if again > 1 && n*again > turn*times {
				turn, times = n, again
			}
		}
		for first := at; first < at+turn; first++ {
			step := &p.Steps[first]
			s := stage{phase: step.Phase, what: step.Title, lock: step.Lock.String()}
			if times == 1 {
				s.what = step.String()
			}
			for n := first; n < at+turn*times; n += turn {
				s.steps = append(s.steps, n+1)
				s.weigh(&p.Steps[n])
			}
			all = append(all, s)
		}
		at += turn * times
	}
	return all
}

// weigh adds a step's tables, rows and time to its stage.
func (s *stage) weigh(step *Step) {
	for _, t := range step.Tables {
		if !slices.Contains(s.tables, t) {
			s.tables = append(s.tables, t)
		}
	}
	s.rows = sizeOf(s.rows, step.Rows)
	if took := step.expected(); took < 0 || s.took < 0 {
		s.took = -1
	} else {
		s.took += took
	}
}

// What is taken for how many rows and bytes are done in a second, where a step's time is estimated.
const (
	countRate   = 1_000_000
	digestRate  = 100_000
	mapRate     = 50_000
	batchRate   = 30_000
	indexRate   = 500_000
	rewriteRate = 200_000
	byteRate    = 50_000_000 // of what is written anew
)

const rates = "rows a second: 30,000 in batches, 50,000 into maps, 100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted"

// expected returns for how long a step is expected to take, -1 when that is not known. A hold takes as long as people do.
func (s Step) expected() time.Duration {
	per := func(rate float64) time.Duration {
		if s.Rows < 0 {
			return -1
		}
		return time.Duration(float64(s.Rows) / rate * float64(time.Second))
	}
	switch s.Do.Kind {
	case AssertStable:
		return s.Do.Window
	case Count, Assert:
		return per(countRate)
	case Digest:
		return per(digestRate)
	case FillMap:
		return per(mapRate)
	case Batch:
		return per(batchRate)
	case Transactional, Autocommit:
		switch {
		case s.copies():
			if s.Bytes < 0 {
				return -1
			}
			return max(per(rewriteRate), time.Duration(float64(s.Bytes)/byteRate*float64(time.Second)))
		case s.Rows != 0 && s.Algorithm != "catalog only" && s.Algorithm != "INSTANT":
			return per(indexRate)
		}
	}
	return 0
}
