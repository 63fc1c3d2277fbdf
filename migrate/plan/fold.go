package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Statements of many tables differ in names alone. They are shown once, with {1}, {2} and so on where the names are, and the names below:
//
//	ALTER TABLE {1} ALTER {2} DROP DEFAULT;
//	--   {1} {2} = orders id; users id
//
// Put in their places the names give each statement, letter by letter.
type folded struct {
	template string
	places   int        // how many names it has places for; 0 of a statement that is as it stands
	names    [][]string // for each statement those in its places
}

var (
	sqlToken = regexp.MustCompile("\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|[\\pL\\pN_$]+|\\s+|.")
	word     = regexp.MustCompile(`^[\pL\pN_$]`)
	keyword  = regexp.MustCompile(`^[A-Z_]+$`)
	nameCore = regexp.MustCompile("(?s)^([\"`]?(?:snowkey_[a-z]+_)?)(.*?)([\"`]?)$") // what stands around a name in a token
)

// mayDiffer reports whether a token may be another one in a statement that is shown with this one.
func mayDiffer(token string) bool {
	return strings.ContainsAny(token[:1], "\"`") || word.MatchString(token) && !keyword.MatchString(token)
}

// fold puts statements together that differ in names alone, in the order of the first of each. A statement that is there twice counts once.
func fold(statements []string) []folded {
	var order []string
	groups := map[string][][]string{}
	seen := map[string]bool{}
	for _, text := range statements {
		if seen[text] {
			continue
		}
		seen[text] = true
		tokens := sqlToken.FindAllString(text, -1)
		shape := make([]string, len(tokens))
		for i, token := range tokens {
			if shape[i] = token; mayDiffer(token) {
				shape[i] = "\x00" + nameCore.FindStringSubmatch(token)[1]
			}
		}
		key := strings.Join(shape, "\x01")
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], tokens)
	}
	var all []folded
	for _, key := range order {
		all = append(all, together(groups[key])...)
	}
	return all
}

// mostPlaces is how many places a template may have: with more it is easier to read the statements.
const mostPlaces = 6

// together shows statements of one shape as one, or each by itself where that would be no easier to read.
func together(group [][]string) []folded {
	f := folded{}
	places := map[string]int{} // by the names of all statements in them
	f.names = make([][]string, len(group))
	for i, token := range group[0] {
		var cores []string
		pre, post := "", ""
		for n, tokens := range group {
			core := nameCore.FindStringSubmatch(tokens[i])
			if n > 0 && (core[1] != pre || core[3] != post) {
				cores = nil
				break
			}
			pre, post = core[1], core[3]
			cores = append(cores, core[2])
		}
		if cores == nil {
			pre, post = "", ""
			for _, tokens := range group {
				cores = append(cores, tokens[i])
			}
		}
		if all := strings.Join(cores, "\x00"); all != strings.Repeat(cores[0]+"\x00", len(cores)-1)+cores[0] {
			if places[all] == 0 {
				f.places++
				places[all] = f.places
				for n, core := range cores {
					f.names[n] = append(f.names[n], core)
				}
			}
			token = fmt.Sprintf("%s{%d}%s", pre, places[all], post)
		}
		f.template += token
	}
	if len(group) > 1 && (f.places > mostPlaces || len(group) == 2 && f.places > 2) {
		var single []folded
		for _, tokens := range group {
			single = append(single, folded{template: strings.Join(tokens, "")})
		}
		return single
	}
	return []folded{f}
}

// plain is a name that needs no quotes in a list.
var plain = regexp.MustCompile(`^[\pL\pN_$.]+$`)

// list returns the names, a statement's after another's.
func (f folded) list() string {
	var label, rows []string
	for i := range f.places {
		label = append(label, fmt.Sprintf("{%d}", i+1))
	}
	for _, names := range f.names {
		var row []string
		for _, name := range names {
			if !plain.MatchString(name) {
				name = strconv.Quote(name)
			}
			row = append(row, name)
		}
		rows = append(rows, strings.Join(row, " "))
	}
	separator := "; "
	if f.places == 1 {
		separator = ", "
	}
	return strings.Join(label, " ") + " = " + strings.Join(rows, separator)
}
