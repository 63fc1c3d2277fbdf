package run

import "time"

// Progress is migrate.Progress.
type Progress struct {
	Step, Steps int
	Title       string
	Rows, Total int64
	Rate        float64
	Left        time.Duration
	Waits       string
}

// The least time between two reports, and how far back the rate looks.
const (
	reportEvery = 100 * time.Millisecond
	rateOver    = 5 * time.Second
)

// progress reports how far a run is. It is used by one goroutine.
type progress struct {
	tell     func(Progress) // nil: nobody listens
	now      Progress
	reported time.Time
	samples  []sample // of the step, the last few seconds
}

// sample is how many rows were changed at a time.
type sample struct {
	at   time.Time
	rows int64
}

// begin says which step it is.
func (p *progress) begin(number, steps int, title string, rows, total int64) {
	p.now = Progress{Step: number, Steps: steps, Title: title, Rows: rows, Total: total, Left: -1}
	if total <= 0 {
		p.now.Total = -1
	}
	p.samples = []sample{{time.Now(), rows}}
	p.reported = time.Time{} // each step is reported, however soon after the last
	p.report()
}

// rows says how many rows of the step were changed so far.
func (p *progress) rows(rows int64) {
	now := time.Now()
	p.now.Rows, p.now.Waits = rows, ""
	p.samples = append(p.samples, sample{now, rows})
	for len(p.samples) > 2 && now.Sub(p.samples[1].at) > rateOver {
		p.samples = p.samples[1:]
	}
	p.now.Rate, p.now.Left = 0, -1
	if first := p.samples[0]; now.After(first.at) && rows > first.rows {
		p.now.Rate = float64(rows-first.rows) / now.Sub(first.at).Seconds()
	}
	if p.now.Rate > 0 && p.now.Total >= 0 {
		p.now.Left = time.Duration(float64(max(p.now.Total-rows, 0)) / p.now.Rate * float64(time.Second))
	}
	p.report()
}

// waits says what is waited for.
func (p *progress) waits(what string) {
	p.now.Waits = what
	p.report()
}

// left says how long the step takes still.
func (p *progress) left(d time.Duration) {
	p.now.Left = d
	p.report()
}

func (p *progress) report() {
	if now := time.Now(); p.tell != nil && now.Sub(p.reported) >= reportEvery {
		p.reported = now
		p.tell(p.now)
	}
}
