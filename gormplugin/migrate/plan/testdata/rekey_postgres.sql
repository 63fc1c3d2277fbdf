-- snowkey migrate plan · mode rekey · 29 steps
-- plan: 0
-- made: 2026-11-21T20:00:00Z
-- database: shop (postgres, PostgreSQL 1.2.3, 1)
-- layout: time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z
-- node of the new ids of old rows: 1023, of the key space default in the table snowkey_nodes
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- contents:
--    steps 1–9    map       what is there is counted, and each old id gets a new one, in a map
--    step 10      check     what has to be true before the first row changes is looked at
--    steps 11–22  rewrite   keys, and what refers to them, get the new ids, in batches
--    steps 23–27  check     the result is looked at: no old id is left, and no reference is lost
--    steps 28–29  contract  the maps are dropped, after which there is no rollback; stops at step 28: wait until the result was verified
--
-- in all, about: 3,703,701 rows rewritten, 3.7 MB written, 3.7 MB more on disk at the peak
-- longest lock: none for longer than a moment
--
-- keys:
--    authors.id  old below 4,398,046,511,104  new ids have the time of created_at, exact to 1ms  map snowkey_map_authors
--    books.id    old below 4,398,046,511,104  new ids have the time of created_at, exact to 1ms  map snowkey_map_books
--    notes.id    old below 4,398,046,511,104  keeps its ids
--
-- references:
--    books.author_id        to authors.id  declared     certain
--    books.order            to books.id    given        certain
--    notes.owner_id         to authors.id  polymorphic  certain  where owner_type is "author's"
--    notes.doc:$.author.id  to authors.id  given        certain
--
-- note 1: Clients with prepared statements may fail once with "cached plan must not change result type" after a type change: recycle the pools.
-- note 2: Rewritten rows are written anew, and the old ones are space to be used again after a VACUUM of the rewritten tables, which autovacuum does in time. VACUUM (ANALYZE) them after the run; only VACUUM FULL or pg_repack gives the space back to the system.
-- note 3: The JSON of notes.doc:$.author.id is rewritten after the keys: until then it has old ids. Spaces in a changed document, and the order of its members, may come out as the database writes them.

-- == map · steps 1–9 · what is there is counted, and each old id gets a new one, in a map

-- step 1 of 29 · map · count the orphans of each reference
-- lock: none
-- the numbers are noted:
-- orphans of books.author_id → authors:
SELECT COUNT(*) FROM "books" c WHERE c."author_id" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "authors" p WHERE p."id" = c."author_id");
-- orphans of notes.owner_id (author's) → authors:
SELECT COUNT(*) FROM "notes" c WHERE CASE WHEN c."owner_id" ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(c."owner_id" AS bigint) END IS NOT NULL AND CASE WHEN c."owner_id" ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(c."owner_id" AS bigint) END <> 0 AND c."owner_type" = 'author''s' AND NOT EXISTS (SELECT 1 FROM "authors" p WHERE p."id" = CASE WHEN c."owner_id" ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(c."owner_id" AS bigint) END);
-- orphans of notes.doc:$.author.id → authors:
SELECT COUNT(*) FROM "notes" c WHERE CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END IS NOT NULL AND CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END <> 0 AND NOT EXISTS (SELECT 1 FROM "authors" p WHERE p."id" = CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END);
-- orphans of books.order → books:
SELECT COUNT(*) FROM "books" c WHERE c."order" IS NOT NULL AND c."order" <> 0 AND NOT EXISTS (SELECT 1 FROM "books" p WHERE p."id" = c."order");

-- step 2 of 29 · map · count the rows of each table
-- lock: none
-- the numbers are noted:
-- rows of authors:
SELECT COUNT(*) FROM "authors";
-- rows of books:
SELECT COUNT(*) FROM "books";
-- rows of notes:
SELECT COUNT(*) FROM "notes";

-- step 3 of 29 · map · take the digest of the other columns of authors
-- lock: none
-- the program notes a digest of all that must stay as it is in authors

-- step 4 of 29 · map · take the digest of the other columns of books
-- lock: none
-- the program notes a digest of all that must stay as it is in books

-- step 5 of 29 · map · take the digest of the other columns of notes
-- lock: none
-- the program notes a digest of all that must stay as it is in notes

-- step 6 of 29 · map · take node 1023 of the key space default for the new ids of old rows
-- lock: none
-- the node is taken in the table of grants, so that no generator gets it
-- undo: none: ids with it may be known elsewhere, so no generator ever gets it

-- step 7 of 29 · map · make the maps of old ids to new ones
-- lock: none
-- algorithm: catalog only
-- in one transaction:
CREATE TABLE "snowkey_map_authors" (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE);
CREATE TABLE "snowkey_map_books" (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE);
-- undo:
--     in one transaction:
--     DROP TABLE "snowkey_map_authors";
--     DROP TABLE "snowkey_map_books";

-- step 8 of 29 · map · fill the map of the ids of authors
-- lock: none: only the map is written
-- algorithm: batches
-- the program fills the map of authors with a new id for each old one
-- undo: none: it goes with the map

-- step 9 of 29 · map · fill the map of the ids of books
-- lock: none: only the map is written
-- algorithm: batches
-- the program fills the map of books with a new id for each old one
-- undo: none: it goes with the map

-- == check · step 10 · what has to be true before the first row changes is looked at

-- step 10 of 29 · check · make sure that each old row has a new id, and that no new id is known anywhere yet
-- lock: none
-- each has to be 0, else: Old rows without a new id came while the maps were filled: a writer still makes ids of the old kind, so stop it. New ids that are there already would be two rows' after the rewriting, or give an orphan a row: take another node, or another layout. In each case roll back, and plan again.
-- old rows of authors without a new id:
SELECT COUNT(*) FROM "authors" c WHERE c."id" < 4398046511104 AND NOT EXISTS (SELECT 1 FROM "snowkey_map_authors" m WHERE m.old_id = c."id");
-- new ids of authors that are old ones:
SELECT (SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "authors" c ON c."id" = m.new_id) + (SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "snowkey_map_authors" o ON o.old_id = m.new_id);
-- new ids of authors that books.author_id has already:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "books" c ON c."author_id" = m.new_id;
-- new ids of authors that notes.owner_id (author's) has already:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON c."owner_id" = CAST(m.new_id AS text) AND c."owner_type" = 'author''s';
-- new ids of authors that notes.doc:$.author.id has already:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.new_id;
-- old rows of books without a new id:
SELECT COUNT(*) FROM "books" c WHERE c."id" < 4398046511104 AND NOT EXISTS (SELECT 1 FROM "snowkey_map_books" m WHERE m.old_id = c."id");
-- new ids of books that are old ones:
SELECT (SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."id" = m.new_id) + (SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "snowkey_map_books" o ON o.old_id = m.new_id);
-- new ids of books that books.order has already:
SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."order" = m.new_id;

-- == rewrite · steps 11–22 · keys, and what refers to them, get the new ids, in batches

-- step 11 of 29 · rewrite · gather statistics of the maps
-- lock: none
-- in one transaction:
ANALYZE "snowkey_map_authors", "snowkey_map_books";
-- undo: none: they go with the maps

-- step 12 of 29 · rewrite · index books.author_id, for as long as it is rewritten
-- lock: none; it waits for transactions that are open
-- is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_author_id_b390907f"') AND indisvalid
-- before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_author_id_b390907f"
CREATE INDEX CONCURRENTLY "snowkey_index_books_author_id_b390907f" ON "books" ("author_id");
-- undo:
--     is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_author_id_b390907f"')
--     DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_author_id_b390907f";

-- step 13 of 29 · rewrite · index notes.owner_id (author's), for as long as it is rewritten
-- lock: none; it waits for transactions that are open
-- is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_notes_owner_id_6ae0f472"') AND indisvalid
-- before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_notes_owner_id_6ae0f472"
CREATE INDEX CONCURRENTLY "snowkey_index_notes_owner_id_6ae0f472" ON "notes" ("owner_id");
-- undo:
--     is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_notes_owner_id_6ae0f472"')
--     DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_notes_owner_id_6ae0f472";

-- step 14 of 29 · rewrite · index books.order, for as long as it is rewritten
-- lock: none; it waits for transactions that are open
-- is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_order_17815251"') AND indisvalid
-- before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_order_17815251"
CREATE INDEX CONCURRENTLY "snowkey_index_books_order_17815251" ON "books" ("order");
-- undo:
--     is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_order_17815251"')
--     DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_order_17815251";

-- step 15 of 29 · rewrite · count the references to authors that no foreign key guards; a rollback looks for those that are left
-- lock: none
-- the numbers are noted:
-- old ids of authors:
SELECT (SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON c."owner_id" = CAST(m.old_id AS text) AND c."owner_type" = 'author''s');
-- undo:
--     on a connection of its own, after:
--     SET default_transaction_isolation = 'read committed';
--     SET enable_hashjoin=off;
--     SET enable_mergejoin=off;
--     SET enable_seqscan=off;
--     SET jit=off;
--     SET session_replication_role = replica;
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_authors" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON c."owner_id" = CAST(m.new_id AS text) AND c."owner_type" = 'author''s')
--     UPDATE "notes" c SET "owner_id" = CAST(m.old_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.new_id + 0 AS text) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;

-- step 16 of 29 · rewrite · count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewrites them here
-- lock: none
-- the numbers are noted:
-- old ids of authors:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.old_id;
-- undo:
--     on a connection of its own, after:
--     SET default_transaction_isolation = 'read committed';
--     SET enable_hashjoin=off;
--     SET enable_mergejoin=off;
--     SET enable_seqscan=off;
--     SET jit=off;
--     SET session_replication_role = replica;
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX("id") FROM (SELECT "id" FROM "notes" WHERE "id" > :after ORDER BY "id" LIMIT :rows) x
--     and anew when this gives more than 0 at the end: SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.new_id
--     UPDATE "notes" c SET "doc" = jsonb_set(c."doc", CAST(ARRAY['author', 'id'] AS text[]), CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) = 'string' THEN to_jsonb(CAST(m.old_id AS text)) ELSE to_jsonb(m.old_id) END) FROM "snowkey_map_authors" m WHERE CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.new_id AND c."id" > :after AND c."id" <= :upto;

-- step 17 of 29 · rewrite · count the references to books that no foreign key guards; a rollback looks for those that are left
-- lock: none
-- the numbers are noted:
-- old ids of books:
SELECT (SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."order" = m.old_id);
-- undo:
--     on a connection of its own, after:
--     SET default_transaction_isolation = 'read committed';
--     SET enable_hashjoin=off;
--     SET enable_mergejoin=off;
--     SET enable_seqscan=off;
--     SET jit=off;
--     SET session_replication_role = replica;
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_books" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."order" = m.new_id)
--     UPDATE "books" c SET "order" = m.old_id FROM "snowkey_map_books" m WHERE c."order" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;

-- step 18 of 29 · rewrite · give the rows of authors, and all that refers to them, their new ids
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
-- SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_authors" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
UPDATE "authors" c SET "id" = m.new_id FROM "snowkey_map_authors" m WHERE c."id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
UPDATE "books" c SET "author_id" = m.new_id FROM "snowkey_map_authors" m WHERE c."author_id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
UPDATE "notes" c SET "owner_id" = CAST(m.new_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.old_id + 0 AS text) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;
-- undo:
--     on a connection of its own, after the same statements as above
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_authors" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     UPDATE "authors" c SET "id" = m.old_id FROM "snowkey_map_authors" m WHERE c."id" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
--     UPDATE "books" c SET "author_id" = m.old_id FROM "snowkey_map_authors" m WHERE c."author_id" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
--     UPDATE "notes" c SET "owner_id" = CAST(m.old_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.new_id + 0 AS text) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;

-- step 19 of 29 · rewrite · give the rows of books, and all that refers to them, their new ids
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
-- SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_books" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
UPDATE "books" c SET "id" = m.new_id FROM "snowkey_map_books" m WHERE c."id" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
UPDATE "books" c SET "order" = m.new_id FROM "snowkey_map_books" m WHERE c."order" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
-- undo:
--     on a connection of its own, after the same statements as above
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_books" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     UPDATE "books" c SET "id" = m.old_id FROM "snowkey_map_books" m WHERE c."id" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
--     UPDATE "books" c SET "order" = m.old_id FROM "snowkey_map_books" m WHERE c."order" = m.new_id + 0 AND m.old_id > :after AND m.old_id <= :upto;

-- step 20 of 29 · rewrite · rewrite the ids of authors in the JSON of notes.doc:$.author.id
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
-- SELECT MAX("id") FROM (SELECT "id" FROM "notes" WHERE "id" > :after ORDER BY "id" LIMIT :rows) x
-- and anew when this gives more than 0 at the end: SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.old_id
UPDATE "notes" c SET "doc" = jsonb_set(c."doc", CAST(ARRAY['author', 'id'] AS text[]), CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) = 'string' THEN to_jsonb(CAST(m.new_id AS text)) ELSE to_jsonb(m.new_id) END) FROM "snowkey_map_authors" m WHERE CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.old_id AND c."id" > :after AND c."id" <= :upto;
-- undo: none: a rollback does it when the keys are back, where the step that has counted them is undone

-- step 21 of 29 · rewrite · look for references to authors that were written with old ids meanwhile
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- on a connection of its own, after:
SET default_transaction_isolation = 'read committed';
SET enable_hashjoin=off;
SET enable_mergejoin=off;
SET enable_seqscan=off;
SET jit=off;
SET session_replication_role = replica;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_authors" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
-- and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON c."owner_id" = CAST(m.old_id AS text) AND c."owner_type" = 'author''s')
UPDATE "notes" c SET "owner_id" = CAST(m.new_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.old_id + 0 AS text) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;
-- undo: none: what it moves goes back with the rest

-- step 22 of 29 · rewrite · look for references to books that were written with old ids meanwhile
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- on a connection of its own, after:
SET default_transaction_isolation = 'read committed';
SET enable_hashjoin=off;
SET enable_mergejoin=off;
SET enable_seqscan=off;
SET jit=off;
SET session_replication_role = replica;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM "snowkey_map_books" WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
-- and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."order" = m.old_id)
UPDATE "books" c SET "order" = m.new_id FROM "snowkey_map_books" m WHERE c."order" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
-- undo: none: what it moves goes back with the rest

-- == check · steps 23–27 · the result is looked at: no old id is left, and no reference is lost

-- step 23 of 29 · check · make sure that no old id is left
-- lock: none
-- each has to be 0, else: Old ids in a reference were written since it was rewritten: stop who writes them, put them right with the statements above, and run on. Old ids in a key are rows that came with ids that were others' old ones: stop who writes them, give them ids that are new, and run on.
-- old ids of authors in authors.id:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "authors" c ON c."id" = m.old_id;
-- old ids of authors in books.author_id:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "books" c ON c."author_id" = m.old_id;
--     put right by: UPDATE "books" c SET "author_id" = m.new_id FROM "snowkey_map_authors" m WHERE c."author_id" = m.old_id + 0 AND 1 = 1
-- old ids of authors in notes.owner_id (author's):
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON c."owner_id" = CAST(m.old_id AS text) AND c."owner_type" = 'author''s';
--     put right by: UPDATE "notes" c SET "owner_id" = CAST(m.new_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.old_id + 0 AS text) AND c."owner_type" = 'author''s' AND 1 = 1
-- old ids of authors in notes.doc:$.author.id:
SELECT COUNT(*) FROM "snowkey_map_authors" m JOIN "notes" c ON CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.old_id;
--     put right by: UPDATE "notes" c SET "doc" = jsonb_set(c."doc", CAST(ARRAY['author', 'id'] AS text[]), CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) = 'string' THEN to_jsonb(CAST(m.new_id AS text)) ELSE to_jsonb(m.new_id) END) FROM "snowkey_map_authors" m WHERE CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.old_id AND 1 = 1
-- old ids of books in books.id:
SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."id" = m.old_id;
-- old ids of books in books.order:
SELECT COUNT(*) FROM "snowkey_map_books" m JOIN "books" c ON c."order" = m.old_id;
--     put right by: UPDATE "books" c SET "order" = m.new_id FROM "snowkey_map_books" m WHERE c."order" = m.old_id + 0 AND 1 = 1

-- step 24 of 29 · check · make sure that there are as many orphans as before
-- lock: none
-- each has to be what the step "count the orphans of each reference" has found for it, else: References that a foreign key guards have not as many values that are keys of no row as before. Look at them before going on; a rollback is possible.
-- orphans of books.author_id → authors:
SELECT COUNT(*) FROM "books" c WHERE c."author_id" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "authors" p WHERE p."id" = c."author_id");

-- step 25 of 29 · check · drop the index of books.order again
-- lock: none for longer than a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_order_17815251"')
DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_order_17815251";
-- undo:
--     is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_order_17815251"') AND indisvalid
--     before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_order_17815251"
--     CREATE INDEX CONCURRENTLY "snowkey_index_books_order_17815251" ON "books" ("order");

-- step 26 of 29 · check · drop the index of notes.owner_id (author's) again
-- lock: none for longer than a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_notes_owner_id_6ae0f472"')
DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_notes_owner_id_6ae0f472";
-- undo:
--     is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_notes_owner_id_6ae0f472"') AND indisvalid
--     before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_notes_owner_id_6ae0f472"
--     CREATE INDEX CONCURRENTLY "snowkey_index_notes_owner_id_6ae0f472" ON "notes" ("owner_id");

-- step 27 of 29 · check · drop the index of books.author_id again
-- lock: none for longer than a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT 1 - COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_author_id_b390907f"')
DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_author_id_b390907f";
-- undo:
--     is done when this gives 1: SELECT COUNT(*) FROM pg_catalog.pg_index WHERE indexrelid = to_regclass('"public"."snowkey_index_books_author_id_b390907f"') AND indisvalid
--     before another attempt: DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_books_author_id_b390907f"
--     CREATE INDEX CONCURRENTLY "snowkey_index_books_author_id_b390907f" ON "books" ("author_id");

-- == contract · steps 28–29 · the maps are dropped, after which there is no rollback; stops at step 28: wait until the result was verified

-- step 28 of 29 · contract · wait until the result was verified
-- the run ends here: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.

-- step 29 of 29 · contract · drop the maps
-- lock: nobody else uses them
-- algorithm: catalog only
-- in one transaction:
DROP TABLE "snowkey_map_authors", "snowkey_map_books";
-- undo: none, and no rollback of the plan once this is done. Without the maps nobody knows the old ids.
