package dialect

import (
	"reflect"
	"strconv"
)

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
	for _, cause := range causes {
		code := ""
		switch d {
		case MySQL:
			code = mysqlCode(cause)
		case Postgres:
			if e, ok := cause.(interface{ SQLState() string }); ok { // pgx's and lib/pq's
				code = e.SQLState()
			}
		case SQLite:
			code = sqliteCode(cause)
		}
		if code != "" {
			return code, cause
		}
	}
	return "", nil
}

// mysqlCode reads the field of go-sql-driver's *MySQLError, which has no method for it.
func mysqlCode(err error) string {
	number := field(err, "Number")
	if number.Kind() != reflect.Uint16 || number.IsZero() {
		return ""
	}
	return strconv.FormatUint(number.Uint(), 10)
}

// sqliteCode reads the result code.
func sqliteCode(err error) string {
	if e, ok := err.(interface{ Code() int }); ok { // modernc's
		return primary(int64(e.Code()))
	}
	if code := field(err, "Code"); code.CanInt() && field(err, "ExtendedCode").CanInt() { // mattn's
		return primary(code.Int())
	}
	return ""
}

// primary returns the result code that an extended one has in its lowest byte. It is empty for 0, which is no error.
func primary(code int64) string {
	if code &= 0xff; code != 0 {
		return strconv.FormatInt(code, 10)
	}
	return ""
}

// field returns the field of a struct, or of one that a pointer is to. It is the zero Value where there is none.
func field(err error, name string) reflect.Value {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
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
