package sqltype

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/idgen"
)

// parts are those of a key of the default layout, and zero for one that is no key.
func parts(key int64) idgen.Parts {
	if key == 0 {
		return idgen.Parts{}
	}
	p, _ := idgen.Snowkey.Decode(key) // fails for negative numbers alone, with zero parts: the layout uses all other bits
	return p
}

// short has as few digits as the number needs. A negative one, which no layout makes, stays decimal.
func short(key int64) string {
	text, err := idgen.Base32.Encode(key)
	if err != nil {
		return format(key)
	}
	if text = strings.TrimLeft(text, "0"); text == "" {
		return "0"
	}
	return text
}

func parseShort(text string) (int64, error) {
	if strings.HasPrefix(text, "-") {
		return parse(text)
	}
	switch n, err := idgen.Base32.Parse(text); {
	case errors.Is(err, idgen.ErrRange):
		return 0, fmt.Errorf("%w: %w", ErrRange, err)
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrSyntax, err)
	default:
		return n, nil
	}
}
