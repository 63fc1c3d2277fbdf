package sqltoken

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a token is.
type Kind uint8

// The kinds of tokens.
const (
	Word Kind = iota // a name without quotes, keyword or number
	Name             // in quotes, of which SQLite takes "…" for a text where there is no such name
	Text
	Mark // one letter of anything else
)

// Token is a piece of a statement.
type Token struct {
	Kind  Kind
	Value string // without quotes
	Start int    // of its bytes in the statement
	End   int
	Depth int // how many parentheses are open; those of the parenthesis itself are counted from outside
}

// Is reports whether the token is a keyword, or the mark.
func (t Token) Is(keyword string) bool {
	return (t.Kind == Word || t.Kind == Mark) && strings.EqualFold(t.Value, keyword)
}

// Names reports whether the token may be a name, in any case.
func (t Token) Names(value string) bool {
	return (t.Kind == Word || t.Kind == Name) && strings.EqualFold(t.Value, value)
}

// Grammar says how a dialect writes texts, names and comments.
type Grammar struct {
	Backslash bool // escapes in texts
	Brackets  bool // [name]
	Dollars   bool // $tag$ text $tag$
	Hash      bool // # begins a comment
}

// The grammars of the databases.
var (
	MySQL    = Grammar{Backslash: true, Hash: true}
	SQLite   = Grammar{Brackets: true}
	Postgres = Grammar{Dollars: true}
)

// Tokens cuts a statement into its pieces, without spaces and comments. What is not closed reaches to the end.
func (g Grammar) Tokens(sql string) (found []Token) {
	depth := 0
	for at := 0; at < len(sql); {
		letter, size := utf8.DecodeRuneInString(sql[at:])
		t := Token{Start: at, End: at + size, Depth: depth, Kind: Mark}
		switch {
		case unicode.IsSpace(letter):
			at = t.End
			continue
		case strings.HasPrefix(sql[at:], "--") || g.Hash && letter == '#':
			at = through(sql, at, "\n")
			continue
		case strings.HasPrefix(sql[at:], "/*"):
			at = through(sql, at+2, "*/")
			continue
		case letter == '\'':
			t.Kind = Text
			t.Value, t.End = g.quoted(sql, at, '\'')
		case letter == '"' || letter == '`':
			t.Kind = Name
			t.Value, t.End = Grammar{}.quoted(sql, at, byte(letter))
		case letter == '[' && g.Brackets:
			t.Kind, t.End = Name, through(sql, at, "]")
			t.Value = strings.TrimSuffix(sql[at+1:t.End], "]")
		case letter == '_' || letter == '$' && !g.Dollars || unicode.IsLetter(letter) || unicode.IsDigit(letter) || letter >= utf8.RuneSelf:
			t.Kind, t.End = Word, at+wordLength(sql[at:])
			t.Value = sql[at:t.End]
		case letter == '$':
			t.Kind, t.End = Text, dollarEnd(sql, at)
			t.Value = sql[at:t.End]
		default:
			t.Value = sql[at:t.End]
			switch letter {
			case '(':
				depth++
			case ')':
				depth--
				t.Depth = depth
			}
		}
		found = append(found, t)
		at = t.End
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
func (g Grammar) quoted(sql string, at int, quote byte) (value string, end int) {
	var b strings.Builder
	for i := at + 1; i < len(sql); i++ {
		switch {
		case g.Backslash && sql[i] == '\\' && i+1 < len(sql):
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

// Named reports whether a name is among the tokens, in any case.
func Named(tokens []Token, value string) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool { return t.Names(value) })
}
