package sqltoken

// Declarations returns what is between the commas of a table's definition, each with the comma or parenthesis that ends it.
func (g Grammar) Declarations(create string) (parts [][]Token) {
	var part []Token
	for _, t := range g.Tokens(create) {
		switch {
		case t.Depth == 0 && t.Is("(") && part == nil:
			part = []Token{}
		case t.Depth == 1 && t.Is(",") || t.Depth == 0 && t.Is(")") && part != nil:
			if len(part) > 0 {
				parts = append(parts, append(part, t))
			}
			if part = []Token{}; t.Depth == 0 {
				return parts
			}
		case part != nil:
			part = append(part, t)
		}
	}
	return parts
}

// Parenthesized returns what is in the parentheses that tokens begin with, empty when they begin with none.
func Parenthesized(sql string, tokens []Token) string {
	if len(tokens) == 0 || !tokens[0].Is("(") {
		return ""
	}
	for _, t := range tokens[1:] {
		if t.Is(")") && t.Depth == tokens[0].Depth {
			return sql[tokens[0].End:t.Start]
		}
	}
	return ""
}
