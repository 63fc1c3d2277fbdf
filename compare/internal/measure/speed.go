package measure

import (
	"slices"

	"github.com/snowkey-go/snowkey/compare/result"
)

// speed returns the figure of a number of goroutines and of keys a call, new where there is none. It is valid until the next call.
func speed(all *[]result.Speed, goroutines, keys int) *result.Speed {
	at := slices.IndexFunc(*all, func(s result.Speed) bool { return s.Goroutines == goroutines && s.Keys == keys })
	if at < 0 {
		at = len(*all)
		*all = append(*all, result.Speed{Goroutines: goroutines, Keys: keys})
	}
	return &(*all)[at]
}

// missing says why there is no sample, of singles for numbers of goroutines or of calls for numbers of keys.
func (*generation) missing(all *[]result.Speed, goroutines, keys []int, why string) {
	for _, n := range goroutines {
		speed(all, n, 1).Time.Why = why
	}
	for _, n := range keys {
		speed(all, 1, n).Time.Why = why
	}
}

// copySpeeds returns figures whose samples are shared with nobody.
func copySpeeds(all []result.Speed) []result.Speed {
	all = slices.Clone(all)
	for i := range all {
		all[i].Time.Samples = slices.Clone(all[i].Time.Samples)
	}
	return all
}
