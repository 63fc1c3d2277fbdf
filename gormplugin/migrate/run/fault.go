package run

import (
	"errors"
	"reflect"
	"slices"
	"strconv"

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

// codeOf returns the code of a database's error, of SQLite its primary one; empty when there is none. The drivers are known by the shape of
// their errors, so that this package imports none.
func codeOf(d dialect.Dialect, err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch d {
		case dialect.Postgres:
			if e, ok := err.(interface{ SQLState() string }); ok { // pgx's and lib/pq's
				return e.SQLState()
			}
		case dialect.MySQL:
			if n := field(err, "Number"); n.Kind() == reflect.Uint16 { // go-sql-driver's
				return strconv.FormatUint(n.Uint(), 10)
			}
		case dialect.SQLite:
			if e, ok := err.(interface{ Code() int }); ok { // modernc's
				return strconv.Itoa(e.Code() & 0xff)
			}
			if code := field(err, "Code"); code.CanInt() && field(err, "ExtendedCode").CanInt() { // mattn's
				return strconv.FormatInt(code.Int()&0xff, 10)
			}
		}
	}
	return ""
}

// field returns the field of a struct, or of one that a pointer is to; the zero Value where there is none.
func field(err error, name string) reflect.Value {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}
