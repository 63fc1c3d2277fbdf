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

// TypeIDs has the methods of a [Codec], and makes TypeIDs: it has no secret and hides nothing. It is for [sqltype.UsePublicIDs], and for codecs that keep a secret for some
// prefixes alone. It converts keys of 16 bytes; a number is an [ErrKeys].
//
// [sqltype.UsePublicIDs]: https://pkg.go.dev/github.com/snowkey-go/snowkey/sqltype#UsePublicIDs
type TypeIDs struct{}

var errTypeIDs = fmt.Errorf("%w: TypeIDs are of UUIDs, and this key is a number", ErrKeys)

// Encode returns an [ErrKeys].
func (TypeIDs) Encode(string, int64) (string, error) { return "", errTypeIDs }

// Decode returns an [ErrKeys].
func (TypeIDs) Decode(string, string) (int64, error) { return 0, errTypeIDs }

// EncodeUUID is [TypeID], but that an empty prefix is an [ErrPrefix].
func (TypeIDs) EncodeUUID(prefix string, id [16]byte) (string, error) {
	if err := checkPrefix(prefix); err != nil {
		return "", err
	}
	return TypeID(prefix, id)
}

// DecodeUUID is [ParseTypeID] of a prefix and of versions, any without them. The error wraps [ErrPrefix], [ErrSyntax] or [ErrForged].
func (TypeIDs) DecodeUUID(prefix, text string, versions ...int) (id [16]byte, err error) {
	if err := checkPrefix(prefix); err != nil {
		return id, err
	}
	if i := strings.LastIndexByte(text, '_'); i < 0 || text[:i] != prefix {
		return id, fmt.Errorf("%w: %q, want %s_ and %d digits", ErrPrefix, clipped(text), prefix, crockford.Length)
	}
	if _, id, err = ParseTypeID(text); err != nil {
		return id, err
	}
	return id, checkVersion(&id, text, versions)
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
