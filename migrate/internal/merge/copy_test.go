package merge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/snowkey-go/snowkey/migrate/internal/merge"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// values are a table of hostile names with the values that are easily lost on the way, and a query for all of them exactly.
var values = map[string][]string{
	"mysql": {
		"CREATE TABLE `se\"le``ct ?` (`a b?` BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(30,10), t TIMESTAMP(6) NULL, dt DATETIME(3), dd DATE, tt TIME(2), y YEAR, " +
			"x BLOB, l VARCHAR(20) CHARACTER SET latin1, e ENUM('a','b'), s SET('p','q'), b BIT(12), j JSON, c BIGINT GENERATED ALWAYS AS (y + 2) STORED, vb VARBINARY(20), bo BOOLEAN, ch CHAR(5), u BIGINT UNSIGNED)",
		"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
		"INSERT INTO `se\"le``ct ?` (`a b?`, f, d, n, t, dt, dd, tt, y, x, l, e, s, b, j, vb, bo, ch, u) VALUES " +
			"(0, 16777217, 0.1, 12345678901234567890.0123456789, '2024-05-05 05:05:05.123456', '0000-00-00', '2024-02-31', '-838:59:59', 2024, x'00ff27', 'äö', 'b', 'p,q', b'101010101010', '{\"n\": 9007199254740993}', x'8000', 1, 'a', 18446744073709551615), " +
			"(5, 1e-30, 1.7976931348623157e308, NULL, NULL, '2024-05-05 05:05:05.5', '0000-00-00', NULL, NULL, '', '', 'a', '', b'0', NULL, NULL, NULL, '', NULL)",
		"SELECT CONCAT_WS('|', `a b?`, HEX(f + 0e0), f + 0e0, d, n, UNIX_TIMESTAMP(t), dt, dd, tt, y, HEX(x), HEX(l), e, s, HEX(b), j, c, HEX(vb), bo, ch, u) FROM `se\"le``ct ?` ORDER BY `a b?`",
	},
	"postgres": {
		`CREATE TYPE mood AS ENUM ('ok', 'so so')`,
		`CREATE TABLE "se""le'ct ?" ("A b?" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, r real, d double precision, n numeric, t timestamptz, ts timestamp, dd date, i interval, x bytea, j jsonb, js json, ` +
			`a text[], m mood, u uuid, ip inet, b bit(5), c bigint GENERATED ALWAYS AS ("A b?" * 2) STORED, ch char(5), bo boolean, rg int4range)`,
		`INSERT INTO "se""le'ct ?" ("A b?", r, d, n, t, ts, dd, i, x, j, js, a, m, u, ip, b, ch, bo, rg) OVERRIDING SYSTEM VALUE VALUES
			(0, 16777217, 0.1, 12345678901234567890.01234567890123456789, '2024-05-05 05:05:05.123456+09', 'infinity', '0044-03-15 BC', '1 mon -3 days 04:05:06.789', '\x00ff27', '{"n": 9007199254740993}', '{"b":1, "a" :2}',
			'{"a,b",NULL,"c\"d"}', 'so so', '00000000-0000-0000-0000-00000000000a', '10.0.0.1/8', '10101', 'a', true, '[1,5)'),
			(5, 'NaN', '-Infinity', 'NaN', NULL, NULL, '2024-05-05', NULL, '', NULL, NULL, '{}', NULL, NULL, NULL, NULL, '', false, 'empty')`,
		`SELECT z::text FROM "se""le'ct ?" AS z ORDER BY "A b?"`,
	},
	"sqlite": {
		`CREATE TABLE "se""le'ct ?" ("a b?" integer PRIMARY KEY, v, t datetime, b boolean, x blob, d date, r real, c integer GENERATED ALWAYS AS ("a b?" * 2) STORED, i integer, ts timestamp)`,
		`INSERT INTO "se""le'ct ?" ("a b?", v, t, b, x, d, r, i, ts) VALUES (0, '5', '2024-05-05 05:05:05.123456789', 7, x'00ff27', '2024-02-31', 0.1, 9223372036854775807, 1714885505),
			(5, 5, 1714885505, 'yes', 'a text', NULL, 1e308, 'a word', 5.5), (6, x'35', 'never', NULL, x'', '', 5, '', x'00')`,
		`SELECT "a b?" || '|' || quote(v) || typeof(v) || quote(t) || typeof(t) || quote(b) || typeof(b) || quote(x) || quote(d) || quote(r) || c || quote(i) || typeof(i) || quote(ts) || typeof(ts) FROM "se""le'ct ?" ORDER BY 1`,
	},
}

// TestValues wants every value to be copied as it is, whatever the servers' sessions say.
func TestValues(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		statements := values[kind]
		query := statements[len(statements)-1]
		into := anew(t, kind)
		from := anew(t, kind)
		from.pool.SetMaxOpenConns(1)
		for _, s := range statements[:len(statements)-1] {
			from.execute(t, s)
			if strings.HasPrefix(s, "CREATE ") {
				into.execute(t, s)
			}
		}
		if kind == "mysql" {
			from.execute(t, "SET time_zone = '+09:00'")
		}
		got, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
		if err != nil || got.Copied < 2 {
			t.Fatalf("got %d rows copied, %v", got.Copied, err)
		}
		a, b := into.texts(t, query), from.texts(t, query)
		if !slices.Equal(a, b) || len(a) != int(got.Copied) {
			t.Errorf("got  %q\nwant %q", a, b)
		}
	})
}

// texts returns the texts that a query gives.
func (p *place) texts(t *testing.T, query string) (found []string) {
	t.Helper()
	conn, err := p.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if p.kind == "mysql" {
		if _, err := conn.ExecContext(t.Context(), "SET time_zone = '+00:00'"); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		found = append(found, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRefusedRow wants a row that the database refuses to be named, what was copied before to stay, and the merge to go on when it is
// repaired. A unique index of an expression is what no proof looks at.
func TestRefusedRow(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		ddl := []string{"CREATE TABLE a (id BIGINT PRIMARY KEY, n BIGINT)", "CREATE TABLE b (id BIGINT PRIMARY KEY, n BIGINT)"}
		into, from := anew(t, kind, ddl[0], "CREATE TABLE b (id BIGINT PRIMARY KEY, n BIGINT, CHECK (n < 5))"), anew(t, kind, ddl...)
		from.execute(t, "INSERT INTO a VALUES (1, 1), (2, 2)", "INSERT INTO b VALUES (1, 1), (2, 2), (3, 7), (4, 3)")
		got, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
		if err == nil || !strings.Contains(err.Error(), "b from From 1") || !strings.Contains(err.Error(), "the row 3") || got.Copied != 2 {
			t.Fatalf("got %d rows copied, %v, want 2 and the row 3", got.Copied, err)
		}
		if n := into.count(t, "SELECT COUNT(*) FROM b"); n != 0 {
			t.Errorf("%d rows of the batch stayed", n)
		}
		from.execute(t, "UPDATE b SET n = 4 WHERE id = 3")
		got, err = merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
		if err != nil || got.Copied != 4 {
			t.Errorf("got %d rows copied, %v, want 4", got.Copied, err)
		}
	})
}

// TestWritersMeanwhile wants a row that comes behind what was copied to be copied, and one that changed to be an error.
func TestWritersMeanwhile(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "postgres")
		const ddl = "CREATE TABLE a (id BIGINT PRIMARY KEY, n BIGINT)"
		for _, test := range []struct {
			name, where, statement string
			want                   int64
			err                    string
		}{
			{"comes", "from", "INSERT INTO a VALUES (15, 1)", 6, ""},
			{"changes", "from", "UPDATE a SET n = 9 WHERE id = 20", 5, "the row 20 of a has in From 1"},
			{"goes from Into", "into", "DELETE FROM a WHERE id = 20", 5, ""},
			{"changes in Into", "into", "UPDATE a SET n = 9 WHERE id = 30", 5, "the row 30 of a has in From 1"},
		} {
			t.Run(test.name, func(t *testing.T) {
				into, from := anew(t, kind, ddl, "INSERT INTO a VALUES (1, 1)"), anew(t, kind, ddl, "INSERT INTO a VALUES (10, 1), (20, 2), (30, 3), (40, 4)")
				places := map[string]*place{"into": into, "from": from}
				copied := false
				_, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{Progress: func(p merge.Progress) {
					if strings.HasPrefix(p.Doing, "copy ") && !copied {
						copied = true
						places[test.where].execute(t, test.statement)
					}
				}})
				if test.err == "" && err != nil || test.err != "" && (!errors.Is(err, merge.ErrCopied) || !strings.Contains(err.Error(), test.err)) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				if n := into.count(t, "SELECT COUNT(*) FROM a"); n != test.want {
					t.Errorf("got %d rows, want %d", n, test.want)
				}
			})
		}
	})
}

// TestTwoMerges wants one of two merges at once to fail, and no row to be lost or there twice: the second, which finds the first's lock, and
// on SQLite, where there is none, the first, which finds that the second has copied.
func TestTwoMerges(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dbtest.LongOn(t, kind, "sqlite", "postgres")
		const ddl = "CREATE TABLE a (id BIGINT PRIMARY KEY, n BIGINT)"
		into, from := anew(t, kind, ddl), anew(t, kind, ddl)
		var rows []string
		for n := range 1500 {
			rows = append(rows, fmt.Sprintf("(%d, %d)", n, n))
		}
		from.execute(t, "INSERT INTO a VALUES "+strings.Join(rows, ", "))
		inside := false
		var second error
		_, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{Progress: func(p merge.Progress) {
			if strings.HasPrefix(p.Doing, "copy ") && !inside {
				inside = true
				_, second = merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
			}
		}})
		if kind == "sqlite" && (!errors.Is(err, merge.ErrCopied) || !strings.Contains(err.Error(), "another merge copies a of From 1") || second != nil) {
			t.Errorf("got %v, and %v of the other", err, second)
		}
		if kind != "sqlite" && (err != nil || !errors.Is(second, merge.ErrRunning)) {
			t.Errorf("got %v, and %v of the other, want ErrRunning", err, second)
		}
		if n := into.count(t, "SELECT COUNT(*) FROM a"); n != 1500 {
			t.Errorf("got %d rows, want 1500", n)
		}
	})
}

// TestNeighbours merges keys of two columns whose numbers floating-point numbers do not tell apart, in several pages, and once more, when all
// of them were copied.
func TestNeighbours(t *testing.T) {
	dbtest.Long(t)
	eachKind(t, func(t *testing.T, kind string) {
		const ddl = "CREATE TABLE a (id BIGINT, line BIGINT, PRIMARY KEY (id, line))"
		into, from := anew(t, kind, ddl), anew(t, kind, ddl)
		for first := range int64(4) {
			var rows []string
			for n := range int64(1000) {
				rows = append(rows, fmt.Sprintf("(%d, 1), (%d, 2)", 21365922988081252+1000*first+n, 21365922988081252+1000*first+n))
			}
			from.execute(t, "INSERT INTO a VALUES "+strings.Join(rows, ", "))
		}
		for i, want := range []int64{8000, 0, 0} {
			if kind != "postgres" && i > 0 && into.count(t, `SELECT COUNT(*) FROM snowkey_merges WHERE upto LIKE '[{"i":2%},{"i":2}]'`) != 1 {
				t.Error("the keys are not compared as numbers: MySQL takes a number and a text for floating-point numbers")
			}
			if i == 2 { // as after one that was killed before its last rows
				into.execute(t, "DELETE FROM a WHERE id > 21365922988083252 OR id = 21365922988083252 AND line = 2",
					`UPDATE snowkey_merges SET swept = '', copied = 4001, upto = '`+map[string]string{"postgres": `[{"t":"21365922988083252"},{"t":"1"}]`}[kind]+
						map[bool]string{true: `[{"i":21365922988083252},{"i":1}]`}[kind != "postgres"]+`'`)
				want = 3999
			}
			got, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
			if err != nil || got.Copied != want {
				t.Fatalf("got %d rows copied, %v, want %d", got.Copied, err, want)
			}
		}
		if n := into.count(t, "SELECT COUNT(*) FROM a"); n != 8000 {
			t.Errorf("got %d rows, want 8000", n)
		}
	})
}

// TestHeavyRows merges rows of a megabyte, of which a page and a statement hold few.
func TestHeavyRows(t *testing.T) {
	dbtest.Long(t)
	eachKind(t, func(t *testing.T, kind string) {
		ddl := "CREATE TABLE a (id BIGINT PRIMARY KEY, body " + map[string]string{"sqlite": "TEXT", "mysql": "MEDIUMTEXT", "postgres": "TEXT"}[kind] + ")"
		into, from := anew(t, kind, ddl), anew(t, kind, ddl)
		body := map[string]string{"sqlite": "hex(zeroblob(600000))", "mysql": "REPEAT('x', 1200000)", "postgres": "repeat('x', 1200000)"}[kind]
		var rows []string
		for n := range 18 {
			rows = append(rows, fmt.Sprintf("(%d, %s)", 100-n, body), fmt.Sprintf("(%d, '')", n+1))
		}
		from.execute(t, "INSERT INTO a VALUES "+strings.Join(rows, ", "))
		got, err := merge.Run(t.Context(), into.db, []*gorm.DB{from.db}, merge.Options{})
		if err != nil || got.Copied != 36 {
			t.Fatalf("got %d rows copied, %v, want 36", got.Copied, err)
		}
		if n := into.count(t, "SELECT SUM(LENGTH(body)) FROM a"); n != 18*1_200_000 {
			t.Errorf("got %d letters", n)
		}
	})
}
