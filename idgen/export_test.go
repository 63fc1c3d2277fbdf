package idgen

import "time"

// Quotient divides by a unit as generators do.
func Quotient(n int64, unit time.Duration) int64 { return newDivisor(unit).quotient(n) }
