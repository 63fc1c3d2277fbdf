package publicid

import (
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/crockford"
)

// TypeID returns a UUID with a prefix as TypeID has it, which hides nothing: user_01h455vb4pex5vsknk084sn02q. The prefix is up to 63 small letters and underlines, none
// at an end; without one there is no underline. The error wraps [ErrPrefix]. Source: github.com/jetify-com/typeid, version 0.3.
func TypeID(prefix string, id [16]byte) (string, error) {
	if err := checkTypePrefix(prefix); err != nil {
		return "", err
	}
	text := make([]byte, 0, len(prefix)+1+crockford.Length)
	if prefix != "" {
		text = append(append(text, prefix...), '_')
	}
	return string(crockford.Append(text, crockford.Small, id)), nil
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
	if len(body) != crockford.Length || body[0] > '7' {
		return "", id, fmt.Errorf("%w: %q, want 26 digits after the prefix, at most 7zzzzzzzzzzzzzzzzzzzzzzzzz", ErrSyntax, clipped(text))
	}
	id, ok := crockford.Parse(crockford.Small, body)
	if !ok {
		return "", id, fmt.Errorf("%w: %q, want digits and small letters without i, l, o and u", ErrSyntax, clipped(text))
	}
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
