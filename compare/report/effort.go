package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// The efforts of a coordination, the least first.
const (
	effortless = iota // nothing has to be agreed upon
	itself            // processes arrange it among themselves or through a server
	byHand            // people have to set something, different in each process
)

// effort is what a coordination asks of people. Documents have a sentence only, so this goes by its words: one that begins with "none", "no "
// or "nothing" is effortless; one that names what people see to is by hand; all others arrange themselves.
func effort(coordination string) int {
	text := strings.ToLower(line(coordination))
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	switch {
	case text == "", strings.HasPrefix(text, "none"), strings.HasPrefix(text, "nothing"), strings.HasPrefix(text, "no "):
		return effortless
	case has("by hand", "configur", "environment", "machines' names", "by people", "set for each", "set in each", "number of its own", "an operator"):
		return byHand
	}
	return itself
}

// silent is what the documents of strategies say whose keys tell nothing of their rows.
const silent = "nothing"

// tells says what a key tells of its row.
func tells(decodes string) string {
	if decodes = line(decodes); decodes != "" {
		return "a key tells " + decodes
	}
	return "what a key tells is not stated"
}

// chanceText is a probability.
func chanceText(p float64) string {
	if p < chance {
		return "< " + fmt.Sprint(chance)
	}
	return result.Short(p)
}

// most is the greatest sample, 0 for none.
func most(f result.Figure) float64 {
	if !f.OK() {
		return 0
	}
	return slices.Max(f.Samples)
}

// doubledText says how many keys were issued twice.
func doubledText(f result.Figure) string {
	return "up to " + count(int64(most(f))) + " keys issued twice after the database was killed"
}

// distance says how far a key is from the next one, in bits.
func distance(bits float64) string {
	switch {
	case bits < 1:
		return "who knows a key can work out the next"
	case bits < 20:
		return "keys lie some " + count(int64(math.Exp2(bits))) + " apart"
	}
	return "keys lie some 2^" + result.Short(bits) + " apart"
}
