package report

import "github.com/snowkey-go/snowkey/compare/result"

// Advice is a line of the decision table: a criterion, the strategy that fits it best on this database, and the measurements that say so.
type Advice struct {
	Want    string
	Take    string // the strategy's name; "" when none fits or too little was measured
	Because []string
	Not     []string // strategies that one would have thought of, the nearest first, and what was measured against them

	open bool // too little was measured
}

// few is how many reasons, and how many other strategies, terminals and pages show of each line of the decision table; Markdown has all.
const few = 3

// take is the strategy to take, in words where there is none.
func (a Advice) take() string {
	switch {
	case a.Take != "":
		return line(a.Take)
	case a.open:
		return "not measured"
	}
	return "none"
}

// Advise draws the decision table from what was measured on one database. It takes no strategy that failed a check or was not checked, and
// none whose keys were issued twice after a crash. Among those that fit a criterion the order is that of [ranking.decide].
func Advise(d result.Database) []Advice {
	c := newRanking(d)
	table := make([]Advice, 0, len(criteria))
	for _, w := range criteria {
		table = append(table, c.decide(w))
	}
	return table
}
