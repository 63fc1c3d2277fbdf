package report

import "math"

// axis has four labelled ticks or more, at places between 0 and 100.
type axis struct {
	Head     string
	Ticks    []tick
	min, max float64
	log      bool
}

type tick struct {
	At   float64
	Text string
}

// rounds are the nearest round numbers: not above a positive number, and not below it.
func rounds(v float64) (below, above float64) {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, round := range [...]float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10} {
		if above = round * power; above >= v*(1-1e-9) {
			break
		}
		below = above
	}
	if above <= v*(1+1e-9) {
		below = above
	}
	return below, above
}

// drawn is a value that can be drawn: 1 where it is too small for that.
func drawn(v float64) float64 {
	if v = min(v, 1e18); v < 1e-9 {
		return 1
	}
	return v
}

// linear is an axis from 0 to three steps of a round number, which hold the greatest value.
func linear(most float64, format func(float64) string) axis {
	_, step := rounds(drawn(most) / 3)
	a := axis{max: 3 * step}
	for i := 0.0; i <= 3; i++ {
		a.Ticks = append(a.Ticks, tick{place(i / 3), format(i * step)})
	}
	return a
}

// until is an axis from 0 to a value, with three steps of a round number.
func until(most float64, format func(float64) string) axis {
	a := axis{max: drawn(most)}
	step, _ := rounds(a.max / 3)
	for i := 0.0; i <= 3; i++ {
		a.Ticks = append(a.Ticks, tick{a.at(i * step), format(i * step)})
	}
	return a
}

// decades is a logarithmic axis from a power of ten to another, with three to five steps between its ticks.
func decades(least, most float64, format func(float64) string) axis {
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	every := max(1, math.Ceil((to-from)/4))
	n := max(3, math.Ceil((to-from)/every))
	a := axis{min: math.Pow(10, from), max: math.Pow(10, from+n*every), log: true}
	for i := 0.0; i <= n; i++ {
		a.Ticks = append(a.Ticks, tick{place(i / n), format(math.Pow(10, from+i*every))})
	}
	return a
}

// at is the place of a value; what the axis has no room for is at its end.
func (a axis) at(v float64) float64 {
	part := v / a.max
	if a.log {
		part = math.Log(v/a.min) / math.Log(a.max/a.min)
	}
	return place(max(0, min(1, part)))
}

// place is a part of an axis in percent, to the hundredth, which is less than a pixel.
func place(part float64) float64 { return math.Round(part*1e4) / 100 }
