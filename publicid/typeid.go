package publicid

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// typeDigits are Crockford's, small.
const typeDigits = "0123456789abcdefghjkmnpqrstvwxyz"

// TypeID returns a UUID with a prefix as TypeID has it, which hides nothing: user_01h455vb4pex5vsknk084sn02q. The prefix is up to 63 small letters and underlines, none
// at an end; without one there is no underline. The error wraps [ErrPrefix]. Source: github.com/jetify-com/typeid, version 0.3.
func TypeID(prefix string, id [16]byte) (string, error) {
	if err := checkTypePrefix(prefix); err != nil {
		return "", err
	}
	text := make([]byte, 26)
	high, low := binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[8:])
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = typeDigits[low&31]
		high, low = high>>5, low>>5|high<<59
	}
	if prefix == "" {
		return string(text), nil
	}
	return prefix + "_" + string(text), nil
}

// ParseTypeID returns the prefix and the UUID of a TypeID. The error wraps [ErrPrefix] or [ErrSyntax].
func ParseTypeID(text string) (prefix string, id [16]byte, err error) {
	body := text
	if i := strings.LastIndexByte(text, '_'); i >= 0 {
		if prefix, body = text[:i], text[i+1:]; prefix == "" {
			return "", id, fmt.Errorf("%w: %q begins with an underline", ErrPrefix, clipped(text))
		}
	}
	if err := checkTypePrefix(prefix); err != nil {
		return "", id, err
	}
	if len(body) != 26 || body[0] > '7' {
		return "", id, fmt.Errorf("%w: %q, want 26 digits after the prefix, at most 7zzzzzzzzzzzzzzzzzzzzzzzzz", ErrSyntax, clipped(text))
	}
	var high, low uint64
	for _, c := range []byte(body) {
		digit := strings.IndexByte(typeDigits, c)
		if digit < 0 {
			return "", id, fmt.Errorf("%w: %q, want digits and small letters without i, l, o and u", ErrSyntax, clipped(text))
		}
		high, low = high<<5|low>>59, low<<5|uint64(digit)
	}
	binary.BigEndian.PutUint64(id[:], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return prefix, id, nil
}

func checkTypePrefix(prefix string) error {
	fine := len(prefix) <= 63 && !strings.HasPrefix(prefix, "_") && !strings.HasSuffix(prefix, "_")
	for _, c := range []byte(prefix) {
		fine = fine && (c >= 'a' && c <= 'z' || c == '_')
	}
	if !fine {
		return fmt.Errorf("%w: %q cannot be one of a TypeID; want up to 63 of a-z and underlines, none at an end", ErrPrefix, clipped(prefix))
	}
	return nil
}
