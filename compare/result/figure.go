package result

// Figure is a measured number: its samples in the order they were taken, one a round, or the reason why there are none. It is never 0 for
// not having been measured.
type Figure struct {
	Samples []float64 `json:"samples,omitempty"`
	Why     string    `json:"why,omitempty"`  // why there are no samples
	Note    string    `json:"note,omitempty"` // how they were taken, where that differs from database to database
}

// Missing is a figure that could not be taken.
func Missing(why string) Figure { return Figure{Why: why} }

// Measured is a figure of samples.
func Measured(samples ...float64) Figure { return Figure{Samples: samples} }

// Add adds a round's sample; the reason of an earlier round that had none stays beside it.
func (f *Figure) Add(sample float64) { f.Samples = append(f.Samples, sample) }

// OK tells whether there is anything.
func (f Figure) OK() bool { return len(f.Samples) > 0 }
