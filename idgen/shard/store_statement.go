package shard

import "strings"

// storeTexts are what a [Store] runs.
type storeTexts struct {
	create  string
	probe   string
	begin   string
	durable string // makes the commit of the transaction that it is run in wait for the disk; empty where a session cannot change that
	load    string // name: version and map
	version string // name: version, and whether the session commits on its own
	insert  string // name, version, map, name, version-1: adds the row if the other version is in force, else does nothing
	again   string // name, version: adds the row once more, which the primary key does not let it
	echo    string // name, version: the map
	names   string
}

// What the statements are made of, with @ for the quoted table and ? for parameters.
const (
	storeCreate = `CREATE TABLE IF NOT EXISTS @ (
    name    varchar(64)%[1]s NOT NULL,
    version bigint NOT NULL,
    made    %[2]s NOT NULL,
    map     %[3]s NOT NULL,
    PRIMARY KEY (name, version)
)`
	storeLoad    = "SELECT version, map FROM @ WHERE name = ? ORDER BY version DESC LIMIT 1"
	storeVersion = "SELECT version, 1 FROM @ WHERE name = ? ORDER BY version DESC LIMIT 1"
	// The primary key decides between those that find the same version in force at once.
	storeInsert = "INSERT INTO @ (name, version, made, map) SELECT ?, ?, %s, ? FROM (SELECT COALESCE(MAX(version), 0) AS latest FROM @ WHERE name = ?) AS found WHERE found.latest = ?"
)

// storeTextsOf returns the statements of a dialect; of none they are empty.
func storeTextsOf(d Dialect) storeTexts {
	t := storeTexts{
		begin: "BEGIN", load: storeLoad, version: storeVersion, insert: storeInsert, probe: "SELECT name, version, made, map FROM @ WHERE version < 0",
		again: "INSERT INTO @ (name, version, made, map) SELECT name, version, made, map FROM @ WHERE name = ? AND version = ?",
		echo:  "SELECT map FROM @ WHERE name = ? AND version = ?", names: "SELECT DISTINCT name FROM @ ORDER BY name",
	}
	var collation, made, text, clock string
	switch d {
	case MySQL:
		collation, made, text = " CHARACTER SET ascii COLLATE ascii_bin", "datetime(6)", "mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
		clock = "UTC_TIMESTAMP(6)"
		t.begin = "START TRANSACTION" // BEGIN is no transaction's under sql_mode=ORACLE
		// Under READ UNCOMMITTED a plain SELECT returns a map that may never be committed.
		t.load += " LOCK IN SHARE MODE"
		t.version = strings.Replace(t.version, "version, 1", "version, @@autocommit", 1)
		// IGNORE leaves out the row that is there already. It would also cut a map that is too long for a column; echo tells.
		t.insert = strings.Replace(t.insert, "INSERT", "INSERT IGNORE", 1)
		t.again = strings.Replace(t.again, "INSERT", "INSERT IGNORE", 1)
	case Postgres:
		collation, made, text, clock = ` COLLATE "C"`, "timestamptz", "text", "clock_timestamp()"
		t.insert = strings.Replace(t.insert, "SELECT ?, ?, %s, ?", "SELECT CAST(? AS varchar), CAST(? AS bigint), %s, CAST(? AS text)", 1) + " ON CONFLICT DO NOTHING"
		t.again += " ON CONFLICT DO NOTHING"
		t.durable = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')"
	case SQLite:
		made, text, clock = "text", "text", "strftime('%Y-%m-%d %H:%M:%f', 'now')"
		t.insert += " ON CONFLICT DO NOTHING"
		t.again += " ON CONFLICT DO NOTHING"
	default:
		return storeTexts{}
	}
	t.create = strings.NewReplacer("%[1]s", collation, "%[2]s", made, "%[3]s", text).Replace(storeCreate)
	if d == MySQL {
		t.create += " ENGINE = InnoDB"
	}
	t.insert = strings.Replace(t.insert, "%s", clock, 1)
	quoted := d.Quote(StoreTable)
	for _, text := range []*string{&t.create, &t.probe, &t.load, &t.version, &t.insert, &t.again, &t.echo, &t.names} {
		*text = d.Bind(strings.ReplaceAll(*text, "@ ", quoted+" "))
	}
	return t
}
