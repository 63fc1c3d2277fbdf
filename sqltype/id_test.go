package sqltype_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/sqltype"
)

// big is above 2^53, where JavaScript and float64 lose digits.
const big = sqltype.ID(1541815603606036481)

func TestScan(t *testing.T) {
	for name, tt := range map[string]struct {
		src  any
		want sqltype.ID
		err  error
	}{
		"int64":             {int64(big), big, nil},
		"int64 least":       {int64(math.MinInt64), math.MinInt64, nil},
		"uint64":            {uint64(big), big, nil},
		"uint64 too great":  {uint64(math.MaxInt64) + 1, 7, sqltype.ErrRange},
		"string":            {big.String(), big, nil},
		"bytes":             {[]byte(big.String()), big, nil},
		"string too great":  {"9223372036854775808", 7, sqltype.ErrRange},
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
	} {
		t.Run(name, func(t *testing.T) {
			id := sqltype.ID(7)
			if err := id.Scan(tt.src); !errors.Is(err, tt.err) || id != tt.want {
				t.Errorf("got %d, %v, want %d, %v", id, err, tt.want, tt.err)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	type model struct {
		ID    sqltype.ID            `json:"id"`
		ByID  map[sqltype.ID]string `json:"byID,omitempty"`
		Other *sqltype.ID           `json:"other"`
	}
	out, err := json.Marshal(model{ID: big, ByID: map[sqltype.ID]string{big: "a"}})
	if want := `{"id":"1541815603606036481","byID":{"1541815603606036481":"a"},"other":null}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	for in, want := range map[string]sqltype.ID{
		`"1541815603606036481"`: big, `1541815603606036481`: big, `-1`: -1, `0`: 0, `null`: 7,
	} {
		id := sqltype.ID(7)
		if err := json.Unmarshal([]byte(in), &id); err != nil || id != want {
			t.Errorf("%s: got %d, %v, want %d", in, id, err, want)
		}
	}
	for _, in := range []string{`1.0`, `1e3`, `""`, `"null"`, `true`, `{}`, `"\u0031"`, `9223372036854775808`, `"1 "`} {
		id := sqltype.ID(7)
		if err := json.Unmarshal([]byte(in), &id); err == nil || id != 7 {
			t.Errorf("%s: got %d, %v, want an error and nothing changed", in, id, err)
		}
	}
	var back model
	if err := json.Unmarshal(out, &back); err != nil || back.ByID[big] != "a" {
		t.Errorf("got %+v, %v back", back, err)
	}
}

func TestText(t *testing.T) {
	var id sqltype.ID
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Var(&id, "id", "")
	if err := set.Parse([]string{"-id", big.String()}); err != nil || id != big {
		t.Errorf("flag: got %d, %v", id, err)
	}
	if err := set.Parse([]string{"-id", "x"}); err == nil {
		t.Error("flag: got no error for x")
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "id", big)
	if want := `"id":"1541815603606036481"`; !strings.Contains(log.String(), want) {
		t.Errorf("slog: got %s, want %s in it", log.String(), want)
	}
}

// Every database gives back the ID it was given, as an argument and as a literal, and NULL only to sql.Null.
func TestDatabases(t *testing.T) {
	for name, database := range map[string]func(testing.TB) dbtest.Database{
		"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres,
	} {
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
			for _, id := range []sqltype.ID{math.MinInt64, -1, big, math.MaxInt64} {
				exec("DELETE FROM t")
				exec("INSERT INTO t VALUES ("+place+")", id, sql.Null[sqltype.ID]{V: id, Valid: id > 0})
				var got sqltype.ID
				var ref sql.Null[sqltype.ID]
				if err := db.QueryRowContext(t.Context(), "SELECT id, ref FROM t").Scan(&got, &ref); err != nil {
					t.Fatal(err)
				}
				if got != id || ref.Valid != (id > 0) || ref.Valid && ref.V != id {
					t.Errorf("got %d, %+v, want %d", got, ref, id)
				}
			}
			var plain sqltype.ID
			if err := db.QueryRowContext(t.Context(), "SELECT NULL").Scan(&plain); !errors.Is(err, sqltype.ErrNull) {
				t.Errorf("NULL: got %v, want ErrNull", err)
			}
			if err := db.QueryRowContext(t.Context(), "SELECT '12'").Scan(&plain); err != nil || plain != 12 {
				t.Errorf("text: got %d, %v", plain, err)
			}
		})
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"0", "-1", "9223372036854775807", "9223372036854775808", "+1", "007", "x", "", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := sqltype.ParseID(s)
		if err != nil {
			if !errors.Is(err, sqltype.ErrSyntax) && !errors.Is(err, sqltype.ErrRange) {
				t.Fatalf("%q: %v is neither ErrSyntax nor ErrRange", s, err)
			}
			return
		}
		if again, err := sqltype.ParseID(id.String()); err != nil || again != id {
			t.Fatalf("%q: %d, printed and parsed: %d, %v", s, id, again, err)
		}
	})
}
