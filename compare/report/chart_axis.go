package report

import "math"

// axis is a range of an axis with its ticks: from 0 where the values are within a factor of ten of each other, logarithmic where not.
type axis struct {
	min, max float64
	log      bool
	ticks    []float64
}

// newAxis makes one for values, of which those are left out that cannot be told from 0 or from having no end.
func newAxis(values []float64, ticks int, log bool) axis {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if v >= 1e-9 && v <= 1e18 {
			least, most = min(least, v), max(most, v)
		}
	}
	switch {
	case most == 0:
		return axis{min: 0, max: 1, ticks: []float64{0, 1}}
	case !log:
		step := niceStep(most / float64(ticks))
		a := axis{max: math.Ceil(most/step-1e-9) * step}
		for i := 0; float64(i)*step <= a.max*(1+1e-9); i++ {
			a.ticks = append(a.ticks, float64(i)*step)
		}
		return a
	}
	a := axis{min: niceBelow(least), max: niceStep(most), log: true}
	if a.max < 10*a.min*(1-1e-9) {
		a.max = 10 * a.min
	}
	every := math.Max(1, math.Ceil(math.Log10(a.max/a.min)/float64(ticks)))
	for e := math.Ceil(math.Log10(a.min) - 1e-9); math.Pow(10, e) <= a.max*(1+1e-9); e += every {
		a.ticks = append(a.ticks, math.Pow(10, e))
	}
	return a
}

// niceBelow is the greatest of 1, 2 and 5 times a power of ten that is not above v.
func niceBelow(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, nice := range [...]float64{5, 2} {
		if v >= nice*power*(1-1e-9) {
			return nice * power
		}
	}
	return power
}

// niceStep is the least of 1, 2, 2.5, 5 and 10 times a power of ten that is not below the step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, nice := range [...]float64{1, 2, 2.5, 5} {
		if step <= nice*power*(1+1e-9) {
			return nice * power
		}
	}
	return 10 * power
}

// scale places the values of an axis between two positions of a drawing.
type scale struct {
	axis
	from, to float64
}

func (s scale) at(v float64) float64 {
	part := (v - s.min) / (s.max - s.min)
	if s.log {
		part = math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return s.from + max(0, min(1, part))*(s.to-s.from)
}

// tickLength is how far a tick stands out from its axis.
const tickLength = 4

// bottomAxis draws an axis under a plot whose top and bottom are given.
func (d *drawing) bottomAxis(s scale, bottom float64, format func(float64) string) {
	d.line(stroke{shade: rule, width: 1}, point{s.from, bottom}, point{s.to, bottom})
	for _, v := range s.ticks {
		if v > s.max*(1+1e-9) {
			continue
		}
		x := s.at(v)
		d.line(stroke{shade: rule, width: 1}, point{x, bottom}, point{x, bottom + tickLength})
		d.text(lettering{shade: quiet, anchor: "middle"}, point{x, bottom + 13}, format(v))
	}
}

// leftAxis draws an axis to the left of a plot, with a line across the plot at each tick.
func (d *drawing) leftAxis(s scale, left, right float64, format func(float64) string) {
	for _, v := range s.ticks {
		y := s.at(v)
		d.line(stroke{shade: rule, width: 1}, point{left - tickLength, y}, point{right, y})
		d.text(lettering{shade: quiet, anchor: "end"}, point{left - tickLength - 4, y}, format(v))
	}
	d.line(stroke{shade: rule, width: 1}, point{left, s.from}, point{left, s.to})
}

// widest is the width of the widest text of the ticks.
func (a axis) widest(format func(float64) string) (width float64) {
	for _, v := range a.ticks {
		width = max(width, textWidth(format(v), false))
	}
	return width
}
