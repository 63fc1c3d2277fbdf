package sqltype

import (
	"encoding/json"
	"fmt"
	"io"
)

// marshalGQL writes a string, as the scalar ID of GraphQL is. An error of w is that of who gave it: the interface has none.
func marshalGQL(w io.Writer, key int64) {
	text, _ := marshalJSON(key) // never fails
	_, _ = w.Write(text)
}

// unmarshalGQL takes a string, or a number where that has all its digits.
func unmarshalGQL(key *int64, v any) error {
	switch v := v.(type) {
	case string:
		return set(key, v)
	case json.Number:
		return set(key, v.String())
	case int:
		return scan(key, int64(v))
	case int64, uint64, nil:
		return scan(key, v)
	}
	return fmt.Errorf("%w: %T %v, want a string or an integer", ErrSyntax, v, v)
}
