package ticket_test

// blockMySQLStatements are complete for server 2 of 3; of the others there is what differs.
var blockMySQLStatements = []statements{
	{
		name: "block, MySQL, 2 of 3", kind: blockMySQL, number: 2, of: 3,
		sends: map[string][]sent{
			"inspect": {
				{mysqlSettings},
				{"SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE LIKE '%unsigned%', COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)" +
					" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'snowkey_blocks'"},
				{"SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'snowkey_blocks'"},
				{"SELECT next, COALESCE(layout, '') FROM `app`.`snowkey_blocks` WHERE name = 'default'"},
				{"SELECT number FROM `app`.`snowkey_blocks_register` WHERE name = 'default'"},
			},
			"draw": {
				{"UPDATE `app`.`snowkey_blocks` SET next = LAST_INSERT_ID(GREATEST(next, 9101) + 1500)" +
					" WHERE name = 'default' AND layout = '2/3x100' AND next BETWEEN 501 AND 9223372036854774307 AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */" +
					" AND @@innodb_flush_log_at_trx_commit IN (1, 3)"},
			},
			"freeze": {{"UPDATE `app`.`snowkey_blocks` SET layout = '>2/4x100' WHERE name = 'default' AND layout = '2/3x100'"}},
			"thaw":   {{"UPDATE `app`.`snowkey_blocks` SET next = 9301, layout = '2/4x100' WHERE name = 'default' AND layout = '>2/4x100' AND next <= 9301"}},
			"tables": {
				{"CREATE TABLE IF NOT EXISTS `app`.`snowkey_blocks` (name varchar(64) NOT NULL PRIMARY KEY, next bigint NOT NULL," +
					" layout varchar(32) NOT NULL) ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
				{"CREATE TABLE IF NOT EXISTS `app`.`snowkey_blocks_register` (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))" +
					" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
			},
			"row":      {{"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 101, '2/3x100')"}},
			"after":    {{"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 9101, '2/3x100')"}},
			"frozen":   {{"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 101, '>2/3x100')"}},
			"register": {{"INSERT IGNORE INTO `app`.`snowkey_blocks_register` (name, number) VALUES ('default', 2)"}},
		},
	},
	{
		name: "block, MySQL, 1 of 1", kind: blockMySQL, number: 1, of: 1,
		sends: map[string][]sent{
			"draw": {
				{"UPDATE `app`.`snowkey_blocks` SET next = LAST_INSERT_ID(GREATEST(next, 9001) + 500)" +
					" WHERE name = 'default' AND layout = '1/1x100' AND next BETWEEN 501 AND 9223372036854775307 AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */" +
					" AND @@innodb_flush_log_at_trx_commit IN (1, 3)"},
			},
			"freeze": {{"UPDATE `app`.`snowkey_blocks` SET layout = '>1/2x100' WHERE name = 'default' AND layout = '1/1x100'"}},
			"thaw":   {{"UPDATE `app`.`snowkey_blocks` SET next = 9001, layout = '1/2x100' WHERE name = 'default' AND layout = '>1/2x100' AND next <= 9001"}},
			"row":    {{"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 1, '1/1x100')"}},
			"after":  {{"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 9001, '1/1x100')"}},
			"frozen": {{"INSERT INTO `app`.`snowkey_blocks` (name, next, layout) VALUES ('default', 1, '>1/1x100')"}},
		},
	},
	{
		name: "block, MySQL, 2 of 3, unsafe", kind: blockMySQL, number: 2, of: 3, unsafe: true,
		sends: map[string][]sent{
			"draw": {
				{"UPDATE `app`.`snowkey_blocks` SET next = LAST_INSERT_ID(GREATEST(next, 9101) + 1500)" +
					" WHERE name = 'default' AND layout = '2/3x100' AND next BETWEEN 501 AND 9223372036854774307 AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */"},
			},
		},
	},
	{
		name: "block, MySQL, 2 of 3, with a schema", kind: blockMySQL, number: 2, of: 3, table: "keys.blocks",
		sends: map[string][]sent{
			"inspect": {
				{mysqlSettings},
				{"SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE LIKE '%unsigned%', COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)" +
					" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'keys' AND TABLE_NAME = 'blocks'"},
				{"SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'keys' AND TABLE_NAME = 'blocks'"},
				{"SELECT next, COALESCE(layout, '') FROM `keys`.`blocks` WHERE name = 'default'"},
				{"SELECT number FROM `keys`.`blocks_register` WHERE name = 'default'"},
			},
			"draw": {
				{"UPDATE `keys`.`blocks` SET next = LAST_INSERT_ID(GREATEST(next, 9101) + 1500)" +
					" WHERE name = 'default' AND layout = '2/3x100' AND next BETWEEN 501 AND 9223372036854774307 AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */" +
					" AND @@innodb_flush_log_at_trx_commit IN (1, 3)"},
			},
			"freeze": {{"UPDATE `keys`.`blocks` SET layout = '>2/4x100' WHERE name = 'default' AND layout = '2/3x100'"}},
			"thaw":   {{"UPDATE `keys`.`blocks` SET next = 9301, layout = '2/4x100' WHERE name = 'default' AND layout = '>2/4x100' AND next <= 9301"}},
			"tables": {
				{"CREATE TABLE IF NOT EXISTS `keys`.`blocks` (name varchar(64) NOT NULL PRIMARY KEY, next bigint NOT NULL," +
					" layout varchar(32) NOT NULL) ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
				{"CREATE TABLE IF NOT EXISTS `keys`.`blocks_register` (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))" +
					" ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin"},
			},
			"row":      {{"INSERT INTO `keys`.`blocks` (name, next, layout) VALUES ('default', 101, '2/3x100')"}},
			"after":    {{"INSERT INTO `keys`.`blocks` (name, next, layout) VALUES ('default', 9101, '2/3x100')"}},
			"frozen":   {{"INSERT INTO `keys`.`blocks` (name, next, layout) VALUES ('default', 101, '>2/3x100')"}},
			"register": {{"INSERT IGNORE INTO `keys`.`blocks_register` (name, number) VALUES ('default', 2)"}},
		},
	},
}

// blockPostgresStatements are complete for server 2 of 3; of the others there is what differs.
var blockPostgresStatements = []statements{
	{
		name: "block, PostgreSQL, 2 of 3", kind: blockPostgres, number: 2, of: 3,
		sends: map[string][]sent{
			"inspect": {
				{postgresSettings},
				{"SELECT attname, format_type(atttypid, NULL), false, CASE WHEN atttypmod > 4 THEN atttypmod - 4 ELSE 0 END" +
					` FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid = to_regclass('"public"."snowkey_blocks"')`},
				{`SELECT c.relpersistence::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname = 'snowkey_blocks'`},
				{`SELECT next, COALESCE(layout, '') FROM "public"."snowkey_blocks" WHERE name = 'default'`},
				{`SELECT number FROM "public"."snowkey_blocks_register" WHERE name = 'default'`},
			},
			"draw": {
				{`UPDATE "public"."snowkey_blocks" SET next = GREATEST(next, $1) + $2 WHERE name = $3 AND layout = $4` +
					" AND next BETWEEN $5 AND $6 RETURNING next, " + durable, values(9101, 1500, "default", "2/3x100", 501, 9223372036854774307)},
			},
			"freeze": {{`UPDATE "public"."snowkey_blocks" SET layout = '>2/4x100' WHERE name = 'default' AND layout = '2/3x100' RETURNING ` + durable}},
			"thaw": {
				{`UPDATE "public"."snowkey_blocks" SET next = 9301, layout = '2/4x100' WHERE name = 'default' AND layout = '>2/4x100' AND next <= 9301 RETURNING ` + durable},
			},
			"tables": {
				{`CREATE TABLE IF NOT EXISTS "public"."snowkey_blocks" (name varchar(64) COLLATE "C" NOT NULL` +
					` PRIMARY KEY, next bigint NOT NULL, layout varchar(32) COLLATE "C" NOT NULL)`},
				{`CREATE TABLE IF NOT EXISTS "public"."snowkey_blocks_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`},
			},
			"row":      {{`INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', 101, '2/3x100')`}},
			"after":    {{`INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', 9101, '2/3x100')`}},
			"frozen":   {{`INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', 101, '>2/3x100')`}},
			"register": {{`INSERT INTO "public"."snowkey_blocks_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
	{
		name: "block, PostgreSQL, 1 of 1", kind: blockPostgres, number: 1, of: 1,
		sends: map[string][]sent{
			"draw": {
				{`UPDATE "public"."snowkey_blocks" SET next = GREATEST(next, $1) + $2 WHERE name = $3 AND layout = $4` +
					" AND next BETWEEN $5 AND $6 RETURNING next, " + durable, values(9001, 500, "default", "1/1x100", 501, 9223372036854775307)},
			},
			"freeze": {{`UPDATE "public"."snowkey_blocks" SET layout = '>1/2x100' WHERE name = 'default' AND layout = '1/1x100' RETURNING ` + durable}},
			"thaw": {
				{`UPDATE "public"."snowkey_blocks" SET next = 9001, layout = '1/2x100' WHERE name = 'default' AND layout = '>1/2x100' AND next <= 9001 RETURNING ` + durable},
			},
			"row":    {{`INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', 1, '1/1x100')`}},
			"after":  {{`INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', 9001, '1/1x100')`}},
			"frozen": {{`INSERT INTO "public"."snowkey_blocks" (name, next, layout) VALUES ('default', 1, '>1/1x100')`}},
		},
	},
	{
		name: "block, PostgreSQL, 2 of 3, unsafe", kind: blockPostgres, number: 2, of: 3, unsafe: true,
		sends: map[string][]sent{
			"draw": {
				{`UPDATE "public"."snowkey_blocks" SET next = GREATEST(next, $1) + $2 WHERE name = $3 AND layout = $4` +
					" AND next BETWEEN $5 AND $6 RETURNING next", values(9101, 1500, "default", "2/3x100", 501, 9223372036854774307)},
			},
		},
	},
	{
		name: "block, PostgreSQL, 2 of 3, with a schema", kind: blockPostgres, number: 2, of: 3, table: "keys.blocks",
		sends: map[string][]sent{
			"inspect": {
				{postgresSettings},
				{"SELECT attname, format_type(atttypid, NULL), false, CASE WHEN atttypmod > 4 THEN atttypmod - 4 ELSE 0 END" +
					` FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid = to_regclass('"keys"."blocks"')`},
				{`SELECT c.relpersistence::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'keys' AND c.relname = 'blocks'`},
				{`SELECT next, COALESCE(layout, '') FROM "keys"."blocks" WHERE name = 'default'`},
				{`SELECT number FROM "keys"."blocks_register" WHERE name = 'default'`},
			},
			"draw": {
				{`UPDATE "keys"."blocks" SET next = GREATEST(next, $1) + $2 WHERE name = $3 AND layout = $4` +
					" AND next BETWEEN $5 AND $6 RETURNING next, " + durable, values(9101, 1500, "default", "2/3x100", 501, 9223372036854774307)},
			},
			"freeze": {{`UPDATE "keys"."blocks" SET layout = '>2/4x100' WHERE name = 'default' AND layout = '2/3x100' RETURNING ` + durable}},
			"thaw": {
				{`UPDATE "keys"."blocks" SET next = 9301, layout = '2/4x100' WHERE name = 'default' AND layout = '>2/4x100' AND next <= 9301 RETURNING ` + durable},
			},
			"tables": {
				{`CREATE TABLE IF NOT EXISTS "keys"."blocks" (name varchar(64) COLLATE "C" NOT NULL` +
					` PRIMARY KEY, next bigint NOT NULL, layout varchar(32) COLLATE "C" NOT NULL)`},
				{`CREATE TABLE IF NOT EXISTS "keys"."blocks_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`},
			},
			"row":      {{`INSERT INTO "keys"."blocks" (name, next, layout) VALUES ('default', 101, '2/3x100')`}},
			"after":    {{`INSERT INTO "keys"."blocks" (name, next, layout) VALUES ('default', 9101, '2/3x100')`}},
			"frozen":   {{`INSERT INTO "keys"."blocks" (name, next, layout) VALUES ('default', 101, '>2/3x100')`}},
			"register": {{`INSERT INTO "keys"."blocks_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
}

// blockSQLiteStatements are complete for server 2 of 3; of the others there is what differs.
var blockSQLiteStatements = []statements{
	{
		name: "block, SQLite, 2 of 3", kind: blockSQLite, number: 2, of: 3,
		sends: map[string][]sent{
			"inspect": {
				{`PRAGMA "main".synchronous`},
				{`PRAGMA "main".journal_mode`},
				{`PRAGMA "main".query_only`},
				{"SELECT file FROM pragma_database_list WHERE name = ?", values("main")},
				{"SELECT name, type, 0, 0 FROM pragma_table_info('snowkey_blocks', 'main')"},
				{`SELECT next, COALESCE(layout, '') FROM "main"."snowkey_blocks" WHERE name = 'default'`},
				{`SELECT number FROM "main"."snowkey_blocks_register" WHERE name = 'default'`},
			},
			"draw": {
				{`UPDATE "main"."snowkey_blocks" SET next = MAX(next, ?) + ? WHERE name = ? AND layout = ? AND next BETWEEN ? AND ? RETURNING next`, values(9101, 1500, "default", "2/3x100", 501, 9223372036854774307)},
			},
			"freeze": {{`UPDATE "main"."snowkey_blocks" SET layout = '>2/4x100' WHERE name = 'default' AND layout = '2/3x100'`}},
			"thaw":   {{`UPDATE "main"."snowkey_blocks" SET next = 9301, layout = '2/4x100' WHERE name = 'default' AND layout = '>2/4x100' AND next <= 9301`}},
			"tables": {
				{`CREATE TABLE IF NOT EXISTS "main"."snowkey_blocks" (name varchar(64) NOT NULL PRIMARY KEY, next bigint NOT NULL,` +
					" layout varchar(32) NOT NULL)"},
				{`CREATE TABLE IF NOT EXISTS "main"."snowkey_blocks_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`},
			},
			"row":      {{`INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', 101, '2/3x100')`}},
			"after":    {{`INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', 9101, '2/3x100')`}},
			"frozen":   {{`INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', 101, '>2/3x100')`}},
			"register": {{`INSERT INTO "main"."snowkey_blocks_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
	{
		name: "block, SQLite, 1 of 1", kind: blockSQLite, number: 1, of: 1,
		sends: map[string][]sent{
			"draw": {
				{`UPDATE "main"."snowkey_blocks" SET next = MAX(next, ?) + ? WHERE name = ? AND layout = ? AND next BETWEEN ? AND ? RETURNING next`, values(9001, 500, "default", "1/1x100", 501, 9223372036854775307)},
			},
			"freeze": {{`UPDATE "main"."snowkey_blocks" SET layout = '>1/2x100' WHERE name = 'default' AND layout = '1/1x100'`}},
			"thaw":   {{`UPDATE "main"."snowkey_blocks" SET next = 9001, layout = '1/2x100' WHERE name = 'default' AND layout = '>1/2x100' AND next <= 9001`}},
			"row":    {{`INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', 1, '1/1x100')`}},
			"after":  {{`INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', 9001, '1/1x100')`}},
			"frozen": {{`INSERT INTO "main"."snowkey_blocks" (name, next, layout) VALUES ('default', 1, '>1/1x100')`}},
		},
	},
	{
		name: "block, SQLite, 2 of 3, unsafe", kind: blockSQLite, number: 2, of: 3, unsafe: true,
		sends: map[string][]sent{},
	},
	{
		name: "block, SQLite, 2 of 3, with a schema", kind: blockSQLite, number: 2, of: 3, table: "keys.blocks",
		sends: map[string][]sent{
			"inspect": {
				{`PRAGMA "keys".synchronous`},
				{`PRAGMA "keys".journal_mode`},
				{`PRAGMA "keys".query_only`},
				{"SELECT file FROM pragma_database_list WHERE name = ?", values("keys")},
				{"SELECT name, type, 0, 0 FROM pragma_table_info('blocks', 'keys')"},
				{`SELECT next, COALESCE(layout, '') FROM "keys"."blocks" WHERE name = 'default'`},
				{`SELECT number FROM "keys"."blocks_register" WHERE name = 'default'`},
			},
			"draw": {
				{`UPDATE "keys"."blocks" SET next = MAX(next, ?) + ? WHERE name = ? AND layout = ? AND next BETWEEN ? AND ? RETURNING next`, values(9101, 1500, "default", "2/3x100", 501, 9223372036854774307)},
			},
			"freeze": {{`UPDATE "keys"."blocks" SET layout = '>2/4x100' WHERE name = 'default' AND layout = '2/3x100'`}},
			"thaw":   {{`UPDATE "keys"."blocks" SET next = 9301, layout = '2/4x100' WHERE name = 'default' AND layout = '>2/4x100' AND next <= 9301`}},
			"tables": {
				{`CREATE TABLE IF NOT EXISTS "keys"."blocks" (name varchar(64) NOT NULL PRIMARY KEY, next bigint NOT NULL,` +
					" layout varchar(32) NOT NULL)"},
				{`CREATE TABLE IF NOT EXISTS "keys"."blocks_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`},
			},
			"row":      {{`INSERT INTO "keys"."blocks" (name, next, layout) VALUES ('default', 101, '2/3x100')`}},
			"after":    {{`INSERT INTO "keys"."blocks" (name, next, layout) VALUES ('default', 9101, '2/3x100')`}},
			"frozen":   {{`INSERT INTO "keys"."blocks" (name, next, layout) VALUES ('default', 101, '>2/3x100')`}},
			"register": {{`INSERT INTO "keys"."blocks_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
}
