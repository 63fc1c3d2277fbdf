-- snowkey migrate plan · mode rekey · 28 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (PostgreSQL 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
-- new ids: of the layout time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z, with node 1023, which is taken in snowkey_nodes (key space
--     default) for all time
--
-- authors.id, books.id: new ids have the time of created_at, exact to 1ms; old are ids below 4,398,046,511,104
-- notes.id: old rows keep their ids; old are ids below 4,398,046,511,104
--
--  step                                                                                     table               lock       rows   about
--  1      count the orphans of each reference                                               books, notes        none
--  2      count the rows of each table                                                      authors and 2 more  none
--  3–5    take the digest of the other columns of …                                         authors and 2 more  none
--  6      make the maps of old ids to new ones                                                                  none
--  7–8    fill the map of the ids of …                                                      authors, books      none
--  9      give the maps their primary keys, and gather their statistics                                         none
--  10     make sure that each old row has a new id, and that no new id is known anywhere …  authors and 2 more  none
--  11–13  index …, for as long as it is rewritten                                           books, notes        none
--  14     count the references to authors that no foreign key guards; a rollback looks fo…  notes               none
--  15     count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewri…  notes               none
--  16     count the references to books that no foreign key guards; a rollback looks for …  books               none
--  17–18  give the rows of …, and all that refers to them, their new ids                    authors and 2 more  rows  2,469,134  ~1 min
--  19     rewrite the ids of authors in the JSON of notes.doc:$.author.id                   notes               rows  1,234,567  ~1 min
--  20–21  look for references to … that were written with old ids meanwhile                 notes, books        rows
--  22     make sure that no old id is left                                                  authors and 2 more  none
--  23     make sure that there are as many orphans as before                                books               none
--  24–26  drop the index of … again                                                         books, notes        none
--  27     wait until the result was verified                                                                    none
--  28     drop the maps                                                                                         none
-- in all: ~1 min, about 3,703,701 rows rewritten, 3.7 MB written, 3.7 MB more on disk at the peak
-- times: no more than their order of magnitude: nothing was measured on this server. Taken are, rows a second: 30,000 in batches, 50,000 into maps,
--     100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted
-- longest lock: none
-- lock rows: writers wait for the rows of a batch, for as long as it takes
-- inserts refused: those that leave keys to the database: from step 8 on, for good. Those that fill keys: never, where their writers are deployed at
--     the hold of step 27
-- rollback: undoes what was done, the last step first; there is none once step 28 has begun
--
-- references by foreign keys: books.author_id → authors
-- reference: books.order to books.id given certain
-- reference: notes.owner_id to authors.id polymorphic certain where owner_type is "author's"
-- reference: notes.doc:$.author.id to authors.id given certain
--
-- note 1: Inserts, and all other reads and writes of a table, wait while it is written anew with wide columns: of notes, the largest, for <1 s (0 rows,
--     16.4 kB). Where that is too long, --mode shadow is the way without: it locks no table for longer than a moment, and gives old rows new ids, too.
-- note 2: Clients with prepared statements may fail once with "cached plan must not change result type" after a type change: recycle the pools.
-- note 3: Rewritten rows are written anew, and the old ones are space to be used again after a VACUUM of the rewritten tables, which autovacuum does in
--     time. VACUUM (ANALYZE) them after the run; only VACUUM FULL or pg_repack gives the space back to the system.
-- note 4: The JSON of notes.doc:$.author.id is rewritten after the keys: until then it has old ids. Spaces in a changed document, and the order of its
--     members, may come out as the database writes them.

-- == map · what is there is counted, and each old id gets a new one, in a map
-- 1 · count the orphans of each reference
--    counts: orphans of … → … (books.author_id authors, notes.owner_id (author's) authors, notes.doc:$.author.id authors, books.order books)
-- 2 · count the rows of each table
--    counts: rows of … (authors, books, notes)
-- 3–5 · take the digest of the other columns of …
-- 6 · make the maps of old ids to new ones
CREATE TABLE "snowkey_map_{1}" (old_id BIGINT NOT NULL, new_id BIGINT NOT NULL UNIQUE);
--    {1} = authors, books
-- 7–8 · fill the map of the ids of …
-- 9 · give the maps their primary keys, and gather their statistics
ALTER TABLE "snowkey_map_{1}" ADD PRIMARY KEY (old_id);
--    {1} = authors, books
ANALYZE "snowkey_map_authors", "snowkey_map_books";

-- == check · what has to be true before the first row changes is looked at
-- 10 · make sure that each old row has a new id, and that no new id is known anywhere yet
--    each has to be 0: old rows of … without a new id (authors, books); new ids of … that are old ones (authors, books);
--     new ids of … that … has already (authors books.author_id, authors notes.owner_id (author's), authors notes.doc:$.author.id, books books.order)

-- == rewrite · keys, and what refers to them, get the new ids, in batches
-- 11–13 · index …, for as long as it is rewritten
CREATE INDEX CONCURRENTLY "snowkey_index_{1}" ON "{2}" ("{3}");
--    {1} {2} {3} = books_author_id_b390907f books author_id; notes_owner_id_6ae0f472 notes owner_id; books_order_17815251 books order
-- 14 · count the references to authors that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of authors
-- 15 · count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewrites them here
--    counts: old ids of authors
-- 16 · count the references to books that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of books
-- 17–18 · give the rows of …, and all that refers to them, their new ids
UPDATE "{1}" c SET "{2}" = m.new_id FROM "snowkey_map_{3}" m WHERE c."{2}" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;
--    {1} {2} {3} = authors id authors; books author_id authors; books id books; books order books
UPDATE "notes" c SET "owner_id" = CAST(m.new_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.old_id + 0 AS text) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;
-- 19 · rewrite the ids of authors in the JSON of notes.doc:$.author.id
UPDATE "notes" c SET "doc" = jsonb_set(c."doc", CAST(ARRAY['author', 'id'] AS text[]), CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) = 'string' THEN to_jsonb(CAST(m.new_id AS text)) ELSE to_jsonb(m.new_id) END) FROM "snowkey_map_authors" m WHERE CASE WHEN jsonb_typeof(c."doc" #> CAST(ARRAY['author', 'id'] AS text[])) IN ('number', 'string') AND (c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) ~ '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST((c."doc" #>> CAST(ARRAY['author', 'id'] AS text[])) AS bigint) END = m.old_id AND c."id" > :after AND c."id" <= :upto;
-- 20–21 · look for references to … that were written with old ids meanwhile
UPDATE "notes" c SET "owner_id" = CAST(m.new_id AS text) FROM "snowkey_map_authors" m WHERE c."owner_id" = CAST(m.old_id + 0 AS text) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;
UPDATE "books" c SET "order" = m.new_id FROM "snowkey_map_books" m WHERE c."order" = m.old_id + 0 AND m.old_id > :after AND m.old_id <= :upto;

-- == check · the result is looked at: no old id is left, and no reference is lost
-- 22 · make sure that no old id is left
--    each has to be 0: old ids of … in … (authors authors.id, authors books.author_id, authors notes.owner_id (author's), authors
--     notes.doc:$.author.id, books books.id, books books.order)
-- 23 · make sure that there are as many orphans as before
--    each has to be what it was before: orphans of books.author_id → authors
-- 24–26 · drop the index of … again
DROP INDEX CONCURRENTLY IF EXISTS "public"."snowkey_index_{1}";
--    {1} = books_order_17815251, notes_owner_id_6ae0f472, books_author_id_b390907f

-- == contract · the maps are dropped, after which there is no rollback
-- 27 · wait until the result was verified
--    the run ends here, and run --continue=drop-maps goes on: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other
--     services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.
-- 28 · drop the maps
DROP TABLE "snowkey_map_authors", "snowkey_map_books";
--    no rollback once this is done. Without the maps nobody knows the old ids.
