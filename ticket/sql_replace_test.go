package ticket_test

// replaceMySQLStatements are complete for server 2 of 3; of the others there is what differs.
var replaceMySQLStatements = []statements{
	{
		name: "replace, MySQL, 2 of 3", kind: replaceMySQL, number: 2, of: 3,
		sends: map[string][]sent{
			"inspect": {
				{mysqlSettings},
				{"SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE LIKE '%unsigned%', COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)" +
					" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'snowkey_tickets'"},
				{"SELECT GROUP_CONCAT(LOWER(COLUMN_NAME) ORDER BY SEQ_IN_INDEX) FROM information_schema.STATISTICS" +
					" WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA = 'app' AND TABLE_NAME = 'snowkey_tickets' GROUP BY INDEX_NAME" +
					" ORDER BY INDEX_NAME <> 'PRIMARY'"},
				{"SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'snowkey_tickets'"},
				{"SELECT id, (SELECT MAX(id) FROM `app`.`snowkey_tickets`), COALESCE(layout, '') FROM `app`.`snowkey_tickets` WHERE stub = 'default'"},
				{"SELECT number FROM `app`.`snowkey_tickets_register` WHERE name = 'default'"},
			},
			"draw": {
				{"REPLACE INTO `app`.`snowkey_tickets` (stub, layout) SELECT stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 AND @@innodb_flush_log_at_trx_commit IN (1, 3) FOR UPDATE"},
			},
			"fence": {
				{"REPLACE INTO `app`.`snowkey_tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 AND @@innodb_flush_log_at_trx_commit IN (1, 3) AND id < 9000 AND NOT EXISTS (SELECT 1" +
					" FROM `app`.`snowkey_tickets` AS other WHERE other.id >= 9000) FOR UPDATE"},
			},
			"preflight": {
				{mysqlSettings},
				{"SET GLOBAL auto_increment_increment = @@global.auto_increment_increment"},
			},
			"freeze": {{"UPDATE `app`.`snowkey_tickets` SET layout = '>2/4' WHERE stub = 'default' AND layout = '2/3'"}},
			"thaw": {
				{mysqlSettings},
				{"SET GLOBAL auto_increment_increment = 4, GLOBAL auto_increment_offset = 2"},
				{"REPLACE INTO `app`.`snowkey_tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND layout = '>2/4' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM `app`.`snowkey_tickets` AS other" +
					" WHERE other.id >= 9000) FOR UPDATE"},
				{"UPDATE `app`.`snowkey_tickets` SET layout = '2/4' WHERE stub = 'default' AND layout = '>2/4'"},
			},
			"tables": {
				{"CREATE TABLE IF NOT EXISTS `app`.`snowkey_tickets` (id bigint unsigned NOT NULL AUTO_INCREMENT, stub varchar(64) NOT NULL," +
					" layout varchar(32) NOT NULL, PRIMARY KEY (stub), UNIQUE KEY (id))" +
					" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
				{"CREATE TABLE IF NOT EXISTS `app`.`snowkey_tickets_register` (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))" +
					" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
			},
			"row":      {{"INSERT INTO `app`.`snowkey_tickets` (stub, layout) VALUES ('default', '2/3')"}},
			"after":    {{"INSERT INTO `app`.`snowkey_tickets` (id, stub, layout) VALUES (9000, 'default', '2/3')"}},
			"frozen":   {{"INSERT INTO `app`.`snowkey_tickets` (stub, layout) VALUES ('default', '>2/3')"}},
			"register": {{"INSERT IGNORE INTO `app`.`snowkey_tickets_register` (name, number) VALUES ('default', 2)"}},
		},
	},
	{
		name: "replace, MySQL, 1 of 1", kind: replaceMySQL, number: 1, of: 1,
		sends: map[string][]sent{
			"draw": {
				{"REPLACE INTO `app`.`snowkey_tickets` (stub, layout) SELECT stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '1/1' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */" +
					" AND @@innodb_flush_log_at_trx_commit IN (1, 3) FOR UPDATE"},
			},
			"fence": {
				{"REPLACE INTO `app`.`snowkey_tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '1/1' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */" +
					" AND @@innodb_flush_log_at_trx_commit IN (1, 3) AND id < 9000 AND NOT EXISTS (SELECT 1 FROM `app`.`snowkey_tickets` AS other" +
					" WHERE other.id >= 9000) FOR UPDATE"},
			},
			"freeze": {{"UPDATE `app`.`snowkey_tickets` SET layout = '>1/2' WHERE stub = 'default' AND layout = '1/1'"}},
			"thaw": {
				{mysqlSettings},
				{"SET GLOBAL auto_increment_increment = 2, GLOBAL auto_increment_offset = 1"},
				{"REPLACE INTO `app`.`snowkey_tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND layout = '>1/2' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM `app`.`snowkey_tickets` AS other" +
					" WHERE other.id >= 9000) FOR UPDATE"},
				{"UPDATE `app`.`snowkey_tickets` SET layout = '1/2' WHERE stub = 'default' AND layout = '>1/2'"},
			},
			"row":    {{"INSERT INTO `app`.`snowkey_tickets` (stub, layout) VALUES ('default', '1/1')"}},
			"after":  {{"INSERT INTO `app`.`snowkey_tickets` (id, stub, layout) VALUES (9000, 'default', '1/1')"}},
			"frozen": {{"INSERT INTO `app`.`snowkey_tickets` (stub, layout) VALUES ('default', '>1/1')"}},
		},
	},
	{
		name: "replace, MySQL, 2 of 3, unsafe", kind: replaceMySQL, number: 2, of: 3, unsafe: true,
		sends: map[string][]sent{
			"draw": {
				{"REPLACE INTO `app`.`snowkey_tickets` (stub, layout) SELECT stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 FOR UPDATE"},
			},
			"fence": {
				{"REPLACE INTO `app`.`snowkey_tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 AND id < 9000 AND NOT EXISTS (SELECT 1 FROM `app`.`snowkey_tickets` AS other" +
					" WHERE other.id >= 9000) FOR UPDATE"},
			},
		},
	},
	{
		name: "replace, MySQL, 2 of 3, with a schema", kind: replaceMySQL, number: 2, of: 3, table: "keys.tickets",
		sends: map[string][]sent{
			"inspect": {
				{mysqlSettings},
				{"SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE LIKE '%unsigned%', COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)" +
					" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'keys' AND TABLE_NAME = 'tickets'"},
				{"SELECT GROUP_CONCAT(LOWER(COLUMN_NAME) ORDER BY SEQ_IN_INDEX) FROM information_schema.STATISTICS" +
					" WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA = 'keys' AND TABLE_NAME = 'tickets' GROUP BY INDEX_NAME" +
					" ORDER BY INDEX_NAME <> 'PRIMARY'"},
				{"SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'keys' AND TABLE_NAME = 'tickets'"},
				{"SELECT id, (SELECT MAX(id) FROM `keys`.`tickets`), COALESCE(layout, '') FROM `keys`.`tickets` WHERE stub = 'default'"},
				{"SELECT number FROM `keys`.`tickets_register` WHERE name = 'default'"},
			},
			"draw": {
				{"REPLACE INTO `keys`.`tickets` (stub, layout) SELECT stub, layout FROM `keys`.`tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 AND @@innodb_flush_log_at_trx_commit IN (1, 3) FOR UPDATE"},
			},
			"fence": {
				{"REPLACE INTO `keys`.`tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `keys`.`tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 AND @@innodb_flush_log_at_trx_commit IN (1, 3) AND id < 9000 AND NOT EXISTS (SELECT 1" +
					" FROM `keys`.`tickets` AS other WHERE other.id >= 9000) FOR UPDATE"},
			},
			"freeze": {{"UPDATE `keys`.`tickets` SET layout = '>2/4' WHERE stub = 'default' AND layout = '2/3'"}},
			"thaw": {
				{mysqlSettings},
				{"SET GLOBAL auto_increment_increment = 4, GLOBAL auto_increment_offset = 2"},
				{"REPLACE INTO `keys`.`tickets` (id, stub, layout) SELECT 9000, stub, layout FROM `keys`.`tickets`" +
					" WHERE stub = 'default' AND layout = '>2/4' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM `keys`.`tickets` AS other" +
					" WHERE other.id >= 9000) FOR UPDATE"},
				{"UPDATE `keys`.`tickets` SET layout = '2/4' WHERE stub = 'default' AND layout = '>2/4'"},
			},
			"tables": {
				{"CREATE TABLE IF NOT EXISTS `keys`.`tickets` (id bigint unsigned NOT NULL AUTO_INCREMENT, stub varchar(64) NOT NULL," +
					" layout varchar(32) NOT NULL, PRIMARY KEY (stub), UNIQUE KEY (id))" +
					" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
				{"CREATE TABLE IF NOT EXISTS `keys`.`tickets_register` (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))" +
					" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
			},
			"row":      {{"INSERT INTO `keys`.`tickets` (stub, layout) VALUES ('default', '2/3')"}},
			"after":    {{"INSERT INTO `keys`.`tickets` (id, stub, layout) VALUES (9000, 'default', '2/3')"}},
			"frozen":   {{"INSERT INTO `keys`.`tickets` (stub, layout) VALUES ('default', '>2/3')"}},
			"register": {{"INSERT IGNORE INTO `keys`.`tickets_register` (name, number) VALUES ('default', 2)"}},
		},
	},
	{
		name: "replace, MySQL, 2 of 3, published", kind: replaceMySQL, number: 2, of: 3, bare: true,
		sends: map[string][]sent{
			"draw": {
				{"REPLACE INTO `app`.`snowkey_tickets` (stub) SELECT stub FROM `app`.`snowkey_tickets` WHERE stub = 'default' AND id >= 500" +
					" AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3 AND @@auto_increment_offset = 2" +
					" AND @@innodb_flush_log_at_trx_commit IN (1, 3) FOR UPDATE"},
			},
			"fence": {
				{"REPLACE INTO `app`.`snowkey_tickets` (id, stub) SELECT 9000, stub FROM `app`.`snowkey_tickets`" +
					" WHERE stub = 'default' AND id >= 500 AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ AND @@auto_increment_increment = 3" +
					" AND @@auto_increment_offset = 2 AND @@innodb_flush_log_at_trx_commit IN (1, 3) AND id < 9000 AND NOT EXISTS (SELECT 1" +
					" FROM `app`.`snowkey_tickets` AS other WHERE other.id >= 9000) FOR UPDATE"},
			},
			"row":   {{"INSERT INTO `app`.`snowkey_tickets` (stub) VALUES ('default')"}},
			"after": {{"INSERT INTO `app`.`snowkey_tickets` (id, stub) VALUES (9000, 'default')"}},
		},
	},
}

// replaceSQLiteStatements are complete for server 2 of 3; of the others there is what differs.
var replaceSQLiteStatements = []statements{
	{
		name: "replace, SQLite, 2 of 3", kind: replaceSQLite, number: 2, of: 3,
		sends: map[string][]sent{
			"inspect": {
				{`PRAGMA "main".synchronous`},
				{`PRAGMA "main".journal_mode`},
				{`PRAGMA "main".query_only`},
				{"SELECT file FROM pragma_database_list WHERE name = ?", values("main")},
				{"SELECT name, type, 0, 0 FROM pragma_table_info('snowkey_tickets', 'main')"},
				{"SELECT (SELECT group_concat(lower(c.name)) FROM pragma_index_info(i.name, 'main') AS c)" +
					` FROM pragma_index_list('snowkey_tickets', 'main') AS i WHERE i."unique" = 1 AND i.partial = 0`},
				{`SELECT id, (SELECT MAX(id) FROM "main"."snowkey_tickets"), COALESCE(layout, '') FROM "main"."snowkey_tickets" WHERE stub = 'default'`},
				{`SELECT COALESCE(sql, '') FROM "main".sqlite_master WHERE type = 'table' AND name = 'snowkey_tickets' COLLATE NOCASE`},
				{`SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM "main".sqlite_sequence WHERE name = 'snowkey_tickets' COLLATE NOCASE), 0)) AS at FROM "main"."snowkey_tickets"`},
				{`SELECT number FROM "main"."snowkey_tickets_register" WHERE name = 'default'`},
			},
			"draw": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT c.at + 1 + (2 - (c.at + 1) % 3 + 3) % 3, stub, layout FROM "main"."snowkey_tickets",` +
					` (SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM "main".sqlite_sequence WHERE name = 'snowkey_tickets' COLLATE NOCASE), 0)) AS at FROM "main"."snowkey_tickets") AS c` +
					` WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND c.at <= 9223372036854775804`},
			},
			"fence": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "main"."snowkey_tickets"` +
					` WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other` +
					" WHERE other.id >= 9000)"},
			},
			"freeze": {{`UPDATE "main"."snowkey_tickets" SET layout = '>2/4' WHERE stub = 'default' AND layout = '2/3'`}},
			"thaw": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "main"."snowkey_tickets"` +
					` WHERE stub = 'default' AND layout = '>2/4' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other` +
					" WHERE other.id >= 9000)"},
				{`UPDATE "main"."snowkey_tickets" SET layout = '2/4' WHERE stub = 'default' AND layout = '>2/4'`},
			},
			"tables": {
				{`CREATE TABLE IF NOT EXISTS "main"."snowkey_tickets" (id integer` +
					" PRIMARY KEY AUTOINCREMENT, stub varchar(64) NOT NULL UNIQUE, layout varchar(32) NOT NULL)"},
				{`CREATE TABLE IF NOT EXISTS "main"."snowkey_tickets_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`},
			},
			"row": {
				{`INSERT INTO "main"."snowkey_tickets" (id, stub, layout) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default', '2/3'` +
					` FROM "main"."snowkey_tickets"`},
			},
			"after": {{`INSERT INTO "main"."snowkey_tickets" (id, stub, layout) VALUES (9000, 'default', '2/3')`}},
			"frozen": {
				{`INSERT INTO "main"."snowkey_tickets" (id, stub, layout) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default', '>2/3'` +
					` FROM "main"."snowkey_tickets"`},
			},
			"register": {{`INSERT INTO "main"."snowkey_tickets_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
	{
		name: "replace, SQLite, 1 of 1", kind: replaceSQLite, number: 1, of: 1,
		sends: map[string][]sent{
			"draw": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT c.at + 1 + (0 - (c.at + 1) % 1 + 1) % 1, stub, layout FROM "main"."snowkey_tickets",` +
					` (SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM "main".sqlite_sequence WHERE name = 'snowkey_tickets' COLLATE NOCASE), 0)) AS at FROM "main"."snowkey_tickets") AS c` +
					` WHERE stub = 'default' AND id >= 500 AND layout = '1/1' AND c.at <= 9223372036854775806`},
			},
			"fence": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "main"."snowkey_tickets"` +
					` WHERE stub = 'default' AND id >= 500 AND layout = '1/1' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other` +
					" WHERE other.id >= 9000)"},
			},
			"freeze": {{`UPDATE "main"."snowkey_tickets" SET layout = '>1/2' WHERE stub = 'default' AND layout = '1/1'`}},
			"thaw": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "main"."snowkey_tickets"` +
					` WHERE stub = 'default' AND layout = '>1/2' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other` +
					" WHERE other.id >= 9000)"},
				{`UPDATE "main"."snowkey_tickets" SET layout = '1/2' WHERE stub = 'default' AND layout = '>1/2'`},
			},
			"row": {
				{`INSERT INTO "main"."snowkey_tickets" (id, stub, layout) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default', '1/1'` +
					` FROM "main"."snowkey_tickets"`},
			},
			"after": {{`INSERT INTO "main"."snowkey_tickets" (id, stub, layout) VALUES (9000, 'default', '1/1')`}},
			"frozen": {
				{`INSERT INTO "main"."snowkey_tickets" (id, stub, layout) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default', '>1/1'` +
					` FROM "main"."snowkey_tickets"`},
			},
		},
	},
	{
		name: "replace, SQLite, 2 of 3, unsafe", kind: replaceSQLite, number: 2, of: 3, unsafe: true,
		sends: map[string][]sent{},
	},
	{
		name: "replace, SQLite, 2 of 3, with a schema", kind: replaceSQLite, number: 2, of: 3, table: "keys.tickets",
		sends: map[string][]sent{
			"inspect": {
				{`PRAGMA "keys".synchronous`},
				{`PRAGMA "keys".journal_mode`},
				{`PRAGMA "keys".query_only`},
				{"SELECT file FROM pragma_database_list WHERE name = ?", values("keys")},
				{"SELECT name, type, 0, 0 FROM pragma_table_info('tickets', 'keys')"},
				{"SELECT (SELECT group_concat(lower(c.name)) FROM pragma_index_info(i.name, 'keys') AS c)" +
					` FROM pragma_index_list('tickets', 'keys') AS i WHERE i."unique" = 1 AND i.partial = 0`},
				{`SELECT id, (SELECT MAX(id) FROM "keys"."tickets"), COALESCE(layout, '') FROM "keys"."tickets" WHERE stub = 'default'`},
				{`SELECT COALESCE(sql, '') FROM "keys".sqlite_master WHERE type = 'table' AND name = 'tickets' COLLATE NOCASE`},
				{`SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM "keys".sqlite_sequence WHERE name = 'tickets' COLLATE NOCASE), 0)) AS at FROM "keys"."tickets"`},
				{`SELECT number FROM "keys"."tickets_register" WHERE name = 'default'`},
			},
			"draw": {
				{`REPLACE INTO "keys"."tickets" (id, stub, layout) SELECT c.at + 1 + (2 - (c.at + 1) % 3 + 3) % 3, stub, layout FROM "keys"."tickets",` +
					` (SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM "keys".sqlite_sequence WHERE name = 'tickets' COLLATE NOCASE), 0)) AS at FROM "keys"."tickets") AS c` +
					` WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND c.at <= 9223372036854775804`},
			},
			"fence": {
				{`REPLACE INTO "keys"."tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "keys"."tickets"` +
					` WHERE stub = 'default' AND id >= 500 AND layout = '2/3' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "keys"."tickets" AS other` +
					" WHERE other.id >= 9000)"},
			},
			"freeze": {{`UPDATE "keys"."tickets" SET layout = '>2/4' WHERE stub = 'default' AND layout = '2/3'`}},
			"thaw": {
				{`REPLACE INTO "keys"."tickets" (id, stub, layout) SELECT 9000, stub, layout FROM "keys"."tickets"` +
					` WHERE stub = 'default' AND layout = '>2/4' AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "keys"."tickets" AS other` +
					" WHERE other.id >= 9000)"},
				{`UPDATE "keys"."tickets" SET layout = '2/4' WHERE stub = 'default' AND layout = '>2/4'`},
			},
			"tables": {
				{`CREATE TABLE IF NOT EXISTS "keys"."tickets" (id integer` +
					" PRIMARY KEY AUTOINCREMENT, stub varchar(64) NOT NULL UNIQUE, layout varchar(32) NOT NULL)"},
				{`CREATE TABLE IF NOT EXISTS "keys"."tickets_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`},
			},
			"row": {
				{`INSERT INTO "keys"."tickets" (id, stub, layout) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default', '2/3'` +
					` FROM "keys"."tickets"`},
			},
			"after": {{`INSERT INTO "keys"."tickets" (id, stub, layout) VALUES (9000, 'default', '2/3')`}},
			"frozen": {
				{`INSERT INTO "keys"."tickets" (id, stub, layout) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default', '>2/3'` +
					` FROM "keys"."tickets"`},
			},
			"register": {{`INSERT INTO "keys"."tickets_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
	{
		name: "replace, SQLite, 2 of 3, published", kind: replaceSQLite, number: 2, of: 3, bare: true,
		sends: map[string][]sent{
			"draw": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub) SELECT c.at + 1 + (2 - (c.at + 1) % 3 + 3) % 3, stub FROM "main"."snowkey_tickets",` +
					` (SELECT MAX(COALESCE(MAX(id), 0), COALESCE((SELECT seq FROM "main".sqlite_sequence WHERE name = 'snowkey_tickets' COLLATE NOCASE), 0)) AS at FROM "main"."snowkey_tickets") AS c` +
					` WHERE stub = 'default' AND id >= 500 AND c.at <= 9223372036854775804`},
			},
			"fence": {
				{`REPLACE INTO "main"."snowkey_tickets" (id, stub) SELECT 9000, stub FROM "main"."snowkey_tickets"` +
					` WHERE stub = 'default' AND id >= 500 AND id < 9000 AND NOT EXISTS (SELECT 1 FROM "main"."snowkey_tickets" AS other` +
					" WHERE other.id >= 9000)"},
			},
			"row": {
				{`INSERT INTO "main"."snowkey_tickets" (id, stub) SELECT COALESCE(MAX(id), 0) + (COUNT(*) > 0), 'default' FROM "main"."snowkey_tickets"`},
			},
			"after": {{`INSERT INTO "main"."snowkey_tickets" (id, stub) VALUES (9000, 'default')`}},
		},
	},
}
