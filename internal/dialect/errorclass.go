package dialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"net"
	"reflect"
	"strconv"
	"strings"
)

// Class is what an error that database/sql returned means for the caller.
type Class int

// The classes.
const (
	// Conflict is another transaction in the way: a deadlock, a serialization failure, a lock that was waited for. The server has rolled back, and the next attempt
	// may succeed.
	Conflict Class = iota + 1
	// Again is a connection that the server had closed before it was used, or that has outdated prepared statements. The next attempt, on another connection,
	// succeeds.
	Again
	// Unavailable is a server that is down, hangs, is full, starts, or whose connection broke; or a context that ended.
	Unavailable
	// ReadOnly is a server or a session that takes no writes.
	ReadOnly
	// Missing is a database, schema, table, column or sequence that does not exist, or is something else.
	Missing
	// Denied is a user who may not log in, or not do what was asked.
	Denied
	// Exhausted is a number that is beyond its column, type or sequence.
	Exhausted
	// Other is anything else. The same statement fails again.
	Other
)

var classNames = map[Class]string{
	Conflict: "conflict", Again: "again", Unavailable: "unavailable", ReadOnly: "read-only", Missing: "missing", Denied: "denied", Exhausted: "exhausted", Other: "other",
}

// String returns the class's name in lower case, such as "again" or "read-only".
func (c Class) String() string {
	if name, ok := classNames[c]; ok {
		return name
	}
	return "Class(" + strconv.Itoa(int(c)) + ")"
}

// Retry reports whether the next attempt on the same server may succeed.
func (c Class) Retry() bool { return c == Conflict || c == Again }

// Class returns the class of an error that database/sql returned, 0 for nil. It goes by the code that the server gave, and by the types of database/sql,
// contexts and the network. It knows the drivers by the shape of their errors, so that this package imports none. What a server says comes before how the
// call ended, since it is more exact.
func (d Dialect) Class(err error) Class {
	class, _ := d.classify(err)
	return class
}

// Code returns the code that the server gave an error, such as "1213", "40P01" or "5", on SQLite the primary one. It is empty when the server gave none: the
// driver, the network or a context ended the call, and the server may have done what it was asked.
func (d Dialect) Code(err error) string {
	_, code := d.classify(err)
	return code
}

func (d Dialect) classify(err error) (class Class, code string) {
	if err == nil {
		return 0, ""
	}
	defer func() {
		if recover() != nil { // a method of somebody's error, on a nil pointer for one
			class, code = d.unknown(), ""
		}
	}()
	causes := causesOf(err)
	code, said := d.codeOf(causes)
	if code != "" {
		class = d.engine().class(code, said)
	}
	if class == 0 {
		class = callClass(causes)
	}
	switch {
	case class != 0:
		return class, code
	case code == "":
		return d.unknown(), ""
	}
	return Other, code
}

// Unanswered reports whether the network, the driver or a context has ended a call without a word from the server, so that nobody knows what the server
// has done. It is false for an error that is not of such a call.
func (d Dialect) Unanswered(err error) (unanswered bool) {
	defer func() { _ = recover() }() // as in classify
	causes := causesOf(err)
	code, _ := d.codeOf(causes)
	return code == "" && callClass(causes) == Unavailable
}

// unknown is the class of an error without a code. A server's errors have one, so on a database with servers it is the driver's: of
// dialing, of logging in, of the protocol.
func (d Dialect) unknown() Class {
	if d == MySQL || d == Postgres {
		return Unavailable
	}
	return Other
}

// callClass recognizes the errors of database/sql, of contexts, and of the network. It is 0 for others.
func callClass(causes []error) Class {
	switch {
	case isAny(causes, driver.ErrBadConn):
		return Again
	// A context that ended closes the transaction, which is then done.
	case isAny(causes, context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF, sql.ErrConnDone, sql.ErrTxDone):
		return Unavailable
	}
	for _, cause := range causes {
		if _, ok := cause.(net.Error); ok { // *net.OpError and syscall.Errno as well
			return Unavailable
		}
		text := cause.Error()
		if strings.Contains(text, "invalid connection") || strings.Contains(text, "bad connection") { // go-sql-driver's value, of a connection that broke
			return Unavailable
		}
		if strings.HasPrefix(text, "sql: ") { // database/sql itself: no rows, a column that is no number, a pool that is closed
			return Other
		}
	}
	return 0
}

// maxCauses bounds how many errors are looked at, should one wrap itself.
const maxCauses = 100

// causesOf returns the error and all that it wraps, the outermost first, without the nil pointers: no method of theirs may be called.
func causesOf(err error) []error {
	var causes []error
	var walk func(error)
	walk = func(err error) {
		if err == nil || len(causes) == maxCauses {
			return
		}
		if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
			return
		}
		causes = append(causes, err)
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, e := range e.Unwrap() {
				walk(e)
			}
		}
	}
	walk(err)
	return causes
}

// isAny is errors.Is for several targets, and for what causesOf returns.
func isAny(causes []error, targets ...error) bool {
	for _, cause := range causes {
		is, custom := cause.(interface{ Is(error) bool })
		for _, target := range targets {
			if cause == target || custom && is.Is(target) {
				return true
			}
		}
	}
	return false
}

// codeOf returns the first code of the server's, and the error that has it.
func (d Dialect) codeOf(causes []error) (string, error) {
	e := d.engine()
	for _, cause := range causes {
		if e == nil {
			break
		}
		if code := e.code(cause); code != "" {
			return code, cause
		}
	}
	return "", nil
}

// field returns the field of a struct, or of one that a pointer is to. It is the zero Value where there is none.
func field(err error, name string) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	f, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	v, _ = v.FieldByIndexErr(f.Index) // it may be a field of an embedded nil pointer
	return v
}
