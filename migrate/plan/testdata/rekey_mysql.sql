-- snowkey migrate plan · mode rekey · 26 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (MariaDB 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
-- new ids: of the layout time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z, with node 1023, which is taken in snowkey_nodes (key space
--     default) for all time
--
-- authors.id, books.id: new ids have the time of created_at, exact to 1s, in the zone UTC; old are ids below 4,398,046,511,104
-- notes.id: old rows keep their ids; old are ids below 4,398,046,511,104
--
--  step                                                                                     table               lock       rows   about
--  1      count the orphans of each reference                                               books, notes        none
--  2      count the rows of each table                                                      authors and 2 more  none
--  3–5    take the digest of the other columns of …                                         authors and 2 more  none
--  6–7    make the map of the ids of …                                                      authors, books      none
--  8–9    fill the map of the ids of …                                                      authors, books      none
--  10     make sure that each old row has a new id, and that no new id is known anywhere …  authors and 2 more  none
--  11–12  index …, for as long as it is rewritten                                           notes, books        none
--  13     count the references to authors that no foreign key guards; a rollback looks fo…  notes               none
--  14     count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewri…  notes               none
--  15     count the references to books that no foreign key guards; a rollback looks for …  books               none
--  16–17  give the rows of …, and all that refers to them, their new ids                    authors and 2 more  rows  2,469,134  ~1 min
--  18     rewrite the ids of authors in the JSON of notes.doc:$.author.id                   notes               rows  1,234,567  ~1 min
--  19–20  look for references to … that were written with old ids meanwhile                 notes, books        rows
--  21     make sure that no old id is left                                                  authors and 2 more  none
--  22     make sure that there are as many orphans as before                                books               none
--  23–24  drop the index of … again                                                         books, notes        none
--  25     wait until the result was verified                                                                    none
--  26     drop the maps                                                                                         none
-- in all: ~1 min, about 3,703,701 rows rewritten, 3.7 MB written, 0 bytes more on disk at the peak
-- times: no more than their order of magnitude: nothing was measured on this server. Taken are, rows a second: 30,000 in batches, 50,000 into maps,
--     100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted
-- longest lock: none
-- lock rows: writers wait for the rows of a batch, for as long as it takes
-- inserts refused: those that leave keys to the database: from step 14 on, for good. Those that fill keys: from step 2 until a run with
--     --continue=deploy-writers has done step 14; deploy their writers at the hold of step 12, not before, and run on at once: then for about 2.15s, longer
--     only while others keep a table's lock
-- rollback: undoes what was done, the last step first; there is none once step 26 has begun
--
-- references by foreign keys: books.author_id → authors
-- reference: books.order to books.id given certain
-- reference: notes.owner_id to authors.id polymorphic certain where owner_type is "author's"
-- reference: notes.doc:$.author.id to authors.id given certain
--
-- note 1: From the first step of expand to its last, foreign keys with ON DELETE CASCADE or SET NULL are missing, of books: a row that is deleted
--     meanwhile leaves the rows that refer to it. The run stops once the keys are back, and has the statement that does what ON DELETE would have done.
-- note 2: The JSON of notes.doc:$.author.id is rewritten after the keys: until then it has old ids. Spaces in a changed document, and the order of its
--     members, may come out as the database writes them.

-- == map · what is there is counted, and each old id gets a new one, in a map
-- 1 · count the orphans of each reference
--    counts: orphans of … → … (books.author_id authors, notes.owner_id (author's) authors, notes.doc:$.author.id authors, books.order books)
-- 2 · count the rows of each table
--    counts: rows of … (authors, books, notes)
-- 3–5 · take the digest of the other columns of …
-- 6–7 · make the map of the ids of …
CREATE TABLE `snowkey_map_{1}` (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE) ENGINE=InnoDB;
--    {1} = authors, books
-- 8–9 · fill the map of the ids of …

-- == check · what has to be true before the first row changes is looked at
-- 10 · make sure that each old row has a new id, and that no new id is known anywhere yet
--    each has to be 0: old rows of … without a new id (authors, books); new ids of … that are old ones (authors, books);
--     new ids of … that … has already (authors books.author_id, authors notes.owner_id (author's), authors notes.doc:$.author.id, books books.order)

-- == rewrite · keys, and what refers to them, get the new ids, in batches
-- 11–12 · index …, for as long as it is rewritten
ALTER TABLE `notes` ADD INDEX `snowkey_index_notes_owner_id_6ae0f472` (`owner_id`), ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE `books` ADD INDEX `snowkey_index_books_order_17815251` (`order`), ALGORITHM=INPLACE, LOCK=NONE;
-- 13 · count the references to authors that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of authors
-- 14 · count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewrites them here
--    counts: old ids of authors
-- 15 · count the references to books that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of books
-- 16–17 · give the rows of …, and all that refers to them, their new ids
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `authors` c ON c.`id` = m.old_id SET c.`id` = m.new_id WHERE m.old_id > :after AND m.old_id <= :upto;
UPDATE `snowkey_map_{1}` m STRAIGHT_JOIN `books` c ON c.`{2}` = m.old_id SET c.`{2}` = m.new_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
--    {1} {2} = authors author_id; books id; books order
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.new_id, CHAR) WHERE m.old_id > :after AND m.old_id <= :upto;
-- 18 · rewrite the ids of authors in the JSON of notes.doc:$.author.id
UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.old_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', m.new_id) WHERE c.`id` > :after AND c.`id` <= :upto;
UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.old_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', CONVERT(m.new_id, CHAR)) WHERE c.`id` > :after AND c.`id` <= :upto;
-- 19–20 · look for references to … that were written with old ids meanwhile
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.new_id, CHAR) WHERE m.old_id > :after AND m.old_id <= :upto;
UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`order` = m.old_id SET c.`order` = m.new_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;

-- == check · the result is looked at: no old id is left, and no reference is lost
-- 21 · make sure that no old id is left
--    each has to be 0: old ids of … in … (authors authors.id, authors books.author_id, authors notes.owner_id (author's), authors
--     notes.doc:$.author.id, books books.id, books books.order)
-- 22 · make sure that there are as many orphans as before
--    each has to be what it was before: orphans of books.author_id → authors
-- 23–24 · drop the index of … again
ALTER TABLE `{1}` DROP INDEX `snowkey_index_{2}`, ALGORITHM=INPLACE, LOCK=NONE;
--    {1} {2} = books books_order_17815251; notes notes_owner_id_6ae0f472

-- == contract · the maps are dropped, after which there is no rollback
-- 25 · wait until the result was verified
--    the run ends here, and run --continue=drop-maps goes on: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other
--     services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.
-- 26 · drop the maps
DROP TABLE IF EXISTS `snowkey_map_authors`, `snowkey_map_books`;
--    no rollback once this is done. Without the maps nobody knows the old ids.
