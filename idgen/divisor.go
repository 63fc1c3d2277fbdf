package idgen

import (
	"math/bits"
	"time"
)

// divisor divides by the unit of a layout with a multiplication, which takes a fraction of the time of a division. The method is that
// of Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994.
type divisor struct {
	d     int64
	mul   uint64 // floor(2^(63+l) / d) + 1, where 2^(l-1) < d <= 2^l
	shift uint8  // l - 1
	one   bool   // d is 1
}

func newDivisor(unit time.Duration) divisor {
	d := uint64(unit)
	if d == 1 {
		return divisor{d: 1, one: true}
	}
	l := bits.Len64(d - 1)
	mul, _ := bits.Div64(1<<(l-1), 0, d) // 2^(63+l) / d: below 2^64, since d > 2^(l-1)
	return divisor{d: int64(unit), mul: mul + 1, shift: uint8(l - 1)}
}

// quotient returns n / d for n of 0 or more.
func (v divisor) quotient(n int64) int64 {
	if v.one {
		return n
	}
	high, _ := bits.Mul64(uint64(n), v.mul)
	return int64(high >> (v.shift & 63))
}
