-- snowkey migrate plan · mode widen · 10 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (PostgreSQL 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- "Or""der s".Id, customers.id, events.id: old rows keep their ids; old are ids below 4,398,046,511,104
--
--  step                                                                                    table                   lock               rows  about
--  1     give customer_id of parts 64 bits                                                 parts                   all           1,234,567  ~10 s
--  2     give customer_id of events 64 bits                                                events                  all           1,234,567  ~10 s
--  3     give boss_id, id of customers 64 bits                                             customers               all           1,234,567  ~10 s
--  4     give customer_id, Id of "Or""der s" 64 bits                                       "Or""der s"             all           1,234,567  ~10 s
--  5     give order_id of lines 64 bits                                                    lines                   all           1,234,567  ~10 s
--  6     gather statistics of the tables with changed types                                parts and 4 more        none          1,234,567   ~1 s
--  7     let "Or""der s".Id be given                                                       "Or""der s"             all, briefly
--  8     deploy writers that fill their keys                                                                       none
--  9     make sure, for 10s, that no writer leaves its keys to the database                "Or""der s" and 2 more  none                     ~10 s
--  10    end the keys that the database makes, of "Or""der s".Id, customers.id, events.id  "Or""der s" and 2 more  all, briefly
-- in all: ~1 min, about 6,172,835 rows rewritten, 6.2 MB written, 1.2 MB more on disk at the peak
-- times: no more than their order of magnitude: nothing was measured on this server. Taken are, rows a second: 30,000 in batches, 50,000 into maps,
--     100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted
-- longest lock: step 1, give customer_id of parts 64 bits (1.2 MB): reads and writes of the table, and writes of those that foreign keys connect with
--     it, wait for as long as it is written anew
-- lock all: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- lock all, briefly: reads and writes of the table wait for a moment; or reads and writes of the tables wait for a moment: all locks are waited for
--     together, for 0.8 seconds at a time, and asked for again
-- inserts refused: those that leave keys to the database: from step 10 on, for good. Those that fill keys: never, where their writers are deployed at
--     the hold of step 8
-- rollback: undoes what was done, the last step first
--
-- references by foreign keys: lines.order_id → "Or""der s", "Or""der s".customer_id → customers, customers.boss_id → customers, events.customer_id →
--     customers, parts.customer_id → customers
--
-- note 1: lines.n keeps its 32 bits, and goes on as it is: the key of lines is order_id, n, and a plan changes keys of one column.
-- note 2: Inserts, and all other reads and writes of a table, wait while it is written anew with wide columns: of events, the largest, for <1 s
--     (unknown rows, 41.0 kB). Where that is too long, --mode shadow is the way without: it locks no table for longer than a moment, and gives old rows new
--     ids, too.
-- note 3: Clients with prepared statements may fail once with "cached plan must not change result type" after a type change: recycle the pools.

-- == expand · keys, and what refers to them, get 64 bits
-- 1 · give customer_id of parts 64 bits
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."customers"', '"public"."parts"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
DROP VIEW public.day_parts;
ALTER TABLE "parts" ALTER COLUMN "customer_id" TYPE bigint;
CREATE VIEW public.day_parts AS
 SELECT parts_2026.customer_id
   FROM public.parts_2026;
ALTER VIEW public.day_parts OWNER TO owner;
-- 2 · give customer_id of events 64 bits
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."customers"', '"public"."events"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
ALTER TABLE "events" ALTER COLUMN "customer_id" TYPE bigint;
-- 3 · give boss_id, id of customers 64 bits
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."Or""der s"', '"public"."customers"', '"public"."events"', '"public"."parts"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
DROP VIEW public.{1};
--    {1} = boss_orders, bosses
ALTER TABLE "customers" ALTER COLUMN "boss_id" TYPE bigint, ALTER COLUMN "id" TYPE bigint;
ALTER SEQUENCE "public"."customers_id_seq" AS bigint;
CREATE VIEW public.bosses WITH (security_barrier=true, check_option=local) AS
 SELECT customers.id,
    customers.email AS "E mail"
   FROM public.customers
  WHERE (customers.boss_id IS NULL);
ALTER VIEW public.{1} OWNER TO owner;
--    {1} = bosses, boss_orders
REVOKE ALL ON public.bosses FROM postgres;
GRANT INSERT ON public.bosses TO postgres;
GRANT SELECT ON public.bosses TO postgres;
GRANT UPDATE ON public.bosses TO postgres;
GRANT DELETE ON public.bosses TO postgres;
GRANT TRUNCATE ON public.bosses TO postgres;
GRANT REFERENCES ON public.bosses TO postgres;
GRANT TRIGGER ON public.bosses TO postgres;
GRANT SELECT ON public.bosses TO PUBLIC;
COMMENT ON VIEW public.bosses IS 'those at the top; it''s';
COMMENT ON COLUMN public.bosses."E mail" IS E'C:\\mail';
ALTER VIEW public.bosses ALTER COLUMN "E mail" SET DEFAULT 'none'::character varying;
CREATE VIEW public.boss_orders AS
 SELECT b.id,
    o."Id" AS order_id
   FROM (public.bosses b
     JOIN public."Or""der s" o ON ((o.customer_id = b.id)));
CREATE RULE nothing AS
    ON UPDATE TO public.boss_orders DO INSTEAD NOTHING;
CREATE TRIGGER instead INSTEAD OF DELETE ON public.boss_orders FOR EACH ROW EXECUTE FUNCTION public.boss_insert();
-- 4 · give customer_id, Id of "Or""der s" 64 bits
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."Or""der s"', '"public"."customers"', '"public"."lines"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
DROP VIEW public.boss_orders;
ALTER TABLE "Or""der s" ALTER COLUMN "customer_id" TYPE bigint, ALTER COLUMN "Id" TYPE bigint;
CREATE VIEW public.boss_orders AS
 SELECT b.id,
    o."Id" AS order_id
   FROM (public.bosses b
     JOIN public."Or""der s" o ON ((o.customer_id = b.id)));
ALTER VIEW public.boss_orders OWNER TO owner;
CREATE RULE nothing AS
    ON UPDATE TO public.boss_orders DO INSTEAD NOTHING;
CREATE TRIGGER instead INSTEAD OF DELETE ON public.boss_orders FOR EACH ROW EXECUTE FUNCTION public.boss_insert();
-- 5 · give order_id of lines 64 bits
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."Or""der s"', '"public"."lines"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
ALTER TABLE "lines" ALTER COLUMN "order_id" TYPE bigint;
-- 6 · gather statistics of the tables with changed types
ANALYZE "parts", "events", "customers", "Or""der s", "lines";
-- 7 · let "Or""der s".Id be given
ALTER TABLE "Or""der s" ALTER COLUMN "Id" SET GENERATED BY DEFAULT;

-- == flip · the database stops making keys
-- 8 · deploy writers that fill their keys
--    the run ends here, and run --continue=deploy-writers goes on: Now deploy the program that fills its keys with snowflakes, and stop every writer
--     that leaves them to the database. Until the plan is done, change nothing else in the definitions of its tables. No insert that fills keys is refused.
--     Those that leave keys to the database are, for good, once the run that goes on from here has looked for them for 10s.
-- 9 · make sure, for 10s, that no writer leaves its keys to the database
--    for 10s nothing may change there, else: So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy
--     it as one that fills keys, and run again. From the flip on its inserts fail. pg_stat_activity has the sessions, with the addresses that they come
--     from and their last statements.
-- 10 · end the keys that the database makes, of "Or""der s".Id, customers.id, events.id
DO $snowkey$ DECLARE t text; ends timestamptz := clock_timestamp() + interval '800 ms'; BEGIN FOREACH t IN ARRAY ARRAY['"public"."Or""der s"', '"public"."customers"', '"public"."events"'] LOOP PERFORM set_config('lock_timeout', greatest(1, ceil(1000 * extract(epoch FROM ends - clock_timestamp())))::int || 'ms', true); EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; END $snowkey$;
SET LOCAL lock_timeout = '800ms';
ALTER TABLE "{1}" ALTER COLUMN "{2}" DROP IDENTITY;
--    {1} {2} = "Or\"\"der s" Id; events id
ALTER TABLE "customers" ALTER COLUMN "id" DROP DEFAULT;
DROP SEQUENCE public.customers_id_seq;
