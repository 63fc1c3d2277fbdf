package publicid

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/crockford"
)

const digits = crockford.Capital

func checkPrefix(prefix string) error {
	fine := len(prefix) >= 1 && len(prefix) <= 63 && prefix[0] >= 'a' && prefix[0] <= 'z' && prefix[len(prefix)-1] != '_'
	for _, c := range []byte(prefix) {
		fine = fine && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_')
	}
	if !fine {
		return fmt.Errorf("%w: %q cannot be one; want 1 to 63 of a-z, 0-9 and underlines, a letter first and no underline last", ErrPrefix, clipped(prefix))
	}
	return nil
}

// appendDigits appends a number of 65 bits, of which the first is given by itself.
func appendDigits(b []byte, top, value uint64, length int) []byte {
	b = append(b, digits[top<<4|value>>60])
	for shift := 5 * (length - 2); shift >= 0; shift -= 5 {
		b = append(b, digits[value>>shift&31])
	}
	return b
}

// digitsOf returns the number of the digits behind a prefix, of 65 bits, the first by itself.
func digitsOf(prefix, text string, length int) (top, value uint64, err error) {
	if err := checkPrefix(prefix); err != nil {
		return 0, 0, err
	}
	body, found := strings.CutPrefix(text, prefix+"_")
	if !found {
		return 0, 0, fmt.Errorf("%w: %q, want %s_ and %d digits", ErrPrefix, clipped(text), prefix, length)
	}
	if len(body) != length {
		return 0, 0, fmt.Errorf("%w: %q has %d characters after %s_, want %d", ErrSyntax, clipped(text), len(body), prefix, length)
	}
	for i, c := range []byte(body) {
		digit := strings.IndexByte(digits, c)
		if digit < 0 {
			return 0, 0, fmt.Errorf("%w: %q, want digits and capital letters without I, L, O and U", ErrSyntax, clipped(text))
		}
		if i == 0 {
			top, digit = uint64(digit>>4), digit&15
		}
		value = value<<5 | uint64(digit)
	}
	return top, value, nil
}

// clipped is a text as an error shows it.
func clipped(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
