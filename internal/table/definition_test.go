package table_test

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/table"
)

func FuzzDefinition(f *testing.F) {
	for _, sql := range []string{
		"CREATE TABLE `a` (`b``c` int COMMENT 'x\\'', CHECK (a > 0)) -- c", "CREATE TABLE [a] (a int AS (1) REFERENCES p DEFERRABLE, CONSTRAINT x CHECK (a)) WITHOUT ROWID", "a$1 $$x$$ $t$ '' $t$ #",
		"CREATE TRIGGER t AFTER UPDATE OF a ON b", "CREATE INDEX i ON t (a) WHERE a", "'", "\"", "`", "[", "/*", "$", ")((", "CHECK", "CONSTRAINT CHECK (", "nextval(`a`.`b`)", "\xff(", "(,)",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(_ *testing.T, sql string) { table.Readings(sql) }) // none may panic
}
