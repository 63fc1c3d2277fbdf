package catalog

// declarations returns what is between the commas of a table's definition, each with the comma or parenthesis that ends it.
func (g grammar) declarations(create string) (parts [][]token) {
	var part []token
	for _, t := range g.tokens(create) {
		switch {
		case t.depth == 0 && t.is("(") && part == nil:
			part = []token{}
		case t.depth == 1 && t.is(",") || t.depth == 0 && t.is(")") && part != nil:
			if len(part) > 0 {
				parts = append(parts, append(part, t))
			}
			if part = []token{}; t.depth == 0 {
				return parts
			}
		case part != nil:
			part = append(part, t)
		}
	}
	return parts
}

// parenthesized returns what is in the parentheses that tokens begin with, empty when they begin with none.
func parenthesized(sql string, tokens []token) string {
	if len(tokens) == 0 || !tokens[0].is("(") {
		return ""
	}
	for _, t := range tokens[1:] {
		if t.is(")") && t.depth == tokens[0].depth {
			return sql[tokens[0].end:t.start]
		}
	}
	return ""
}
