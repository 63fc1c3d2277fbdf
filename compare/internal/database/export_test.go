package database

import "github.com/snowkey-go/snowkey/compare/result"

// CountPages counts the pages of a b-tree of an SQLite file, and the bytes that its leaf pages have room for and use, and tells the size of its pages.
func CountPages(path string, root uint32) (pages, room, used, pageSize int64, err error) {
	p, err := openPages(path)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	c, err := p.count(root)
	return c.pages, c.room, c.used, p.pageSize, err
}

// MySQLPages is the figure of the pages that were written between two readings of the server's counters.
func MySQLPages(before, after map[string]int64, rows int) result.Figure {
	return (&mysqlMeter{status: before}).pages(after, rows)
}
