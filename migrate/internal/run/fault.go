package run

import "github.com/snowkey-go/snowkey/internal/dialect"

// isLocked tells whether an error says that another transaction was in the way.
func isLocked(d dialect.Dialect, err error) bool { return d.Class(err) == dialect.Conflict }

// codeOf returns the code of a database's error, of SQLite its primary one; empty when there is none.
func codeOf(d dialect.Dialect, err error) string { return d.Code(err) }
