-- snowkey migrate plan · mode rekey · 25 steps
-- plan: 0
-- made: 2026-11-21T20:00:00Z
-- database: shop (postgres, PostgreSQL 1.2.3, 1)
-- layout: time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z
-- node of the new ids of old rows: 1023, of the key space default in the table snowkey_nodes
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- contents:
--    steps 1–3    expand    keys, and what refers to them, get 64 bits
--    steps 4–7    flip      the database stops making keys; stops at step 4: deploy writers that fill their keys
--    steps 8–15   map       what is there is counted, and each old id gets a new one, in a map
--    step 16      check     what has to be true before the first row changes is looked at
--    steps 17–20  rewrite   keys, and what refers to them, get the new ids, in batches
--    steps 21–23  check     the result is looked at: no old id is left, and no reference is lost
--    steps 24–25  contract  the maps are dropped, after which there is no rollback; stops at step 24: wait until the result was verified
--
-- in all, about: 4,938,268 rows rewritten, 8.6 MB written, 6.2 MB more on disk at the peak
-- longest lock: step 1, give customer_id, id of orders 64 bits (1.2 MB): reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
--
-- keys:
--    customers.id  old below 4,398,046,511,104  new ids have the time of created_at, exact to 1ms  map snowkey_map_customers
--    orders.id     old below 4,398,046,511,104  new ids have the time of created_at, exact to 1ms  map snowkey_map_orders
--
-- references:
--    orders.customer_id  to customers.id  declared  certain
--
-- note 1: Clients with prepared statements may fail once with "cached plan must not change result type" after a type change: recycle the pools.
-- note 2: Rewritten rows are written anew, and the old ones are space to be used again after a VACUUM of the rewritten tables, which autovacuum does in time. VACUUM (ANALYZE) them after the run; only VACUUM FULL or pg_repack gives the space back to the system.

-- == expand · steps 1–3 · keys, and what refers to them, get 64 bits

-- step 1 of 25 · expand · give customer_id, id of orders 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
ALTER TABLE "orders" ALTER COLUMN "customer_id" TYPE bigint, ALTER COLUMN "id" TYPE bigint;
ALTER SEQUENCE "public"."orders_id_seq" AS bigint;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 2 of 25 · expand · give id of customers 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
ALTER TABLE "customers" ALTER COLUMN "id" TYPE bigint;
ALTER SEQUENCE "public"."customers_id_seq" AS bigint;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 3 of 25 · expand · gather statistics of the tables with changed types
-- lock: none
-- about: 1,234,567 rows read
-- in one transaction:
ANALYZE "orders", "customers";
-- undo: none: statistics are gathered at any time

-- == flip · steps 4–7 · the database stops making keys; stops at step 4: deploy writers that fill their keys

-- step 4 of 25 · flip · deploy writers that fill their keys
-- the run ends here: Now deploy the program that fills its keys with snowflakes, and stop every writer that leaves them to the database. Then run on with Continue.

-- step 5 of 25 · flip · make sure that no writer leaves its keys to the database
-- lock: none
-- has to stay the same for 10s, else: Ids below the limit were made meanwhile: a writer is at work that leaves its keys to the database. Stop it, and run again: from the flip on its writes fail.
SELECT CONCAT_WS(' ', (SELECT last_value::text || ' ' || is_called::text FROM public.customers_id_seq), (SELECT last_value::text || ' ' || is_called::text FROM public.orders_id_seq));

-- step 6 of 25 · flip · make customers.id a key that the application fills
-- lock: reads and writes of the table wait for a moment
-- algorithm: catalog only
-- in one transaction:
ALTER TABLE "customers" ALTER COLUMN "id" DROP DEFAULT;
DROP SEQUENCE public.customers_id_seq;
-- undo:
--     in one transaction:
--     CREATE SEQUENCE public.customers_id_seq AS bigint INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;
--     ALTER SEQUENCE public.customers_id_seq OWNER TO postgres;
--     ALTER SEQUENCE public.customers_id_seq OWNED BY "public"."customers"."id";
--     SELECT pg_catalog.setval('public.customers_id_seq'::regclass, 1 + ((GREATEST(COALESCE((SELECT MAX("id") FROM "customers" WHERE "id" < 4398046511104) + 1, 1), 3) - 1 + 1 - 1) / 1) * 1, false);
--     ALTER TABLE "customers" ALTER COLUMN "id" SET DEFAULT nextval('customers_id_seq'::regclass);

-- step 7 of 25 · flip · make orders.id a key that the application fills
-- lock: reads and writes of the table wait for a moment
-- algorithm: catalog only
-- in one transaction:
ALTER TABLE "orders" ALTER COLUMN "id" DROP DEFAULT;
DROP SEQUENCE public.orders_id_seq;
-- undo:
--     in one transaction:
--     CREATE SEQUENCE public.orders_id_seq AS bigint INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;
--     ALTER SEQUENCE public.orders_id_seq OWNER TO postgres;
--     ALTER SEQUENCE public.orders_id_seq OWNED BY "public"."orders"."id";
--     SELECT pg_catalog.setval('public.orders_id_seq'::regclass, 1 + ((GREATEST(COALESCE((SELECT MAX("id") FROM "orders" WHERE "id" < 4398046511104) + 1, 1), 4) - 1 + 1 - 1) / 1) * 1, false);
--     ALTER TABLE "orders" ALTER COLUMN "id" SET DEFAULT nextval('orders_id_seq'::regclass);

-- == map · steps 8–15 · what is there is counted, and each old id gets a new one, in a map

-- step 8 of 25 · map · count the orphans of each reference
-- lock: none
-- about: 1,234,567 rows read
-- the numbers are noted:
-- orphans of orders.customer_id → customers:
SELECT COUNT(*) FROM "orders" c WHERE c."customer_id" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "customers" p WHERE p."id" = c."customer_id");

-- step 9 of 25 · map · count the rows of each table
-- lock: none
-- about: 1,234,567 rows read
-- the numbers are noted:
-- rows of customers:
SELECT COUNT(*) FROM "customers";
-- rows of orders:
SELECT COUNT(*) FROM "orders";

-- step 10 of 25 · map · take the digest of the other columns of customers
-- lock: none
-- about: 1,234,567 rows read
-- the program notes a digest of all that must stay as it is in customers

-- step 11 of 25 · map · take the digest of the other columns of orders
-- lock: none
-- about: 1,234,567 rows read
-- the program notes a digest of all that must stay as it is in orders

-- step 12 of 25 · map · take node 1023 of the key space default for the new ids of old rows
-- lock: none
-- the node is taken in the table of grants, so that no generator gets it
-- undo: none: ids with it may be known elsewhere, so no generator ever gets it

-- step 13 of 25 · map · make the maps of old ids to new ones
-- lock: none
-- algorithm: catalog only
-- in one transaction:
CREATE TABLE "snowkey_map_customers" (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE);
CREATE TABLE "snowkey_map_orders" (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE);
-- undo:
--     in one transaction:
--     DROP TABLE "snowkey_map_customers";
--     DROP TABLE "snowkey_map_orders";

-- step 14 of 25 · map · fill the map of the ids of customers
-- lock: none: only the map is written
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- the program fills the map of customers with a new id for each old one
-- undo: none: it goes with the map

-- step 15 of 25 · map · fill the map of the ids of orders
-- lock: none: only the map is written
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- the program fills the map of orders with a new id for each old one
-- undo: none: it goes with the map

-- == check · step 16 · what has to be true before the first row changes is looked at

-- step 16 of 25 · check · make sure that each old row has a new id, and that no new id is known anywhere yet
-- lock: none
-- about: 1,234,567 rows read
-- each has to be 0, else: Old rows without a new id came while the maps were filled: a writer still makes ids of the old kind, so stop it. New ids that are there already would be two rows' after the rewriting, or give an orphan a row: take another node, or another layout. In each case roll back, and plan again.
-- old rows of customers without a new id:
SELECT COUNT(*) FROM "customers" c WHERE c."id" < 4398046511104 AND NOT EXISTS (SELECT 1 FROM "snowkey_map_customers" m WHERE m.old_id = c."id");
-- new ids of customers that are old ones:
SELECT (SELECT COUNT(*) FROM "snowkey_map_customers" m JOIN "customers" c ON c."id" = m.new_id) + (SELECT COUNT(*) FROM "snowkey_map_customers" m JOIN "snowkey_map_customers" o ON o.old_id = m.new_id);
-- new ids of customers that orders.customer_id has already:
SELECT COUNT(*) FROM "snowkey_map_customers" m JOIN "orders" c ON c."customer_id" = m.new_id;
-- old rows of orders without a new id:
SELECT COUNT(*) FROM "orders" c WHERE c."id" < 4398046511104 AND NOT EXISTS (SELECT 1 FROM "snowkey_map_orders" m WHERE m.old_id = c."id");
-- new ids of orders that are old ones:
SELECT (SELECT COUNT(*) FROM "snowkey_map_orders" m JOIN "orders" c ON c."id" = m.new_id) + (SELECT COUNT(*) FROM "snowkey_map_orders" m JOIN "snowkey_map_orders" o ON o.old_id = m.new_id);

-- == rewrite · steps 17–20 · keys, and what refers to them, get the new ids, in batches

-- step 17 of 25 · rewrite · gather statistics of the maps
-- lock: none
-- about: 1,234,567 rows read
-- in one transaction:
ANALYZE "snowkey_map_customers", "snowkey_map_orders";
-- undo: none: they go with the maps

-- step 18 of 25 · rewrite · index orders.customer_id, for as long as it is rewritten
-- lock: none; it waits for transactions that are open
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_orders_customer_id_2aaeb35e"') AND indisvalid
-- before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_orders_customer_id_2aaeb35e"
CREATE INDEX CONCURRENTLY "snowkey_index_orders_customer_id_2aaeb35e" ON "orders" ("customer_id");
-- undo:
--     is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_orders_customer_id_2aaeb35e"')
--     DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_orders_customer_id_2aaeb35e";

-- step 19 of 25 · rewrite · give the rows of customers, and all that refers to them, their new ids
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
SET default_transaction_isolation = 'read committed';
SET enable_hashjoin=off;
SET enable_mergejoin=off;
SET enable_seqscan=off;
SET jit=off;
SET session_replication_role = replica;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_customers" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
UPDATE "customers" c SET "id" = m.new_id FROM "snowkey_map_customers" m WHERE c."id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
UPDATE "orders" c SET "customer_id" = m.new_id FROM "snowkey_map_customers" m WHERE c."customer_id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
-- undo:
--     on a connection of its own, after the same statements as above
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_customers" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     UPDATE "customers" c SET "id" = m.old_id FROM "snowkey_map_customers" m WHERE c."id" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
--     UPDATE "orders" c SET "customer_id" = m.old_id FROM "snowkey_map_customers" m WHERE c."customer_id" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;

-- step 20 of 25 · rewrite · give the rows of orders, and all that refers to them, their new ids
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
SET default_transaction_isolation = 'read committed';
SET enable_hashjoin=off;
SET enable_mergejoin=off;
SET enable_seqscan=off;
SET jit=off;
SET session_replication_role = replica;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_orders" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
UPDATE "orders" c SET "id" = m.new_id FROM "snowkey_map_orders" m WHERE c."id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
-- undo:
--     on a connection of its own, after the same statements as above
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_orders" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     UPDATE "orders" c SET "id" = m.old_id FROM "snowkey_map_orders" m WHERE c."id" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;

-- == check · steps 21–23 · the result is looked at: no old id is left, and no reference is lost

-- step 21 of 25 · check · make sure that no old id is left
-- lock: none
-- about: 1,234,567 rows read
-- each has to be 0, else: Old ids in a reference were written since it was rewritten: stop who writes them, put them right with the statements above, and run on. Old ids in a key are rows that came with ids that were others' old ones: stop who writes them, give them ids that are new, and run on.
-- old ids of customers in customers.id:
SELECT COUNT(*) FROM "snowkey_map_customers" m JOIN "customers" c ON c."id" = m.old_id;
-- old ids of customers in orders.customer_id:
SELECT COUNT(*) FROM "snowkey_map_customers" m JOIN "orders" c ON c."customer_id" = m.old_id;
--     put right by: UPDATE "orders" c SET "customer_id" = m.new_id FROM "snowkey_map_customers" m WHERE c."customer_id" = m.old_id + 0 AND 1 = 1
-- old ids of orders in orders.id:
SELECT COUNT(*) FROM "snowkey_map_orders" m JOIN "orders" c ON c."id" = m.old_id;

-- step 22 of 25 · check · make sure that there are as many orphans as before
-- lock: none
-- about: 1,234,567 rows read
-- each has to be what the step "count the orphans of each reference" has found for it, else: References that a foreign key guards have not as many values that are keys of no row as before. Look at them before going on; a rollback is possible.
-- orphans of orders.customer_id → customers:
SELECT COUNT(*) FROM "orders" c WHERE c."customer_id" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "customers" p WHERE p."id" = c."customer_id");

-- step 23 of 25 · check · drop the index of orders.customer_id again
-- lock: none for longer than a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_orders_customer_id_2aaeb35e"')
DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_orders_customer_id_2aaeb35e";
-- undo:
--     is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_orders_customer_id_2aaeb35e"') AND indisvalid
--     before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_orders_customer_id_2aaeb35e"
--     CREATE INDEX CONCURRENTLY "snowkey_index_orders_customer_id_2aaeb35e" ON "orders" ("customer_id");

-- == contract · steps 24–25 · the maps are dropped, after which there is no rollback; stops at step 24: wait until the result was verified

-- step 24 of 25 · contract · wait until the result was verified
-- the run ends here: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.

-- step 25 of 25 · contract · drop the maps
-- lock: nobody else uses them
-- algorithm: catalog only
-- in one transaction:
DROP TABLE "snowkey_map_customers", "snowkey_map_orders";
-- undo: none, and no rollback of the plan once this is done. Without the maps nobody knows the old ids.
