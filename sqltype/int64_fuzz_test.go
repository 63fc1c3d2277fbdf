package sqltype_test

import (
	"encoding/json"
	"errors"
	bigint "math/big"
	"regexp"
	"testing"

	"github.com/snowkey-go/snowkey/sqltype"
)

var decimal = regexp.MustCompile(`^[+-]?[0-9]+$`)

// FuzzParse holds the parsers of all types, and what scans text, to what arithmetic without bounds makes of it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "+1", "007", "x", "", "1e3", "-0", "１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want error
		exact, ok := new(bigint.Int).SetString(s, 10)
		switch {
		case !ok || !decimal.MatchString(s):
			want = sqltype.ErrSyntax
		case !exact.IsInt64():
			want = sqltype.ErrRange
		}
		id, err := sqltype.ParseID(s)
		key, keyErr := sqltype.ParseKey[user](s)
		number, numberErr := sqltype.ParseNumber(s)
		var text, bytes sqltype.ID
		textErr, bytesErr := text.Scan(s), bytes.Scan([]byte(s))
		for _, err := range []error{err, keyErr, numberErr, textErr, bytesErr} {
			if !errors.Is(err, want) {
				t.Fatalf("%q: got error %v, want %v", s, err, want)
			}
		}
		if want == nil && (id.Int64() != exact.Int64() || sqltype.ID(key) != id || sqltype.ID(number) != id || text != id || bytes != id) {
			t.Fatalf("%q: got %d, %d, %d, %d, %d", s, id, key, number, text, bytes)
		}
		if want != nil && (id != 0 || key != 0 || number != 0 || text != 0 || bytes != 0) {
			t.Fatalf("%q: got %d, %d, %d, %d, %d beside %v", s, id, key, number, text, bytes, want)
		}
	})
}

// FuzzUnmarshalJSON: what is read is what was written, digit for digit, and is written again as it was or not at all.
func FuzzUnmarshalJSON(f *testing.F) {
	for _, s := range []string{"0", `"1"`, "null", `"null"`, "9007199254740991", "9007199254740992", `"9007199254740993"`, "-9007199254740992", "1.0", "1e3", `"`, "{}", " 1 "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const before = 7
		id, key, number := sqltype.ID(before), sqltype.Key[user](before), sqltype.Number(before)
		idErr, keyErr, numberErr := json.Unmarshal(data, &id), json.Unmarshal(data, &key), json.Unmarshal(data, &number)
		if (idErr == nil) != (keyErr == nil) || int64(id) != int64(key) {
			t.Fatalf("%q: ID is %d, %v, Key %d, %v", data, id, idErr, key, keyErr)
		}
		if idErr != nil && id != before || numberErr != nil && number != before {
			t.Fatalf("%q: changed to %d, %d by an error: %v, %v", data, id, number, idErr, numberErr)
		}
		var exact json.Number // of strings too
		if idErr == nil && json.Unmarshal(data, &exact) == nil && exact != "" {
			if want, ok := new(bigint.Int).SetString(exact.String(), 10); !ok || !want.IsInt64() || want.Int64() != id.Int64() {
				t.Fatalf("%q: got %d, want %s", data, id, exact)
			}
		}
		switch {
		case numberErr == nil && number != sqltype.Number(id):
			t.Fatalf("%q: Number is %d, ID %d", data, number, id)
		case numberErr != nil && idErr == nil && !errors.Is(numberErr, sqltype.ErrPrecision):
			t.Fatalf("%q: got %v, want ErrPrecision", data, numberErr)
		}
		for _, v := range []any{id, key, number} {
			out, err := json.Marshal(v)
			if err != nil {
				if _, ok := v.(sqltype.Number); !ok || !errors.Is(err, sqltype.ErrPrecision) {
					t.Fatalf("%T %d: %v", v, v, err)
				}
				continue
			}
			var back sqltype.ID
			if err := json.Unmarshal(out, &back); err != nil || back != id && back != sqltype.ID(number) {
				t.Fatalf("%T %d: written as %s, read as %d, %v", v, v, out, back, err)
			}
		}
	})
}
