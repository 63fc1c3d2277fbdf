package report

import (
	"math"

	"gonum.org/v1/plot"
)

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

// at sets an axis of a plot, with the ticks written by format.
func (a axis) at(to *plot.Axis, format func(float64) string) {
	to.Min, to.Max = a.min, a.max
	if a.log {
		to.Scale = plot.LogScale{}
	}
	ticks := make(plot.ConstantTicks, len(a.ticks))
	for i, v := range a.ticks {
		ticks[i] = plot.Tick{Value: v, Label: format(v)}
	}
	to.Tick.Marker = ticks
}
