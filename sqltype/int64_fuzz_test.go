package sqltype_test

import (
	"encoding/json"
	"errors"
	bigint "math/big"
	"regexp"
	"testing"

	"github.com/snowkey-go/snowkey/sqltype"
)

var (
	decimal = regexp.MustCompile(`^[+-]?[0-9]+$`)
	oneText = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`) // of a number
)

// FuzzParse holds the parsers of all types, and what scans text, to what arithmetic without bounds makes of it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "+1", "007", "x", "", "1e3", "-0", "１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		exact, ok := new(bigint.Int).SetString(s, 10)
		wanted := func(syntax *regexp.Regexp) error {
			switch {
			case !ok || !syntax.MatchString(s):
				return sqltype.ErrSyntax
			case !exact.IsInt64():
				return sqltype.ErrRange
			}
			return nil
		}
		id, err := sqltype.ParseID(s)
		key, keyErr := sqltype.ParseKey[user](s)
		number, numberErr := sqltype.ParseNumber(s)
		var unmarshaled, text, bytes sqltype.ID
		unmarshalErr, textErr, bytesErr := unmarshaled.UnmarshalText([]byte(s)), text.Scan(s), bytes.Scan([]byte(s))
		for i, read := range []struct {
			got  int64
			err  error
			want error
		}{
			{id.Int64(), err, wanted(oneText)}, {key.Int64(), keyErr, wanted(oneText)}, {number.Int64(), numberErr, wanted(oneText)},
			{unmarshaled.Int64(), unmarshalErr, wanted(oneText)}, {text.Int64(), textErr, wanted(decimal)}, {bytes.Int64(), bytesErr, wanted(decimal)},
		} {
			switch {
			case !errors.Is(read.err, read.want):
				t.Fatalf("%q, parser %d: got error %v, want %v", s, i, read.err, read.want)
			case read.want == nil && read.got != exact.Int64(), read.want != nil && read.got != 0:
				t.Fatalf("%q, parser %d: got %d beside %v", s, i, read.got, read.err)
			}
		}
		if err == nil && id.String() != s {
			t.Fatalf("%q: written as %s, want one text of a number", s, id)
		}
	})
}

// FuzzParseShort: what is read is written as a text that is read again.
func FuzzParseShort(f *testing.F) {
	for _, s := range []string{"0", "4GGAWZVB00001", "4ggawzvboooil", "-5", "+5", "-0", "7ZZZZZZZZZZZZ", "8000000000000", "U", "", " 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := sqltype.ParseShortID(s)
		if err != nil {
			if id != 0 || !errors.Is(err, sqltype.ErrSyntax) && !errors.Is(err, sqltype.ErrRange) {
				t.Fatalf("%q: got %d, %v", s, id, err)
			}
			return
		}
		if again, err := sqltype.ParseShortID(id.Short()); err != nil || again != id {
			t.Fatalf("%q is %d, which is written as %s and read as %d, %v", s, id, id.Short(), again, err)
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
