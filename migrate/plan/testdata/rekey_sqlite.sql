-- snowkey migrate plan · mode rekey · 27 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (SQLite 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
-- new ids: of the layout time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z, with node 1023, which is taken in snowkey_nodes (key space
--     default) for all time
--
-- authors.id, books.id: new ids have the time of created_at, exact to 1ms, in the zone UTC; old are ids below 4,398,046,511,104
-- notes.id: old rows keep their ids; old are ids below 4,398,046,511,104
--
--  step                                                                                     table               lock         rows   about
--  1      count the orphans of each reference                                               books, notes        none
--  2      count the rows of each table                                                      authors and 2 more  none
--  3–5    take the digest of the other columns of …                                         authors and 2 more  none
--  6      make the maps of old ids to new ones                                                                  none
--  7–8    fill the map of the ids of …                                                      authors, books      none
--  9      make sure that each old row has a new id, and that no new id is known anywhere …  authors and 2 more  none
--  10–12  index …, for as long as it is rewritten                                           books, notes        writes
--  13     count the references to authors that no foreign key guards; a rollback looks fo…  books, notes        none
--  14     count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewri…  notes               none
--  15     count the references to books that no foreign key guards; a rollback looks for …  books               none
--  16–17  give the rows of …, and all that refers to them, their new ids                    authors and 2 more  rows    2,469,134  ~1 min
--  18     rewrite the ids of authors in the JSON of notes.doc:$.author.id                   notes               rows    1,234,567  ~1 min
--  19–20  look for references to … that were written with old ids meanwhile                 books, notes        rows
--  21     make sure that no old id is left                                                  authors and 2 more  none
--  22     make sure that there are as many orphans as before                                books               none
--  23–25  drop the index of … again                                                         books, notes        none
--  26     wait until the result was verified                                                                    none
--  27     drop the maps                                                                                         none
-- in all: ~1 min, about 3,703,701 rows rewritten, 3.7 MB written, 0 bytes more on disk at the peak
-- times: no more than their order of magnitude: nothing was measured on this server. Taken are, rows a second: 30,000 in batches, 50,000 into maps,
--     100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted
-- longest lock: none for longer than a moment
-- lock writes: writers of the table wait
-- lock rows: writers wait for the rows of a batch, for as long as it takes
-- rollback: undoes what was done, the last step first; there is none once step 27 has begun
--
-- references by foreign keys: books.author_id → authors
-- reference: books.order to books.id given certain
-- reference: notes.owner_id to authors.id polymorphic certain where owner_type is "author's"
-- reference: notes.doc:$.author.id to authors.id given certain
--
-- note 1: SQLite goes on to number rows that come without their key, with AUTOINCREMENT and without it: by the greatest key there is, or was with
--     AUTOINCREMENT, plus 1. After the first snowflake that is a number that a generator may make, too, so see that every writer fills its keys. It is so
--     of authors.id, books.id, notes.id. A trigger refuses such rows, once no writer is left that needs them: CREATE TRIGGER "authors_key" BEFORE INSERT ON
--     "authors" WHEN NEW."id" = -1 BEGIN SELECT RAISE(ABORT, 'no key'); END
-- note 2: The JSON of notes.doc:$.author.id is rewritten after the keys: until then it has old ids. Spaces in a changed document, and the order of its
--     members, may come out as the database writes them.

-- == map · what is there is counted, and each old id gets a new one, in a map
-- 1 · count the orphans of each reference
--    counts: orphans of … → … (books.author_id authors, notes.owner_id (author's) authors, notes.doc:$.author.id authors, books.order books);
--     rows of books that break a foreign key
-- 2 · count the rows of each table
--    counts: rows of … (authors, books, notes)
-- 3–5 · take the digest of the other columns of …
-- 6 · make the maps of old ids to new ones
CREATE TABLE "snowkey_map_{1}" (old_id INTEGER NOT NULL PRIMARY KEY, new_id INTEGER NOT NULL UNIQUE);
--    {1} = authors, books
-- 7–8 · fill the map of the ids of …

-- == check · what has to be true before the first row changes is looked at
-- 9 · make sure that each old row has a new id, and that no new id is known anywhere yet
--    each has to be 0: old rows of … without a new id (authors, books); new ids of … that are old ones (authors, books);
--     new ids of … that … has already (authors books.author_id, authors notes.owner_id (author's), authors notes.doc:$.author.id, books books.order)

-- == rewrite · keys, and what refers to them, get the new ids, in batches
-- 10–12 · index …, for as long as it is rewritten
CREATE INDEX "snowkey_index_{1}" ON "{2}" ("{3}");
--    {1} {2} {3} = books_author_id_b390907f books author_id; notes_owner_id_6ae0f472 notes owner_id; books_order_17815251 books order
-- 13 · count the references to authors that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of authors
-- 14 · count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewrites them here
--    counts: old ids of authors
-- 15 · count the references to books that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of books
-- 16–17 · give the rows of …, and all that refers to them, their new ids
UPDATE "{1}" AS c SET "{2}" = m.new_id FROM "snowkey_map_{3}" AS m WHERE c."{2}" = +m.old_id AND m.old_id > :after AND m.old_id <= :upto;
--    {1} {2} {3} = authors id authors; books author_id authors; books id books; books order books
UPDATE "notes" AS c SET "owner_id" = CAST(m.new_id AS TEXT) FROM "snowkey_map_authors" AS m WHERE c."owner_id" = CAST(+m.old_id AS TEXT) AND length(c."owner_id") = length(+m.old_id) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;
-- 18 · rewrite the ids of authors in the JSON of notes.doc:$.author.id
UPDATE "notes" AS c SET "doc" = json_set(c."doc", '$."author"."id"', CASE WHEN json_type(c."doc", '$."author"."id"') = 'text' THEN CAST(m.new_id AS TEXT) ELSE m.new_id END) FROM "snowkey_map_authors" AS m WHERE CASE WHEN json_valid(c."doc") THEN CASE WHEN json_type(c."doc", '$."author"."id"') IN ('integer', 'text') THEN CASE WHEN CAST(CAST(json_extract(c."doc", '$."author"."id"') AS INTEGER) AS TEXT) = CAST(json_extract(c."doc", '$."author"."id"') AS TEXT) THEN CAST(json_extract(c."doc", '$."author"."id"') AS INTEGER) END END END = m.old_id AND c."id" > :after AND c."id" <= :upto;
-- 19–20 · look for references to … that were written with old ids meanwhile
UPDATE "books" AS c SET "{1}" = m.new_id FROM "snowkey_map_{2}" AS m WHERE c."{1}" = +m.old_id AND m.old_id > :after AND m.old_id <= :upto;
--    {1} {2} = author_id authors; order books
UPDATE "notes" AS c SET "owner_id" = CAST(m.new_id AS TEXT) FROM "snowkey_map_authors" AS m WHERE c."owner_id" = CAST(+m.old_id AS TEXT) AND length(c."owner_id") = length(+m.old_id) AND c."owner_type" = 'author''s' AND m.old_id > :after AND m.old_id <= :upto;

-- == check · the result is looked at: no old id is left, and no reference is lost
-- 21 · make sure that no old id is left
--    each has to be 0: old ids of … in … (authors authors.id, authors books.author_id, authors notes.owner_id (author's), authors
--     notes.doc:$.author.id, books books.id, books books.order)
-- 22 · make sure that there are as many orphans as before
--    each has to be what it was before: orphans of books.author_id → authors; rows of books that break a foreign key
-- 23–25 · drop the index of … again
DROP INDEX "snowkey_index_{1}";
--    {1} = books_order_17815251, notes_owner_id_6ae0f472, books_author_id_b390907f

-- == contract · the maps are dropped, after which there is no rollback
-- 26 · wait until the result was verified
--    the run ends here, and run --continue=drop-maps goes on: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other
--     services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.
-- 27 · drop the maps
DROP TABLE "snowkey_map_{1}";
--    {1} = authors, books
--    no rollback once this is done. Without the maps nobody knows the old ids.
