package report

import (
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

// few is how many reasons, and how many other strategies, terminals and pages show of each line of the decision table; Markdown has all.
const few = 3

// taken names the strategies of a decision, several of a tie, and says in words where there are none.
func taken(d result.Decision) string {
	if len(d.Take) == 0 {
		return d.State
	}
	names := make([]string, len(d.Take))
	for i, name := range d.Take {
		names[i] = line(name)
	}
	return who(names)
}

// tieText says what several names mean.
const tieText = "Several names tie: the measurements do not tell them apart."

// measured says how fast and how large the rows of a decision are, "" where that was not measured.
func measured(d result.Decision) string {
	var parts []string
	if d.Rate > 0 {
		parts = append(parts, result.Short(d.Rate)+" rows/s")
	}
	if d.Bytes > 0 {
		parts = append(parts, result.Short(d.Bytes)+" B/row")
	}
	return strings.Join(parts, ", ")
}

// Decide returns the result with the decision table of each database. It takes no strategy that failed a check or was not checked, and none
// whose keys were issued twice after a crash. Among the strategies that fit a criterion the order is that of [ranking.decide].
func Decide(r result.Document) result.Document {
	databases := make([]result.Database, len(r.Databases))
	for i, d := range r.Databases {
		d.Decisions = decisions(d)
		databases[i] = d
	}
	r.Databases = databases
	return r
}

// decisions are the lines of the decision table of one database.
func decisions(d result.Database) []result.Decision {
	c := newRanking(d)
	table := make([]result.Decision, len(criteria))
	for i, w := range criteria {
		table[i] = c.decide(w)
	}
	return table
}
