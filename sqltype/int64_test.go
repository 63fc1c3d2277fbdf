package sqltype_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// big is above 2^53, where JavaScript and float64 lose digits.
const big = 1541815603606036481

type user struct{ ID sqltype.Key[user] }

type key interface {
	~int64
	driver.Valuer
	encoding.TextAppender
	encoding.TextMarshaler
	fmt.Stringer
	Int64() int64
	GormDataType() string
}

type pointer[K any] interface {
	*K
	sql.Scanner
	encoding.TextUnmarshaler
	flag.Value
	json.Unmarshaler
}

func TestID(t *testing.T)     { testType(t, sqltype.ParseID) }
func TestKey(t *testing.T)    { testType(t, sqltype.ParseKey[user]) }
func TestNumber(t *testing.T) { testType(t, sqltype.ParseNumber) }

// testType is what all types of keys have to pass.
func testType[K key, P pointer[K]](t *testing.T, parse func(string) (K, error)) {
	t.Run("Scan", testScan[K, P])
	t.Run("Text", func(t *testing.T) { testText[K, P](t, parse) })
	t.Run("One text", func(t *testing.T) { testOneText[K, P](t, parse) })
	t.Run("Gob", testGob[K])
	t.Run("JSON in", testJSONIn[K, P])
	t.Run("JSON map keys", testJSONMapKeys[K])
	t.Run("Databases", testDatabases[K, P])
	t.Run("GORM", testGORM[K])
	t.Run("Convert", func(t *testing.T) {
		if id := sqltype.ID(K(big)); id != big || K(id) != big || K(sqltype.Key[user](id)) != K(sqltype.Number(id)) {
			t.Errorf("got %d, want the same number in each type", id)
		}
	})
}

func testScan[K key, P pointer[K]](t *testing.T) {
	for name, tt := range map[string]struct {
		src  any
		want K
		err  error
	}{
		"int64":             {int64(big), big, nil},
		"int64 least":       {int64(math.MinInt64), math.MinInt64, nil},
		"uint64":            {uint64(big), big, nil},
		"uint64 too great":  {uint64(math.MaxInt64) + 1, 7, sqltype.ErrRange},
		"string":            {"1541815603606036481", big, nil},
		"bytes":             {[]byte("1541815603606036481"), big, nil},
		"string too great":  {"9223372036854775808", 7, sqltype.ErrRange},
		"string too small":  {"-9223372036854775809", 7, sqltype.ErrRange},
		"string with rest":  {"12x", 7, sqltype.ErrSyntax},
		"empty string":      {"", 7, sqltype.ErrSyntax},
		"empty bytes":       {[]byte{}, 7, sqltype.ErrSyntax},
		"spaces":            {" 12", 7, sqltype.ErrSyntax},
		"underscores":       {"1_2", 7, sqltype.ErrSyntax},
		"hex":               {"0x12", 7, sqltype.ErrSyntax},
		"float64":           {float64(12), 7, sqltype.ErrSyntax},
		"bool":              {true, 7, sqltype.ErrSyntax},
		"NULL":              {nil, 7, sqltype.ErrNull},
		"NULL as []byte":    {[]byte(nil), 7, sqltype.ErrNull},
		"string of a float": {"1.5", 7, sqltype.ErrSyntax},
		"ZEROFILL":          {"00000000000000000012", 12, nil},
		"plus sign":         {[]byte("+12"), 12, nil},
	} {
		t.Run(name, func(t *testing.T) {
			k := K(7)
			if err := P(&k).Scan(tt.src); !errors.Is(err, tt.err) || k != tt.want {
				t.Errorf("got %d, %v, want %d, %v", k, err, tt.want, tt.err)
			}
		})
	}
}

func testText[K key, P pointer[K]](t *testing.T, parse func(string) (K, error)) {
	const text = "-1541815603606036481"
	k, err := parse(text)
	if err != nil || k != -big {
		t.Errorf("parsed: got %d, %v, want %s", k, err, text)
	}
	if k, err := parse("9223372036854775808"); !errors.Is(err, sqltype.ErrRange) || k != 0 {
		t.Errorf("parsed: got %d, %v, want ErrRange", k, err)
	}
	marshaled, _ := k.MarshalText()
	appended, _ := k.AppendText([]byte("id="))
	if got := fmt.Sprintf("%s %d %s %s", k, k.Int64(), marshaled, appended); got != strings.Repeat(text+" ", 3)+"id="+text {
		t.Errorf("got %s", got)
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = P(&k).UnmarshalText(marshaled) }); allocs != 0 {
		t.Errorf("UnmarshalText allocates %v times, want 0", allocs)
	}

	k = 0
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Var(P(&k), "id", "")
	if err := set.Parse([]string{"-id", text}); err != nil || k != -big {
		t.Errorf("flag: got %d, %v", k, err)
	}
	if err := set.Parse([]string{"-id", "x"}); err == nil {
		t.Error("flag: got no error for x")
	}

	var log strings.Builder
	for want, handler := range map[string]slog.Handler{`"id":"` + text + `"`: slog.NewJSONHandler(&log, nil), ` id=` + text: slog.NewTextHandler(&log, nil)} {
		for _, value := range []any{k, &k} {
			log.Reset()
			if slog.New(handler).Info("made", "id", value); !strings.Contains(log.String(), want) {
				t.Errorf("slog of a %T: got %s, want %s in it", value, log.String(), want)
			}
		}
	}
	if got := k.GormDataType(); got != "bigint" {
		t.Errorf("GormDataType: got %s; GORM makes int and uint auto-increment", got)
	}
}

// Caches, signatures and routes know a number by one text.
func testOneText[K key, P pointer[K]](t *testing.T, parse func(string) (K, error)) {
	for _, text := range []string{"+1", "007", "-0", "00", "-01", " 1", "1 ", "1\n", "", "-", "+"} {
		k := K(7)
		_, err := parse(text)
		errs := []error{err, P(&k).Set(text), P(&k).UnmarshalText([]byte(text)), json.Unmarshal(fmt.Appendf(nil, "%q", text), &k)}
		for i, err := range errs {
			if !errors.Is(err, sqltype.ErrSyntax) || k != 7 {
				t.Errorf("%q, way %d: got %d, %v, want ErrSyntax and nothing changed", text, i, k, err)
			}
		}
	}
	if k, err := parse("0"); k != 0 || err != nil {
		t.Errorf("0: got %d, %v", k, err)
	}
}

// encoding/gob goes by the kind.
func testGob[K key](t *testing.T) {
	type row struct {
		ID   K
		None K
		Ref  *K
		All  []K
	}
	id := K(big)
	sent := row{ID: id, Ref: &id, All: []K{math.MinInt64, 0, math.MaxInt64}}
	var stream bytes.Buffer
	var got row
	if err := errors.Join(gob.NewEncoder(&stream).Encode(sent), gob.NewDecoder(&stream).Decode(&got)); err != nil {
		t.Fatal(err)
	}
	if got.ID != id || got.None != 0 || got.Ref == nil || *got.Ref != id || !slices.Equal(got.All, sent.All) {
		t.Errorf("got %+v, want %+v", got, sent)
	}
}

func testJSONIn[K key, P pointer[K]](t *testing.T) {
	for in, want := range map[string]K{
		`"1541815603606036481"`: big, `9007199254740991`: 1<<53 - 1, `-9007199254740991`: -(1<<53 - 1), `"-9223372036854775808"`: math.MinInt64,
		`-1`: -1, `0`: 0, ` 12 `: 12, `null`: 7,
		`"\u0031\u0032"`: 12, `"1\u0032"`: 12, `"\u002D\u0031"`: -1,
	} {
		k := K(7)
		if err := json.Unmarshal([]byte(in), &k); err != nil || k != want {
			t.Errorf("%s: got %d, %v, want %d", in, k, err, want)
		}
	}
	for _, in := range []string{`1.0`, `1e3`, `""`, `"null"`, `true`, `{}`, `[1]`, `"\u0020"`, `"1\n"`, `"\"1\""`, `"\ud800"`, `"\u00"`, `"\x31"`, `"1\"`, `9223372036854775808`, `"1 "`, `"`} {
		k := K(7)
		if err := json.Unmarshal([]byte(in), &k); err == nil || k != 7 {
			t.Errorf("%s: got %d, %v, want an error and nothing changed", in, k, err)
		}
	}
	for _, in := range []string{``, `"`, `"\"`, `"\u00"`, `"\ud800"`, `"1"2"`} { // what json.Unmarshal would not pass on
		if err := P(new(K)).UnmarshalJSON([]byte(in)); !errors.Is(err, sqltype.ErrSyntax) {
			t.Errorf("%s: got %v, want ErrSyntax", in, err)
		}
	}
	k, in := K(0), []byte(`"1541815603606036481"`)
	if allocs := testing.AllocsPerRun(100, func() { _ = P(&k).UnmarshalJSON(in) }); allocs != 0 || k != big {
		t.Errorf("UnmarshalJSON gives %d and allocates %v times, want 0", k, allocs)
	}
}

func testJSONMapKeys[K key](t *testing.T) {
	out, err := json.Marshal(map[K]bool{big: true, -1: false})
	if want := `{"-1":false,"1541815603606036481":true}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	var back map[K]bool
	if err := json.Unmarshal(out, &back); err != nil || len(back) != 2 || !back[big] {
		t.Errorf("got %v, %v back", back, err)
	}
}

// Strings in JSON, and what Go makes of a pointer and of a sql.Null.
func TestJSONOut(t *testing.T) {
	type model struct {
		ID      sqltype.ID                 `json:"id"`
		Key     sqltype.Key[user]          `json:"key"`
		Number  sqltype.Number             `json:"number"`
		Pointer *sqltype.ID                `json:"pointer"`
		Null    sql.Null[sqltype.ID]       `json:"null"`
		Nulls   []sql.Null[sqltype.Number] `json:"nulls"`
		Omitted sqltype.ID                 `json:"omitted,omitempty"`
	}
	id := sqltype.ID(big)
	for want, in := range map[string]model{
		`{"id":"1541815603606036481","key":"-1","number":12,"pointer":"1541815603606036481","null":{"V":"1541815603606036481","Valid":true},"nulls":[{"V":3,"Valid":true}]}`: {
			ID: id, Key: -1, Number: 12, Pointer: &id, Null: sql.Null[sqltype.ID]{V: id, Valid: true}, Nulls: []sql.Null[sqltype.Number]{{V: 3, Valid: true}},
		},
		`{"id":"0","key":"0","number":0,"pointer":null,"null":{"V":"0","Valid":false},"nulls":null}`: {},
	} {
		out, err := json.Marshal(in)
		if err != nil || string(out) != want {
			t.Errorf("got %s, %v, want %s", out, err, want)
		}
		var back model
		if err := json.Unmarshal(out, &back); err != nil || back.ID != in.ID || back.Key != in.Key || back.Number != in.Number || back.Null != in.Null ||
			(back.Pointer == nil) != (in.Pointer == nil) || in.Pointer != nil && *back.Pointer != *in.Pointer {
			t.Errorf("got %+v, %v back, want %+v", back, err, in)
		}
	}
}

// A pointer without a key is not one that panics in a log.
func TestNilInLogs(t *testing.T) {
	for _, value := range []any{(*sqltype.ID)(nil), (*sqltype.Key[user])(nil)} {
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "id", value)
		slog.New(slog.NewTextHandler(&log, nil)).Info("made", "id", value)
		if got := log.String(); !strings.Contains(got, `"id":null`) || !strings.Contains(got, "id=<nil>") || strings.Contains(got, "panic") {
			t.Errorf("%T: got %s", value, got)
		}
	}
}

// Every database gives back the key it was given, as an argument and as a literal, and NULL only to sql.Null.
func testDatabases[K key, P pointer[K]](t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			db := database(t).Open(t)
			db.SetMaxOpenConns(1)
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			exec("CREATE TABLE t (id BIGINT PRIMARY KEY, ref BIGINT)")
			place := map[string]string{"postgres": "$1, $2"}[name]
			if place == "" {
				place = "?, ?"
			}
			for _, k := range []K{math.MinInt64, -1, big, math.MaxInt64} {
				exec("DELETE FROM t")
				exec("INSERT INTO t VALUES ("+place+")", k, sql.Null[K]{V: k, Valid: k > 0})
				var got K
				var ref sql.Null[K]
				if err := db.QueryRowContext(t.Context(), "SELECT id, ref FROM t").Scan(P(&got), &ref); err != nil {
					t.Fatal(err)
				}
				if got != k || ref.Valid != (k > 0) || ref.Valid && ref.V != k {
					t.Errorf("got %d, %+v, want %d", got, ref, k)
				}
			}
			var plain K
			if err := db.QueryRowContext(t.Context(), "SELECT NULL").Scan(P(&plain)); !errors.Is(err, sqltype.ErrNull) {
				t.Errorf("NULL: got %v, want ErrNull", err)
			}
			if err := db.QueryRowContext(t.Context(), "SELECT '12'").Scan(P(&plain)); err != nil || plain != 12 {
				t.Errorf("text: got %d, %v", plain, err)
			}
		})
	}
}

var databases = map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres}
