package resulttest

import (
	"math"
	"time"

	"github.com/snowkey-go/snowkey/compare/result"
)

// The plan of the sample.
const (
	rows   = 100_000
	batch  = 500
	rounds = 5
	seed   = 7
)

// Sample is a full document, the same at each call: SQLite, a private MariaDB whose cache is smaller than the tables, and a PostgreSQL that is
// somebody else's; eleven strategies. Two of them are skipped where they cannot work, one fails its verification and has no figures, and figures
// that cannot be taken say why. It shares no memory with what other calls returned.
func Sample() result.Result {
	r := result.Result{
		Schema:  result.Schema,
		Tool:    "snowkey v0.9.0",
		Made:    time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC),
		Seconds: 1287.4,
		Plan:    result.Plan{Profile: "full", Rows: rows, Batch: batch, Rounds: rounds, Budget: 1800, Seed: seed},
		Machine: result.Machine{
			OS: "linux", Arch: "amd64", CPUs: 4, CPU: "AMD EPYC 7B13", Memory: 16 << 30, Go: "go1.25.0",
		},
	}
	for _, k := range kinds {
		r.Plan.Strategies = append(r.Plan.Strategies, k.name)
	}
	for i, p := range places {
		d := p.database()
		for j, k := range kinds {
			d.Strategies = append(d.Strategies, k.strategy(p, newNoise(uint64(i), uint64(j))))
		}
		r.Databases = append(r.Databases, d)
	}
	return r
}

// strategy is what was measured of a kind at a place.
func (k kind) strategy(p place, n *noise) result.Strategy {
	s := result.Strategy{
		Name: k.name, About: k.about, Origin: k.origin, Needs: k.needs, Cost: k.cost,
		Coordination: k.coordination, Decodes: k.decodes, Guess: k.guess,
	}
	shape, ok := p.shapes[k.name]
	if !ok {
		s.Skipped = k.skipped
		return s
	}
	s.Verify = k.verify()
	s.Key = k.key(p, n)
	if !s.Verify.OK() {
		return s
	}
	s.Generation = k.generation(n)
	s.Latency = k.latency(n)
	s.Growth = shape.growth(n)
	s.Storage = shape.storage(p, n)
	s.Read = shape.read(p, n)
	s.Shards = k.shards(n)
	s.Crash = k.crash(p, n)
	return s
}

// growth makes batches whose rate falls from the shape's first to its last, early at first, and computes the tenths from them.
func (s shape) growth(n *noise) result.Growth {
	g := result.Growth{Rows: rows, Tenths: make([]result.Tenth, 10)}
	for range rounds {
		times := make([]int64, rows/batch)
		load := n.around(1, 0.04) // of the machine in this round
		for i := range times {
			grown := float64(i) / float64(len(times)-1)
			rate := s.last + (s.first-s.last)*math.Exp(-3*grown)
			times[i] = int64(n.around(batch/rate*1e6*load, 0.08))
			if i%37 == 36 { // a page cleaner or a checkpoint
				times[i] *= 3
			}
		}
		g.Batches = append(g.Batches, times)
		each := len(times) / 10
		for t := range g.Tenths {
			var sum, most int64
			for _, us := range times[t*each : (t+1)*each] {
				sum += us
				most = max(most, us)
			}
			g.Tenths[t].RowsPerSecond.Add(round(float64(each*batch)/float64(sum)*1e6, 1))
			g.Tenths[t].P99.Add(float64(most))
		}
	}
	return g
}

// storage has the shape's figures; what a database does not tell is missing.
func (s shape) storage(p place, n *noise) result.Storage {
	st := result.Storage{
		Table:     n.figure(s.table, 0.002, 2),
		Index:     n.figure(s.index, 0.002, 2),
		Fill:      n.figure(s.fill, 0.002, 4),
		Splits:    n.figure(s.splits, 0.01, 0),
		Log:       n.figure(s.log, 0.02, 1),
		Pages:     n.figure(s.pages, 0.03, 1),
		CacheUsed: n.figure((s.table+s.index)*rows/p.cache, 0.002, 3),
	}
	st.Log.Note, st.Pages.Note = p.logNote, p.pagesNote
	if s.splits == 0 {
		st.Splits = result.Missing(p.noSplits)
	}
	if s.pages == 0 {
		st.Pages = result.Missing(p.noPages)
	}
	return st
}

// read has the shape's figures.
func (s shape) read(p place, n *noise) result.Read {
	r := result.Read{
		Ordered: n.figure(s.ordered, 0.05, 1),
		Recent:  n.figure(s.recent, 0.05, 1),
		Buffers: n.figure(s.buffers, 0.001, 0),
	}
	if s.buffers == 0 {
		r.Buffers = result.Missing(p.noBuffers)
	}
	return r
}

// crash has figures of private servers only.
func (k kind) crash(p place, n *noise) result.Crash {
	why := p.noCrash
	if why == "" && k.limit >= 0 && k.drawn == 0 {
		why = "the keys are made without the database"
	}
	if why == "" && k.drawn == 0 {
		why = "the database makes the key when a row is inserted"
	}
	if why != "" {
		m := result.Missing(why)
		return result.Crash{Twice: m, Lost: m, Outage: m, Down: m}
	}
	c := result.Crash{Lost: result.Measured(0, 0, 0), Twice: result.Measured(0, 0, 0)}
	if k.name == "sequence" {
		c.Twice = result.Measured(21044, 20871, 21390)
		c.Lost = result.Missing("numbers came again: none was skipped")
	}
	for range 3 {
		down := n.around(840, 0.1)
		c.Down.Add(round(down, 0))
		c.Outage.Add(round(down+n.around(30, 0.2), 0))
	}
	return c
}
