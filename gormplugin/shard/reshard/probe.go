package reshard

import "slices"

// probeLimit is how many of the ids that were compared are kept, at most: half as many at least when there were more.
const probeLimit = 100

// probes are some of the ids that were compared, spread evenly over all of them.
type probes struct {
	ids   []int64
	every int // one of so many is kept
	seen  int
}

// add tells of one more.
func (p *probes) add(id int64) {
	p.every = max(p.every, 1)
	if p.seen%p.every == 0 {
		p.ids = append(p.ids, id)
	}
	p.seen++
	if len(p.ids) < probeLimit {
		return
	}
	for i := range len(p.ids) / 2 {
		p.ids[i] = p.ids[2*i]
	}
	p.ids, p.every = slices.Clip(p.ids[:len(p.ids)/2]), 2*p.every
}
