// Package crockford writes 16 bytes as 26 digits of Crockford's base 32, as ULIDs and TypeIDs have them, and reads such digits. There are no spaces, hyphens and look-alikes.
package crockford

import (
	"encoding/binary"
	"strings"
)

// The digits: ULIDs and public ids have capital letters, TypeIDs small ones.
const (
	Capital = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	Small   = "0123456789abcdefghjkmnpqrstvwxyz"
)

// Length is how many digits 16 bytes have.
const Length = 26

// Append appends the 26 digits of 16 bytes to b.
func Append(b []byte, digits string, octets [16]byte) []byte {
	high, low := binary.BigEndian.Uint64(octets[:]), binary.BigEndian.Uint64(octets[8:])
	var text [Length]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[low&31]
		high, low = high>>5, low>>5|high<<59
	}
	return append(b, text[:]...)
}

// Parse returns the 16 bytes of 26 digits. It reports false for another length, another character, and more than 128 bits, which is a first digit above 7.
func Parse(digits, text string) (octets [16]byte, ok bool) {
	if len(text) != Length || text[0] > '7' {
		return octets, false
	}
	var high, low uint64
	for _, c := range []byte(text) {
		digit := strings.IndexByte(digits, c)
		if digit < 0 {
			return octets, false
		}
		high, low = high<<5|low>>59, low<<5|uint64(digit)
	}
	binary.BigEndian.PutUint64(octets[:], high)
	binary.BigEndian.PutUint64(octets[8:], low)
	return octets, true
}
