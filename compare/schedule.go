package compare

import (
	"maps"
	"time"
)

// Progress is how far a run is.
type Progress struct {
	Done  float64       // 0 to 1; it never goes back, and is 1 when everything is done
	Left  time.Duration // as far as can be told from what was done; it grows where that was too little
	Doing string
}

// schedule holds what a run still has to do, and guesses how long that takes: each step as long as the last one of its kind and strategy took, or,
// before there was one, as long as was guessed at first.
type schedule struct {
	begun  time.Time
	budget time.Duration // 0: none
	tell   func(Progress)
	left   map[kind]int           // steps still to be done
	took   map[kind]time.Duration // of the last one, or a guess
	done   float64                // that was told last
}

// kind is a kind of step, of which all take about as long.
type kind struct {
	database, strategy int
	step               string
}

func newSchedule(budget time.Duration, tell func(Progress)) *schedule {
	if tell == nil {
		tell = func(Progress) {}
	}
	return &schedule{begun: time.Now(), budget: budget, tell: tell, left: map[kind]int{}, took: map[kind]time.Duration{}}
}

// add plans n more steps.
func (s *schedule) add(k kind, n int, guess time.Duration) {
	s.left[k] += n
	if _, known := s.took[k]; !known {
		s.took[k] = guess
	}
}

// drop takes the steps that will not be done.
func (s *schedule) drop(which func(kind) bool) {
	maps.DeleteFunc(s.left, func(k kind, _ int) bool { return which(k) })
}

// remaining is the guessed time of all steps that are planned.
func (s *schedule) remaining() (sum time.Duration) {
	for k, n := range s.left {
		sum += time.Duration(n) * s.took[k]
	}
	return sum
}

// begin begins a step. The function that it returns is told which part of it is done, 0 to 1; 1 ends it.
func (s *schedule) begin(k kind, doing string) func(part float64) {
	start := time.Now()
	s.show(k, 0, doing)
	return func(part float64) {
		if part < 1 {
			s.show(k, part, doing)
			return
		}
		s.took[k] = time.Since(start)
		if s.left[k]--; s.left[k] <= 0 {
			delete(s.left, k)
		}
		s.show(k, 0, doing)
	}
}

// show tells how far the run is, with a part of a step of a kind done.
func (s *schedule) show(k kind, part float64, doing string) {
	left := s.remaining()
	if s.left[k] > 0 {
		left -= time.Duration(part * float64(s.took[k]))
	}
	left = max(left, 0)
	passed := time.Since(s.begun)
	if within := s.budget - passed; within > 0 {
		left = min(left, within) // what is beyond it will be left undone
	}
	if len(s.left) == 0 {
		s.done, left = 1, 0
	} else {
		s.done = max(s.done, min(0.99, float64(passed)/float64(passed+left+1)))
	}
	s.tell(Progress{Done: s.done, Left: left, Doing: doing})
}
