package nextid

import (
	"strings"

	"github.com/snowkey-go/snowkey/internal/dialect"
)

// mysqlTexts are the statements for MySQL 8.0, whose counters outlast a restart, and MariaDB 10.3.
var mysqlTexts = []string{
	`CREATE TABLE IF NOT EXISTS <word> (
    counter    bigint NOT NULL AUTO_INCREMENT,
    connection bigint NOT NULL,
    PRIMARY KEY (counter, connection)
) ENGINE = InnoDB AUTO_INCREMENT = <first>`,
	"DROP FUNCTION IF EXISTS <function>",
	`CREATE FUNCTION <function>() RETURNS bigint
NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE word, earliest, target BIGINT;
    SET earliest = GREATEST((TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) - <epoch>) DIV <unit>, <from>) << <sequence>;
    INSERT INTO <word> (connection) VALUES (CONNECTION_ID());
    SET word = LAST_INSERT_ID();
    DELETE FROM <word> WHERE counter = word AND connection = CONNECTION_ID();
    IF word NOT BETWEEN earliest AND earliest + <ahead> AND
        NOT EXISTS (SELECT 1 FROM <grants> WHERE space = <space> AND node = <number> AND holder = <holder> AND until_tick = <forever>) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = <gone>;
    END IF;
    IF word < earliest THEN
        SET target = (earliest | (word & <spread>)) - 1; -- so that the next word opens the tick
        IF target > word THEN
            INSERT INTO <word> (counter, connection) VALUES (target, CONNECTION_ID());
            DELETE FROM <word> WHERE counter = target AND connection = CONNECTION_ID();
        END IF;
        INSERT INTO <word> (connection) VALUES (CONNECTION_ID());
        SET word = LAST_INSERT_ID();
        DELETE FROM <word> WHERE counter = word AND connection = CONNECTION_ID();
    END IF;
    IF word > <most> THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the layout has no ticks left for <name>';
    END IF;
    RETURN <key>;
END`,
}

func (f Function) mysql() (statements []string) {
	for _, text := range mysqlTexts {
		statements = append(statements, f.expand(strings.ReplaceAll(text, "<name>", f.Name)))
	}
	for _, c := range f.Columns {
		table, column := f.Dialect.Quote(c.Table), f.Dialect.Quote(c.Column)
		schema, name := dialect.SplitName(c.Table)
		if schema == "" {
			schema = f.Schema
		}
		trigger := f.Dialect.QuoteAny(schema) + "." + f.Dialect.QuoteAny(triggerName(name, c.Column))
		statements = append(statements,
			"ALTER TABLE "+table+" ALTER COLUMN "+column+" SET DEFAULT 0",
			"DROP TRIGGER IF EXISTS "+trigger,
			f.expand("CREATE TRIGGER "+trigger+" BEFORE INSERT ON "+table+" FOR EACH ROW SET NEW."+column+" = IF(COALESCE(NEW."+column+", 0) = 0, <function>(), NEW."+column+")"))
	}
	return statements
}

// triggerName is the name of the trigger that fills in a column, of 64 characters at most.
func triggerName(table, column string) string {
	name := "snowkey_" + table + "_" + column
	return name[:min(len(name), 64)]
}
