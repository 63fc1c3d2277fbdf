package report

import "github.com/snowkey-go/snowkey/compare/result"

// Advice is a line of the decision table: a wish, the strategy that fits it best on this database, and the measurements that say so.
type Advice struct {
	Want    string
	Take    string // the strategy's name; "" when none fits or too little was measured
	Because []string
	Not     []string // strategies that one would have thought of, and what was measured against them
}

// Advise draws the decision table from what was measured on one database.
func Advise(d result.Database) []Advice { return nil }
