package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	word kind = iota // a name without quotes, keyword or number
	name             // in quotes, of which SQLite takes "…" for a text where there is no such name
	text
	mark // one letter of anything else
)

// token is a piece of a statement.
type token struct {
	kind  kind
	value string // without quotes
	start int    // of its bytes in the statement
	end   int
	depth int // how many parentheses are open; those of the parenthesis itself are counted from outside
}

// is tells whether the token is a keyword, or the mark.
func (t token) is(keyword string) bool {
	return (t.kind == word || t.kind == mark) && strings.EqualFold(t.value, keyword)
}

// names tells whether the token may be a name, in any case.
func (t token) names(value string) bool {
	return (t.kind == word || t.kind == name) && strings.EqualFold(t.value, value)
}

// grammar is in what dialects differ.
type grammar struct {
	backslash bool // it escapes in texts
	brackets  bool // [name]
	dollars   bool // $tag$ text $tag$
	hash      bool // # begins a comment
}

var (
	mysqlGrammar    = grammar{backslash: true, hash: true}
	sqliteGrammar   = grammar{brackets: true}
	postgresGrammar = grammar{dollars: true}
)

// tokens cuts a statement into its pieces, without spaces and comments. What is not closed reaches to the end.
func (g grammar) tokens(sql string) (found []token) {
	depth := 0
	for at := 0; at < len(sql); {
		letter, size := utf8.DecodeRuneInString(sql[at:])
		t := token{start: at, end: at + size, depth: depth, kind: mark}
		switch {
		case unicode.IsSpace(letter):
			at = t.end
			continue
		case strings.HasPrefix(sql[at:], "--") || g.hash && letter == '#':
			at = through(sql, at, "\n")
			continue
		case strings.HasPrefix(sql[at:], "/*"):
			at = through(sql, at+2, "*/")
			continue
		case letter == '\'':
			t.kind = text
			t.value, t.end = g.quoted(sql, at, '\'')
		case letter == '"' || letter == '`':
			t.kind = name
			t.value, t.end = grammar{}.quoted(sql, at, byte(letter))
		case letter == '[' && g.brackets:
			t.kind, t.end = name, through(sql, at, "]")
			t.value = strings.TrimSuffix(sql[at+1:t.end], "]")
		case letter == '_' || letter == '$' && !g.dollars || unicode.IsLetter(letter) || unicode.IsDigit(letter) || letter >= utf8.RuneSelf:
			t.kind, t.end = word, at+wordLength(sql[at:])
			t.value = sql[at:t.end]
		case letter == '$':
			t.kind, t.end = text, dollarEnd(sql, at)
			t.value = sql[at:t.end]
		default:
			t.value = sql[at:t.end]
			switch letter {
			case '(':
				depth++
			case ')':
				depth--
				t.depth = depth
			}
		}
		found = append(found, t)
		at = t.end
	}
	return found
}

// through returns where the first end after at ends, and the end of sql without one.
func through(sql string, at int, end string) int {
	if i := strings.Index(sql[at:], end); i >= 0 {
		return at + i + len(end)
	}
	return len(sql)
}

func wordLength(sql string) int {
	for i, letter := range sql {
		if letter != '_' && letter != '$' && letter < utf8.RuneSelf && !unicode.IsLetter(letter) && !unicode.IsDigit(letter) {
			return i
		}
	}
	return len(sql)
}

// quoted returns what is between the quote at a place and the next that is not doubled, and where that ends. In value an escape stays as it is.
func (g grammar) quoted(sql string, at int, quote byte) (value string, end int) {
	var b strings.Builder
	for i := at + 1; i < len(sql); i++ {
		switch {
		case g.backslash && sql[i] == '\\' && i+1 < len(sql):
			b.WriteString(sql[i : i+2])
			i++
		case sql[i] != quote:
			b.WriteByte(sql[i])
		case i+1 < len(sql) && sql[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			return b.String(), i + 1
		}
	}
	return b.String(), len(sql)
}

// dollarEnd returns where the text $tag$…$tag$ ends that begins at a place, or the dollar that begins none.
func dollarEnd(sql string, at int) int {
	tag := strings.IndexByte(sql[at+1:], '$')
	if tag < 0 || wordLength(sql[at+1:]) < tag {
		return at + 1
	}
	open := sql[at : at+tag+2]
	return through(sql, at+len(open), open)
}

// named tells whether a name is among the tokens, in any case.
func named(tokens []token, value string) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.names(value) })
}
