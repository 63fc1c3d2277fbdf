package sqltoken_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/sqltoken"
)

func FuzzTokens(f *testing.F) {
	for _, sql := range []string{
		"CREATE TABLE `a` (`b``c` int COMMENT 'x\\'', CHECK (a > 0)) -- c", "CREATE TABLE [a] (a int AS (1) REFERENCES p DEFERRABLE, CONSTRAINT x CHECK (a)) WITHOUT ROWID", "a$1 $$x$$ $t$ '' $t$ #",
		"CREATE TRIGGER t AFTER UPDATE OF a ON b", "CREATE INDEX i ON t (a) WHERE a", "'", "\"", "`", "[", "/*", "$", ")((", "CHECK", "CONSTRAINT CHECK (", "nextval(`a`.`b`)", "\xff(", "(,)",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for n, g := range []sqltoken.Grammar{sqltoken.MySQL, sqltoken.SQLite, sqltoken.Postgres, {}} {
			last := 0
			for _, token := range g.Tokens(sql) {
				if token.Start < last || token.End <= token.Start || token.End > len(sql) {
					t.Fatalf("grammar %d: the token %+v comes after %d, of %d bytes", n, token, last, len(sql))
				}
				last = token.End
			}
			g.Declarations(sql) // must not panic
		}
	})
}
