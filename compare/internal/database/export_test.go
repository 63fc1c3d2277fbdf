package database

import "github.com/snowkey-go/snowkey/compare/result"

// MySQLPages is the figure of the pages that were written between two readings of the server's counters.
func MySQLPages(before, after map[string]int64, rows int) result.Figure {
	return (&mysqlMeter{status: before}).pages(after, rows)
}
