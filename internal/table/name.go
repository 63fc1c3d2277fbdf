package table

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// ErrName says that a text is no name of a table.
var ErrName = errors.New("table: not a table's name")

// Name is the name of a table, and of its schema, which is empty for the current one; letter by letter, without quotes.
type Name struct {
	Schema string `json:"schema,omitempty"`
	Name   string `json:"name"`
}

// Parse reads "table", "schema.table", and either part in quotes of one of the kinds " and `, in which quotes are doubled. The error wraps
// [ErrName] and says what is wrong.
func Parse(text string) (Name, error) {
	var parts []string
	for rest := text; ; {
		part, after, err := cutPart(rest)
		if err != nil {
			return Name{}, fmt.Errorf("%w: %q: %w", ErrName, text, err)
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = after[1:]
	}
	switch len(parts) {
	case 1:
		return Name{Name: parts[0]}, nil
	case 2:
		return Name{Schema: parts[0], Name: parts[1]}, nil
	}
	return Name{}, fmt.Errorf("%w: %q has %d parts, want table or schema.table", ErrName, text, len(parts))
}

// cutPart returns the first part of a name, and what follows it: nothing, or a dot and more.
func cutPart(text string) (part, after string, err error) {
	if text == "" || text[0] != '"' && text[0] != '`' {
		part, after = text, ""
		if dot := strings.IndexByte(text, '.'); dot >= 0 {
			part, after = text[:dot], text[dot:]
		}
	} else {
		quote := text[:1]
		var b strings.Builder
		for text = text[1:]; ; {
			inside, rest, closed := strings.Cut(text, quote)
			b.WriteString(inside)
			if !closed {
				return "", "", fmt.Errorf("the quote %s is not closed", quote)
			}
			if text = rest; !strings.HasPrefix(text, quote) {
				break
			}
			b.WriteString(quote)
			text = text[1:]
		}
		if part, after = b.String(), text; after != "" && after[0] != '.' {
			return "", "", fmt.Errorf("%q follows a quoted part, want a dot", after)
		}
	}
	if part == "" || strings.ContainsRune(part, 0) {
		return "", "", errors.New("a part is empty or has a zero byte")
	}
	return part, after, nil
}

// String returns the name as Parse reads it.
func (n Name) String() string {
	if n.Schema == "" {
		return namePart(n.Name)
	}
	return namePart(n.Schema) + "." + namePart(n.Name)
}

func namePart(part string) string {
	if strings.ContainsAny(part, "\"`.") {
		return dialect.SQLite.QuoteAny(part)
	}
	return part
}
