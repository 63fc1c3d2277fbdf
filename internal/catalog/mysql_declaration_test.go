package catalog_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/catalog"
	"github.com/snowkey-go/snowkey/internal/dialect"
)

// TestDefine repeats the definition of each column with MODIFY in sessions of each kind, after which nothing may have changed.
func TestDefine(t *testing.T) {
	db, _ := open(t, dialect.MySQL, "CREATE SEQUENCE sq",
		"CREATE TABLE t (`i``d` int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s, \\\\ (a \\n \"line\" `q`)', "+
			"a varchar(20) CHARACTER SET latin1 DEFAULT 'x\\\\y\\n,)' COMMENT 'NOT NULL', `CHECK` int CHECK (`CHECK` > 0 AND 'a\\\\' <> ''), "+
			"g int AS (`CHECK` + length('\\\\')) VIRTUAL, s int AS (1 + 2) STORED COMMENT 'c', j json, d decimal(9,2) NOT NULL DEFAULT 1.50, e enum('a,b', 'c''\\\\d') DEFAULT 'a,b', "+
			"n bigint DEFAULT nextval(sq), f varchar(60) DEFAULT (concat('\\\\', uuid())), ts timestamp(3) NULL DEFAULT current_timestamp(3) ON UPDATE current_timestamp(3), "+
			"dt datetime NOT NULL DEFAULT '2020-01-01', z int(7) unsigned zerofill, `a b\"c` int NOT NULL, inv int INVISIBLE DEFAULT 5, `KEY` text COLLATE utf8mb4_bin, PRIMARY_ int, KEY (a(3)), CHECK (z < 9))")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c, err := catalog.New(conn, dialect.MySQL)
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, c, "t")
	want, err := c.Fingerprint(t.Context(), before.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got := before.Columns[0].Define; got != "int(10) unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s, \\\\ (a \\n \"line\" `q`)'" {
		t.Errorf("got %s", got)
	}
	for _, mode := range []string{"", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "ANSI"} {
		if _, err := conn.ExecContext(t.Context(), "SET sql_mode = '"+mode+"'"); err != nil {
			t.Fatal(err)
		}
		now := read(t, c, "t")
		for i, col := range now.Columns {
			if col.Define == "" {
				t.Fatalf("%s: nothing of %s", mode, col.Name)
			}
			statement := "ALTER TABLE t MODIFY " + c.Quote(col.Name) + " " + col.Define
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Errorf("%s: %s: %v", mode, statement, err)
			}
			if plain := strings.Contains(mode, "BACKSLASH"); !plain && col.Define != before.Columns[i].Define {
				t.Errorf("%s: got %s, want %s", mode, col.Define, before.Columns[i].Define)
			}
		}
		after := read(t, c, "t")
		if got, err := c.Fingerprint(t.Context(), before.Name); err != nil || got != want {
			t.Errorf("%s: another fingerprint, %v\n%s\n%s", mode, err, before.Create, after.Create)
		}
		for i := range after.Columns {
			if got := *after.Columns[i]; mode == "" && !reflect.DeepEqual(got, *before.Columns[i]) {
				t.Errorf("%s: got %+v, want %+v", mode, got, *before.Columns[i])
			}
		}
		if got, want := fmt.Sprint(after.Checks), fmt.Sprint(before.Checks); got != want {
			t.Errorf("%s: got %s, want %s", mode, got, want)
		}
	}
	if _, err := conn.ExecContext(t.Context(), "SET sql_mode = 'ORACLE'"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Table(t.Context(), before.Name); err == nil || !strings.Contains(err.Error(), "_OPTIONS") {
		t.Errorf("a session that hides definitions: got %v, %v", got, err)
	}
}

func TestTemporaryTableOfMySQL(t *testing.T) {
	db, c := open(t, dialect.MySQL, "CREATE TABLE t (id int NOT NULL PRIMARY KEY)")
	db.SetMaxOpenConns(1)
	run(t, db, "CREATE TEMPORARY TABLE t (a text)")
	if got, err := c.Table(t.Context(), catalog.Name{Name: "t"}); err == nil || !strings.Contains(err.Error(), "temporary") {
		t.Errorf("got %v, %v, want an error", got, err)
	}
	run(t, db, "DROP TEMPORARY TABLE t")
	read(t, c, "t")
}
