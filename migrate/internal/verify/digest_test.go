package verify_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/migrate/internal/verify"
)

// TestDigest compares digests before and after a rekey, through connections with other settings, and after changes of every kind of value.
func TestDigest(t *testing.T) {
	t.Parallel()
	for kind, database := range map[string]func(testing.TB) dbtest.Database{"sqlite": dbtest.SQLite, "mysql": dbtest.MySQL, "postgres": dbtest.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := database(t)
			w := newWorld(t, kind, d)
			users, notes := w.digest(t, "users"), w.digest(t, "notes")
			if strings.Count(users, `"rows":1`) != 40 || strings.Count(notes, `"rows":42`) != 1 {
				t.Fatalf("got %s and %s, want 40 sets of a row, and one of 42 rows", users, notes)
			}
			same := func(what string) {
				t.Helper()
				if u, n := w.digest(t, "users"), w.digest(t, "notes"); u != users || n != notes {
					t.Errorf("%s: got %.300s and %.300s, want %.300s and %.300s", what, u, n, users, notes)
				}
			}
			w.fill(t)
			same("after the map")
			w.exec(t, "UPDATE users SET id = (SELECT new_id FROM users_map WHERE old_id = id) WHERE id < 20")
			same("in the middle")
			w.rewrite(t)
			same("afterwards")
			w.exec(t, "INSERT INTO users (id, price) VALUES (9000000000000000001, 5)")
			same("with a new row")
			first := w.db
			w.db = other(t, kind, d)
			same("through other settings")
			w.db = first

			seen := map[string]string{users: "as it was"}
			for _, change := range []string{
				`UPDATE users SET ratio = ratio * 1.0000000000000002 WHERE price = 3.25`, `UPDATE users SET price = 3.2501 WHERE price = 3.25`,
				`UPDATE users SET made = '2024-05-06T12:00:09' WHERE price = 4.25`, w.pick(`UPDATE users SET bytes = x'00fe' WHERE price = 4.25`, `UPDATE users SET bytes = x'00fe' WHERE price = 4.25`, `UPDATE users SET bytes = '\x00fe' WHERE price = 4.25`),
				`UPDATE users SET bytes = NULL WHERE price = 4.25`, w.pick(`UPDATE users SET "Na'me" = '' WHERE price = 7.25`, "UPDATE users SET `Na'me` = '' WHERE price = 7.25", `UPDATE users SET "Na'me" = '' WHERE price = 7.25`),
				w.pick(`UPDATE users SET "Na'me" = NULL WHERE price = 8.25`, "UPDATE users SET `Na'me` = NULL WHERE price = 8.25", `UPDATE users SET "Na'me" = NULL WHERE price = 8.25`),
				// One column's value in the next one, where both are bytes.
				w.pick(`UPDATE users SET "Na'me" = 'a', bytes = NULL WHERE price = 12.25`, "UPDATE users SET `Na'me` = 'a', bytes = NULL WHERE price = 12.25", `UPDATE users SET "Na'me" = 'a', bytes = NULL WHERE price = 12.25`),
				w.pick(`UPDATE users SET "Na'me" = NULL, bytes = x'61' WHERE price = 12.25`, "UPDATE users SET `Na'me` = NULL, bytes = 'a' WHERE price = 12.25", `UPDATE users SET "Na'me" = NULL, bytes = 'a' WHERE price = 12.25`),
				// All of two rows, but the keys: the one goes by way of a key that is new, and counts in neither.
				`UPDATE users SET boss_id = (SELECT new_id FROM users_map WHERE old_id = 5) WHERE price = 30.25`,
				`UPDATE users SET boss_id = NULL`,
				`UPDATE users SET id = 9000000000000000002 WHERE price = 13.25`,
				`UPDATE users SET id = (SELECT new_id FROM users_map WHERE old_id = 13) WHERE price = 14.25`,
				`UPDATE users SET id = (SELECT new_id FROM users_map WHERE old_id = 14) WHERE id = 9000000000000000002`,
				`DELETE FROM users WHERE price = 40.25`,
			} {
				w.exec(t, change)
				got := w.digest(t, "users")
				if before, ok := seen[got]; ok {
					t.Errorf("%s: got the digest of %.300s", change, before)
				}
				seen[got] = change
			}
			if _, err := verify.Digest(t.Context(), w.db, w.plan, "none"); err == nil || !strings.Contains(err.Error(), "no such table: none") {
				t.Errorf("no such table: got %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := verify.Digest(ctx, w.db, w.plan, "users"); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: got %v", err)
			}
		})
	}
}

// other opens a database with another zone, other formats, another character set, and a driver that makes other values.
func other(t *testing.T, kind string, d dbtest.Database) *sql.DB {
	t.Helper()
	switch kind {
	case "mysql":
		c, err := mysql.ParseDSN(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		c.ParseTime = !c.ParseTime
		c.Params = map[string]string{"time_zone": "'+09:00'", "charset": "latin1"}
		c.InterpolateParams = true
		d.DriverDSN = c.FormatDSN()
	case "postgres":
		u, err := url.Parse(d.DriverDSN)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		for name, value := range map[string]string{"timezone": "Asia/Tokyo", "datestyle": "German", "extra_float_digits": "-5", "bytea_output": "escape"} {
			q.Set(name, value)
		}
		u.RawQuery = q.Encode()
		d.DriverDSN = u.String()
	default:
		d.DriverDSN += "?_loc=Asia/Tokyo"
	}
	return d.Open(t)
}
