-- snowkey migrate plan · mode rekey · 24 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (PostgreSQL 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
-- new ids: of the layout time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z, with node 1023, which is taken in snowkey_nodes (key space
--     default) for all time
--
-- customers.id, orders.id: new ids have the time of created_at, exact to 1ms (guessed by its name; --created TABLE=… to change);
--     old are ids below 4,398,046,511,104
--
--  step                                                                                     table              lock               rows   about
--  1      take node 1023 of the key space default for the new ids of old rows                                  none
--  2–3    give … of … 64 bits                                                               orders, customers  all           2,469,134   ~10 s
--  4      gather statistics of the tables with changed types                                orders, customers  none          1,234,567    ~1 s
--  5      deploy writers that fill their keys                                                                  none
--  6      make sure, for 10s, that no writer leaves its keys to the database                customers, orders  none                      ~10 s
--  7      end the keys that the database makes, of customers.id, orders.id                  customers, orders  all, briefly
--  8      count the orphans of each reference                                               orders             none          1,234,567    ~1 s
--  9      count the rows of each table                                                      customers, orders  none          1,234,567    ~1 s
--  10–11  take the digest of the other columns of …                                         customers, orders  none          2,469,134   ~10 s
--  12     make the maps of old ids to new ones                                                                 none
--  13–14  fill the map of the ids of …                                                      customers, orders  none          2,469,134  ~1 min
--  15     give the maps their primary keys, and gather their statistics                                        none          1,234,567    ~1 s
--  16     make sure that each old row has a new id, and that no new id is known anywhere …  customers, orders  none          1,234,567    ~1 s
--  17     index orders.customer_id, for as long as it is rewritten                          orders             none          1,234,567    ~1 s
--  18–19  give the rows of …, and all that refers to them, their new ids                    customers, orders  rows          2,469,134  ~1 min
--  20     make sure that no old id is left                                                  customers, orders  none          1,234,567    ~1 s
--  21     make sure that there are as many orphans as before                                orders             none          1,234,567    ~1 s
--  22     drop the index of orders.customer_id again                                        orders             none
--  23     wait until the result was verified                                                                   none
--  24     drop the maps                                                                                        none
-- in all: ~10 min, about 4,938,268 rows rewritten, 8.6 MB written, 6.2 MB more on disk at the peak
-- times: no more than their order of magnitude: nothing was measured on this server. Taken are, rows a second: 30,000 in batches, 50,000 into maps,
--     100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted
-- longest lock: step 2, give customer_id, id of orders 64 bits (1.2 MB): reads and writes of the table, and writes of those that foreign keys connect
--     with it, wait for as long as it is written anew
-- lock all: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- lock all, briefly: reads and writes of the tables wait for a moment: all locks are waited for together, for 0.8 seconds at a time, and asked for again
-- lock rows: writers wait for the rows of a batch, for as long as it takes
-- inserts refused: those that leave keys to the database: from step 7 on, for good. Those that fill keys: never, where their writers are deployed at
--     the hold of step 5
-- rollback: undoes what was done, the last step first; there is none once step 24 has begun
--
-- references by foreign keys: orders.customer_id → customers
--
-- note 1: Inserts, and all other reads and writes of a table, wait while it is written anew with wide columns: of customers, the largest, for <1 s (2
--     rows, 32.8 kB). Where that is too long, --mode shadow is the way without: it locks no table for longer than a moment, and gives old rows new ids, too.
-- note 2: Clients with prepared statements may fail once with "cached plan must not change result type" after a type change: recycle the pools.
-- note 3: Rewritten rows are written anew, and the old ones are space to be used again after a VACUUM of the rewritten tables, which autovacuum does in
--     time. VACUUM (ANALYZE) them after the run; only VACUUM FULL or pg_repack gives the space back to the system.

-- == expand · a node is taken for the new ids; keys, and what refers to them, get 64 bits
-- 1 · take node 1023 of the key space default for the new ids of old rows
-- 2–3 · give … of … 64 bits
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."customers"', '"public"."orders"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
ALTER TABLE "orders" ALTER COLUMN "customer_id" TYPE bigint, ALTER COLUMN "id" TYPE bigint;
ALTER SEQUENCE "public"."{1}" AS bigint;
--    {1} = orders_id_seq, customers_id_seq
ALTER TABLE "customers" ALTER COLUMN "id" TYPE bigint;
-- 4 · gather statistics of the tables with changed types
ANALYZE "orders", "customers";

-- == flip · the database stops making keys
-- 5 · deploy writers that fill their keys
--    the run ends here, and run --continue=deploy-writers goes on: Now deploy the program that fills its keys with snowflakes, and stop every writer
--     that leaves them to the database. Until the plan is done, change nothing else in the definitions of its tables. No insert that fills keys is refused.
--     Those that leave keys to the database are, for good, once the run that goes on from here has looked for them for 10s.
-- 6 · make sure, for 10s, that no writer leaves its keys to the database
--    for 10s nothing may change there, else: So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy
--     it as one that fills keys, and run again. From the flip on its inserts fail. pg_stat_activity has the sessions, with the addresses that they come
--     from and their last statements.
-- 7 · end the keys that the database makes, of customers.id, orders.id
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."customers"', '"public"."orders"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
ALTER TABLE "{1}" ALTER COLUMN "id" DROP DEFAULT;
--    {1} = customers, orders
DROP SEQUENCE public.{1};
--    {1} = customers_id_seq, orders_id_seq

-- == map · what is there is counted, and each old id gets a new one, in a map
-- 8 · count the orphans of each reference
--    counts: orphans of orders.customer_id → customers
-- 9 · count the rows of each table
--    counts: rows of … (customers, orders)
-- 10–11 · take the digest of the other columns of …
-- 12 · make the maps of old ids to new ones
CREATE TABLE "snowkey_map_{1}" (old_id BIGINT NOT NULL, new_id BIGINT NOT NULL UNIQUE);
--    {1} = customers, orders
-- 13–14 · fill the map of the ids of …
-- 15 · give the maps their primary keys, and gather their statistics
ALTER TABLE "snowkey_map_{1}" ADD PRIMARY KEY (old_id);
--    {1} = customers, orders
ANALYZE "snowkey_map_customers", "snowkey_map_orders";

-- == check · what has to be true before the first row changes is looked at
-- 16 · make sure that each old row has a new id, and that no new id is known anywhere yet
--    each has to be 0: old rows of … without a new id (customers, orders); new ids of … that are old ones (customers, orders);
--     new ids of customers that orders.customer_id has already

-- == rewrite · keys, and what refers to them, get the new ids, in batches
-- 17 · index orders.customer_id, for as long as it is rewritten
CREATE INDEX CONCURRENTLY "snowkey_index_orders_customer_id_2aaeb35e" ON "orders" ("customer_id");
-- 18–19 · give the rows of …, and all that refers to them, their new ids
UPDATE "{1}" c SET "id" = m.new_id FROM "snowkey_map_{1}" m WHERE c."id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
--    {1} = customers, orders
UPDATE "orders" c SET "customer_id" = m.new_id, "id" = COALESCE((SELECT m.new_id FROM "snowkey_map_orders" m WHERE m.old_id = c."id"), c."id") FROM "snowkey_map_customers" m WHERE c."customer_id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;

-- == check · the result is looked at: no old id is left, and no reference is lost
-- 20 · make sure that no old id is left
--    each has to be 0: old ids of … in … (customers customers.id, customers orders.customer_id, orders orders.id)
-- 21 · make sure that there are as many orphans as before
--    each has to be what it was before: orphans of orders.customer_id → customers
-- 22 · drop the index of orders.customer_id again
DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_orders_customer_id_2aaeb35e";

-- == contract · the maps are dropped, after which there is no rollback
-- 23 · wait until the result was verified
--    the run ends here, and run --continue=drop-maps goes on: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other
--     services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.
-- 24 · drop the maps
DROP TABLE "snowkey_map_customers", "snowkey_map_orders";
--    no rollback once this is done. Without the maps nobody knows the old ids.
