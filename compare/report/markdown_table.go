package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/snowkey-go/snowkey/compare/result"
)

// escape makes a text one line of Markdown that shows as it is, in table cells too. It leaves alone what means nothing where it stands, as an
// underline within a word, so that the source can be read.
func escape(text string) string {
	runes := []rune(line(text))
	var out strings.Builder
	for i, r := range runes {
		switch r {
		case '\\', '|', '`', '*', '<', '>', '[', ']', '~', '&', '$':
			out.WriteByte('\\')
		case '_':
			if i == 0 || i == len(runes)-1 || !wordly(runes[i-1]) || !wordly(runes[i+1]) {
				out.WriteByte('\\')
			}
		case '#', '+', '-':
			if i == 0 && len(runes) > 1 && runes[1] == ' ' {
				out.WriteByte('\\')
			}
		}
		out.WriteRune(r)
	}
	return out.String()
}

// wordly tells of letters and digits of ASCII.
func wordly(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// grid is a table of Markdown. Its cells are escaped when it is written.
type grid struct {
	head []string
	rows [][]string
	left int // columns, from the first, that are texts and stand at the left
}

// write writes the table, with the cells filled up to the width of their columns, and an empty line.
func (g grid) write(out *strings.Builder) {
	cells := make([][]string, 0, len(g.rows)+1)
	width := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		escaped := make([]string, len(g.head))
		for i := range escaped {
			if i < len(row) {
				escaped[i] = escape(row[i])
			}
			width[i] = max(width[i], min(utf8.RuneCountInString(escaped[i]), 40), 3)
		}
		cells = append(cells, escaped)
	}
	for i, row := range cells {
		for j, cell := range row {
			fill := strings.Repeat(" ", max(0, width[j]-utf8.RuneCountInString(cell)))
			if j < g.left {
				out.WriteString("| " + cell + fill + " ")
			} else {
				out.WriteString("| " + fill + cell + " ")
			}
		}
		out.WriteString("|\n")
		if i > 0 {
			continue
		}
		for j, n := range width {
			if j < g.left {
				out.WriteString("| " + strings.Repeat("-", n) + " ")
			} else {
				out.WriteString("| " + strings.Repeat("-", n-1) + ": ")
			}
		}
		out.WriteString("|\n")
	}
	out.WriteByte('\n')
}

// writeTable writes the table of a section with a heading above and notes below, nothing where there are no strategies.
func writeTable(out *strings.Builder, s section, strategies []result.Strategy) {
	if len(strategies) == 0 {
		return
	}
	if s.title != "" {
		out.WriteString("### " + s.title + "\n\n")
	}
	if s.intro != "" {
		out.WriteString(escape(s.intro) + "\n\n")
	}
	t := newTable(s.columns, strategies)
	if rows := t.texts(); len(t.Heads) > 0 {
		g := grid{head: rows[0], rows: rows[1:], left: 1}
		if s.texts {
			g.left = len(g.head)
		}
		g.write(out)
	}
	bullets(out, slices.Concat(t.Notes, t.Missing))
}

// bullets writes a list, and an empty line; nothing for no lines.
func bullets(out *strings.Builder, lines []string) {
	for _, text := range lines {
		out.WriteString("- " + escape(text) + "\n")
	}
	if len(lines) > 0 {
		out.WriteByte('\n')
	}
}
