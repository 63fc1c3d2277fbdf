-- snowkey migrate plan · mode widen · 12 steps
-- plan: 0
-- made: 2026-11-21T20:00:00Z
-- database: shop (postgres, PostgreSQL 1.2.3, 1)
-- layout: time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- contents:
--    steps 1–7   expand  keys, and what refers to them, get 64 bits
--    steps 8–12  flip    the database stops making keys; stops at step 8: deploy writers that fill their keys
--
-- in all, about: 6,172,835 rows rewritten, 6.2 MB written, 1.2 MB more on disk at the peak
-- longest lock: step 1, give customer_id of parts 64 bits (1.2 MB): reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
--
-- keys:
--    "Or""der s".Id  old below 4,398,046,511,104  keeps its ids
--    customers.id    old below 4,398,046,511,104  keeps its ids
--    events.id       old below 4,398,046,511,104  keeps its ids
--
-- references:
--    lines.order_id           to "Or""der s".Id  declared  certain
--    "Or""der s".customer_id  to customers.id    declared  certain
--    customers.boss_id        to customers.id    declared  certain
--    events.customer_id       to customers.id    declared  certain
--    parts.customer_id        to customers.id    declared  certain
--
-- note 1: Clients with prepared statements may fail once with "cached plan must not change result type" after a type change: recycle the pools.

-- == expand · steps 1–7 · keys, and what refers to them, get 64 bits

-- step 1 of 12 · expand · give customer_id of parts 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
DROP VIEW public.day_parts;
ALTER TABLE "parts" ALTER COLUMN "customer_id" TYPE bigint;
CREATE VIEW public.day_parts AS
 SELECT parts_2026.customer_id
   FROM public.parts_2026;
ALTER VIEW public.day_parts OWNER TO owner;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 2 of 12 · expand · give customer_id of events 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
ALTER TABLE "events" ALTER COLUMN "customer_id" TYPE bigint;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 3 of 12 · expand · give boss_id, id of customers 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
DROP VIEW public.boss_orders;
DROP VIEW public.bosses;
ALTER TABLE "customers" ALTER COLUMN "boss_id" TYPE bigint, ALTER COLUMN "id" TYPE bigint;
ALTER SEQUENCE "public"."customers_id_seq" AS bigint;
CREATE VIEW public.bosses WITH (security_barrier=true, check_option=local) AS
 SELECT customers.id,
    customers.email AS "E mail"
   FROM public.customers
  WHERE (customers.boss_id IS NULL);
ALTER VIEW public.bosses OWNER TO owner;
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
ALTER VIEW public.boss_orders OWNER TO owner;
CREATE RULE nothing AS
    ON UPDATE TO public.boss_orders DO INSTEAD NOTHING;
CREATE TRIGGER instead INSTEAD OF DELETE ON public.boss_orders FOR EACH ROW EXECUTE FUNCTION public.boss_insert();
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 4 of 12 · expand · give customer_id, Id of "Or""der s" 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
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
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 5 of 12 · expand · give order_id of lines 64 bits
-- lock: reads and writes of the table, and writes of those that foreign keys connect with it, wait for as long as it is written anew
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- in one transaction:
ALTER TABLE "lines" ALTER COLUMN "order_id" TYPE bigint;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 6 of 12 · expand · gather statistics of the tables with changed types
-- lock: none
-- about: 1,234,567 rows read
-- in one transaction:
ANALYZE "parts", "events", "customers", "Or""der s", "lines";
-- undo: none: statistics are gathered at any time

-- step 7 of 12 · expand · let "Or""der s".Id be given
-- lock: reads and writes of the table wait for a moment
-- algorithm: catalog only
-- in one transaction:
ALTER TABLE "Or""der s" ALTER COLUMN "Id" SET GENERATED BY DEFAULT;
-- undo:
--     in one transaction:
--     ALTER TABLE "Or""der s" ALTER COLUMN "Id" SET GENERATED ALWAYS;

-- == flip · steps 8–12 · the database stops making keys; stops at step 8: deploy writers that fill their keys

-- step 8 of 12 · flip · deploy writers that fill their keys
-- the run ends here: Now deploy the program that fills its keys with snowflakes, and stop every writer that leaves them to the database. Then run on with Continue.

-- step 9 of 12 · flip · make sure that no writer leaves its keys to the database
-- lock: none
-- has to stay the same for 10s, else: Ids below the limit were made meanwhile: a writer is at work that leaves its keys to the database. Stop it, and run again: from the flip on its writes fail.
SELECT CONCAT_WS(' ', (SELECT last_value::text || ' ' || is_called::text FROM public."Or""der s_Id_seq"), (SELECT last_value::text || ' ' || is_called::text FROM public.customers_id_seq), (SELECT last_value::text || ' ' || is_called::text FROM public.events_id_seq));

-- step 10 of 12 · flip · make "Or""der s".Id a key that the application fills
-- lock: reads and writes of the table wait for a moment
-- algorithm: catalog only
-- in one transaction:
ALTER TABLE "Or""der s" ALTER COLUMN "Id" DROP IDENTITY;
-- undo:
--     in one transaction:
--     ALTER TABLE "Or""der s" ALTER COLUMN "Id" ADD GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME public."Or""der s_Id_seq" INCREMENT BY 2 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 5 CACHE 1);
--     SELECT pg_catalog.setval('public."Or""der s_Id_seq"'::regclass, 5 + ((GREATEST(COALESCE((SELECT MAX("Id") FROM "Or""der s" WHERE "Id" < 4398046511104) + 2, 5), 9) - 5 + 2 - 1) / 2) * 2, false);

-- step 11 of 12 · flip · make customers.id a key that the application fills
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
--     REVOKE ALL ON SEQUENCE public.customers_id_seq FROM postgres;
--     GRANT SELECT ON SEQUENCE public.customers_id_seq TO postgres;
--     GRANT UPDATE ON SEQUENCE public.customers_id_seq TO postgres;
--     GRANT USAGE ON SEQUENCE public.customers_id_seq TO postgres;
--     GRANT USAGE ON SEQUENCE public.customers_id_seq TO PUBLIC;
--     COMMENT ON SEQUENCE public.customers_id_seq IS 'numbers';
--     SELECT pg_catalog.setval('public.customers_id_seq'::regclass, 1 + ((GREATEST(COALESCE((SELECT MAX("id") FROM "customers" WHERE "id" < 4398046511104) + 1, 1), 4) - 1 + 1 - 1) / 1) * 1, false);
--     ALTER TABLE "customers" ALTER COLUMN "id" SET DEFAULT nextval('customers_id_seq'::regclass);

-- step 12 of 12 · flip · make events.id a key that the application fills
-- lock: reads and writes of the table wait for a moment
-- algorithm: catalog only
-- in one transaction:
ALTER TABLE "events" ALTER COLUMN "id" DROP IDENTITY;
-- undo:
--     in one transaction:
--     ALTER TABLE "events" ALTER COLUMN "id" ADD GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME public.events_id_seq INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1);
--     SELECT pg_catalog.setval('public.events_id_seq'::regclass, 1 + ((GREATEST(COALESCE((SELECT MAX("id") FROM "events" WHERE "id" < 4398046511104) + 1, 1), 3) - 1 + 1 - 1) / 1) * 1, false);
