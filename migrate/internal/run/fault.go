package run

import (
	"slices"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// waits are the codes of errors that say that another transaction was in the way: what was done is rolled back, and can be tried again.
var waits = map[dialect.Dialect][]string{
	dialect.MySQL:    {"1205", "1213", "1020", "1412", "1614", "1689", "3572"}, // lock wait timeout, deadlock, changed since read, redefined, deadlock of XA, ended, NOWAIT
	dialect.Postgres: {"40P01", "40001", "55P03"},                              // deadlock, serialization, lock timeout
	dialect.SQLite:   {"5", "6"},                                               // BUSY, LOCKED
}

// isLocked tells whether an error says that another transaction was in the way.
func isLocked(d dialect.Dialect, err error) bool { return slices.Contains(waits[d], codeOf(d, err)) }

// codeOf returns the code of a database's error, of SQLite its primary one; empty when there is none.
func codeOf(d dialect.Dialect, err error) string { return d.Diagnose(err).Code }
