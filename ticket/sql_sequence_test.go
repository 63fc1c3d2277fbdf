package ticket_test

// sequenceStatements are complete for server 2 of 3; of the others there is what differs.
var sequenceStatements = []statements{
	{
		name: "sequence, 2 of 3", kind: sequence, number: 2, of: 3,
		sends: map[string][]sent{
			"inspect": {
				{postgresSettings},
				{"SELECT c.relkind::text, c.relpersistence::text, s.seqstart, s.seqincrement, s.seqmax, s.seqcache, s.seqcycle," +
					" COALESCE(obj_description(c.oid, 'pg_class'), '') FROM pg_class AS c JOIN pg_sequence AS s ON s.seqrelid = c.oid" +
					` WHERE c.oid = to_regclass('"public"."snowkey_tickets.default"')`},
				{`SELECT last_value, is_called FROM "public"."snowkey_tickets.default"`},
				{`SELECT number FROM "public"."snowkey_tickets_register" WHERE name = 'default'`},
			},
			"draw": {{"SELECT id, " + durable + logged + drawn, values("\"public\".\"snowkey_tickets.default\"")}},
			"fence": {
				{locked(`"public"."snowkey_tickets.default"`, `IF last < 9002 AND 3 = (pg_sequence_parameters('"public"."snowkey_tickets.default"'::regclass)).increment AND said NOT LIKE '>%' THEN
				PERFORM setval('"public"."snowkey_tickets.default"', 9002);
			END IF;`)},
			},
			"preflight": {{locked(`"public"."snowkey_tickets.default"`, ``)}},
			"freeze": {
				{locked(`"public"."snowkey_tickets.default"`, `IF said = '2/3' THEN
				last := nextval('"public"."snowkey_tickets.default"'); -- also of one that was never drawn from
				EXECUTE 'ALTER SEQUENCE "public"."snowkey_tickets.default" MAXVALUE ' || last;
				COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '>2/4';
			END IF;`)},
			},
			"thaw": {
				{locked(`"public"."snowkey_tickets.default"`, `IF said = '>2/4' AND last < 9002 THEN
				ALTER SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 4 NO MAXVALUE START WITH 9002 RESTART WITH 9002;
				COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '2/4';
			END IF;`)},
			},
			"tables": {{`CREATE TABLE IF NOT EXISTS "public"."snowkey_tickets_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`}},
			"row": {
				{`CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 3 MINVALUE 0 START WITH 2`},
				{`COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '2/3'`},
			},
			"after": {
				{`CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 3 MINVALUE 0 START WITH 9002`},
				{`COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '2/3'`},
			},
			"frozen": {
				{`CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 3 MINVALUE 0 START WITH 2`},
				{`COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '>2/3'`},
				{`SELECT nextval('"public"."snowkey_tickets.default"')`},
				{`ALTER SEQUENCE "public"."snowkey_tickets.default" MAXVALUE 2`},
			},
			"register": {{`INSERT INTO "public"."snowkey_tickets_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
	{
		name: "sequence, 1 of 1", kind: sequence, number: 1, of: 1,
		sends: map[string][]sent{
			"fence": {
				{locked(`"public"."snowkey_tickets.default"`, `IF last < 9001 AND 1 = (pg_sequence_parameters('"public"."snowkey_tickets.default"'::regclass)).increment AND said NOT LIKE '>%' THEN
				PERFORM setval('"public"."snowkey_tickets.default"', 9001);
			END IF;`)},
			},
			"freeze": {
				{locked(`"public"."snowkey_tickets.default"`, `IF said = '1/1' THEN
				last := nextval('"public"."snowkey_tickets.default"'); -- also of one that was never drawn from
				EXECUTE 'ALTER SEQUENCE "public"."snowkey_tickets.default" MAXVALUE ' || last;
				COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '>1/2';
			END IF;`)},
			},
			"thaw": {
				{locked(`"public"."snowkey_tickets.default"`, `IF said = '>1/2' AND last < 9001 THEN
				ALTER SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 2 NO MAXVALUE START WITH 9001 RESTART WITH 9001;
				COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '1/2';
			END IF;`)},
			},
			"row": {
				{`CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 1 MINVALUE 0 START WITH 1`},
				{`COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '1/1'`},
			},
			"after": {
				{`CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 1 MINVALUE 0 START WITH 9001`},
				{`COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '1/1'`},
			},
			"frozen": {
				{`CREATE SEQUENCE "public"."snowkey_tickets.default" INCREMENT BY 1 MINVALUE 0 START WITH 1`},
				{`COMMENT ON SEQUENCE "public"."snowkey_tickets.default" IS '>1/1'`},
				{`SELECT nextval('"public"."snowkey_tickets.default"')`},
				{`ALTER SEQUENCE "public"."snowkey_tickets.default" MAXVALUE 1`},
			},
		},
	},
	{
		name: "sequence, 2 of 3, unsafe", kind: sequence, number: 2, of: 3, unsafe: true,
		sends: map[string][]sent{
			"draw": {{"SELECT id" + drawn, values("\"public\".\"snowkey_tickets.default\"")}},
		},
	},
	{
		name: "sequence, 2 of 3, with a schema", kind: sequence, number: 2, of: 3, table: "keys.tickets",
		sends: map[string][]sent{
			"inspect": {
				{postgresSettings},
				{"SELECT c.relkind::text, c.relpersistence::text, s.seqstart, s.seqincrement, s.seqmax, s.seqcache, s.seqcycle," +
					" COALESCE(obj_description(c.oid, 'pg_class'), '') FROM pg_class AS c JOIN pg_sequence AS s ON s.seqrelid = c.oid" +
					` WHERE c.oid = to_regclass('"keys"."tickets.default"')`},
				{`SELECT last_value, is_called FROM "keys"."tickets.default"`},
				{`SELECT number FROM "keys"."tickets_register" WHERE name = 'default'`},
			},
			"draw": {{"SELECT id, " + durable + logged + drawn, values("\"keys\".\"tickets.default\"")}},
			"fence": {
				{locked(`"keys"."tickets.default"`, `IF last < 9002 AND 3 = (pg_sequence_parameters('"keys"."tickets.default"'::regclass)).increment AND said NOT LIKE '>%' THEN
				PERFORM setval('"keys"."tickets.default"', 9002);
			END IF;`)},
			},
			"preflight": {{locked(`"keys"."tickets.default"`, ``)}},
			"freeze": {
				{locked(`"keys"."tickets.default"`, `IF said = '2/3' THEN
				last := nextval('"keys"."tickets.default"'); -- also of one that was never drawn from
				EXECUTE 'ALTER SEQUENCE "keys"."tickets.default" MAXVALUE ' || last;
				COMMENT ON SEQUENCE "keys"."tickets.default" IS '>2/4';
			END IF;`)},
			},
			"thaw": {
				{locked(`"keys"."tickets.default"`, `IF said = '>2/4' AND last < 9002 THEN
				ALTER SEQUENCE "keys"."tickets.default" INCREMENT BY 4 NO MAXVALUE START WITH 9002 RESTART WITH 9002;
				COMMENT ON SEQUENCE "keys"."tickets.default" IS '2/4';
			END IF;`)},
			},
			"tables": {{`CREATE TABLE IF NOT EXISTS "keys"."tickets_register" (name varchar(64) NOT NULL, number bigint NOT NULL, PRIMARY KEY (name, number))`}},
			"row": {
				{`CREATE SEQUENCE "keys"."tickets.default" INCREMENT BY 3 MINVALUE 0 START WITH 2`},
				{`COMMENT ON SEQUENCE "keys"."tickets.default" IS '2/3'`},
			},
			"after": {
				{`CREATE SEQUENCE "keys"."tickets.default" INCREMENT BY 3 MINVALUE 0 START WITH 9002`},
				{`COMMENT ON SEQUENCE "keys"."tickets.default" IS '2/3'`},
			},
			"frozen": {
				{`CREATE SEQUENCE "keys"."tickets.default" INCREMENT BY 3 MINVALUE 0 START WITH 2`},
				{`COMMENT ON SEQUENCE "keys"."tickets.default" IS '>2/3'`},
				{`SELECT nextval('"keys"."tickets.default"')`},
				{`ALTER SEQUENCE "keys"."tickets.default" MAXVALUE 2`},
			},
			"register": {{`INSERT INTO "keys"."tickets_register" (name, number) VALUES ('default', 2) ON CONFLICT DO NOTHING`}},
		},
	},
}
