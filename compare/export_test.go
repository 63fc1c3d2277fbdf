package compare

import "context"

// CountPages counts the pages of a b-tree of an SQLite file, and tells the size of its pages.
func CountPages(path string, root uint32) (n, pageSize int64, err error) {
	p, err := openPages(path)
	if err != nil {
		return 0, 0, err
	}
	n, err = p.count(root)
	return n, p.pageSize, err
}

// Weigh takes the size of a table.
func Weigh(ctx context.Context, d *Database, table string) error {
	_, err := d.size(ctx, table)
	return err
}
