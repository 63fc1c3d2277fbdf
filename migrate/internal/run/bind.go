package run

import (
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// bind returns a statement with a range's tokens, such as :after, as parameters of the dialect's, and their values in order. What is in
// quotes of any kind, and what only begins like a token, such as :rowset and ::rows, stays as it is. PostgreSQL would take a parameter's
// type from the column that it is compared with, which may be narrower than the least int64, so its type is said there.
func bind(d dialect.Dialect, text string, values map[string]int64) (string, []any) {
	var out strings.Builder
	var args []any
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			end := len(text) // of what is not closed
			if n := strings.IndexByte(text[i+1:], c); n >= 0 {
				end = i + 1 + n + 1 // a doubled quote is two quoted parts, one after the other
			}
			out.WriteString(text[i:end])
			i = end
			continue
		case c == ':' && (i == 0 || text[i-1] != ':'):
			end := i + 1
			for end < len(text) && isWord(text[end]) {
				end++
			}
			if value, ok := values[text[i+1:end]]; ok {
				args = append(args, value)
				if d == dialect.Postgres {
					out.WriteString("CAST($" + strconv.Itoa(len(args)) + " AS bigint)")
				} else {
					out.WriteByte('?')
				}
				i = end
				continue
			}
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String(), args
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
