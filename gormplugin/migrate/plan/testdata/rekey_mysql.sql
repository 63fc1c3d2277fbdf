-- snowkey migrate plan · mode rekey · 27 steps
-- plan: 0
-- made: 2026-11-21T20:00:00Z
-- database: shop (mysql, MariaDB 1.2.3, 1)
-- layout: time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z
-- node of the new ids of old rows: 1023, of the key space default in the table snowkey_nodes
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- contents:
--    steps 1–10   map       what is there is counted, and each old id gets a new one, in a map
--    step 11      check     what has to be true before the first row changes is looked at
--    steps 12–21  rewrite   keys, and what refers to them, get the new ids, in batches
--    steps 22–25  check     the result is looked at: no old id is left, and no reference is lost
--    steps 26–27  contract  the maps are dropped, after which there is no rollback; stops at step 26: wait until the result was verified
--
-- in all, about: 3,703,701 rows rewritten, 3.7 MB written, 0 bytes more on disk at the peak
-- longest lock: none for longer than a moment
--
-- keys:
--    authors.id  old below 4,398,046,511,104  new ids have the time of created_at, exact to 1s  zone UTC  map snowkey_map_authors
--    books.id    old below 4,398,046,511,104  new ids have the time of created_at, exact to 1s  zone UTC  map snowkey_map_books
--    notes.id    old below 4,398,046,511,104  keeps its ids
--
-- references:
--    books.author_id        to authors.id  declared     certain
--    books.order            to books.id    given        certain
--    notes.owner_id         to authors.id  polymorphic  certain  where owner_type is "author's"
--    notes.doc:$.author.id  to authors.id  given        certain
--
-- note 1: The JSON of notes.doc:$.author.id is rewritten after the keys: until then it has old ids. Spaces in a changed document, and the order of its members, may come out as the database writes them.

-- == map · steps 1–10 · what is there is counted, and each old id gets a new one, in a map

-- step 1 of 27 · map · count the orphans of each reference
-- lock: none
-- the numbers are noted:
-- orphans of books.author_id → authors:
SELECT COUNT(*) FROM `books` c WHERE c.`author_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `authors` p WHERE p.`id` = c.`author_id`);
-- orphans of notes.owner_id (author's) → authors:
SELECT COUNT(*) FROM `notes` c WHERE CASE WHEN CONVERT(c.`owner_id` USING utf8mb4) NOT REGEXP '[^-0-9]' AND CONVERT(c.`owner_id` USING utf8mb4) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(CONVERT(c.`owner_id` USING utf8mb4) AS SIGNED) END IS NOT NULL AND CASE WHEN CONVERT(c.`owner_id` USING utf8mb4) NOT REGEXP '[^-0-9]' AND CONVERT(c.`owner_id` USING utf8mb4) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(CONVERT(c.`owner_id` USING utf8mb4) AS SIGNED) END <> 0 AND c.`owner_type` = 'author''s' AND NOT EXISTS (SELECT 1 FROM `authors` p WHERE p.`id` = CASE WHEN CONVERT(c.`owner_id` USING utf8mb4) NOT REGEXP '[^-0-9]' AND CONVERT(c.`owner_id` USING utf8mb4) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(CONVERT(c.`owner_id` USING utf8mb4) AS SIGNED) END);
-- orphans of notes.doc:$.author.id → authors:
SELECT COUNT(*) FROM `notes` c WHERE CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END IS NOT NULL AND CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END <> 0 AND NOT EXISTS (SELECT 1 FROM `authors` p WHERE p.`id` = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END);
-- orphans of books.order → books:
SELECT COUNT(*) FROM `books` c WHERE c.`order` IS NOT NULL AND c.`order` <> 0 AND NOT EXISTS (SELECT 1 FROM `books` p WHERE p.`id` = c.`order`);

-- step 2 of 27 · map · count the rows of each table
-- lock: none
-- the numbers are noted:
-- rows of authors:
SELECT COUNT(*) FROM `authors`;
-- rows of books:
SELECT COUNT(*) FROM `books`;
-- rows of notes:
SELECT COUNT(*) FROM `notes`;

-- step 3 of 27 · map · take the digest of the other columns of authors
-- lock: none
-- the program notes a digest of all that must stay as it is in authors

-- step 4 of 27 · map · take the digest of the other columns of books
-- lock: none
-- the program notes a digest of all that must stay as it is in books

-- step 5 of 27 · map · take the digest of the other columns of notes
-- lock: none
-- the program notes a digest of all that must stay as it is in notes

-- step 6 of 27 · map · take node 1023 of the key space default for the new ids of old rows
-- lock: none
-- the node is taken in the table of grants, so that no generator gets it
-- undo: none: ids with it may be known elsewhere, so no generator ever gets it

-- step 7 of 27 · map · make the map of the ids of authors
-- lock: none
-- algorithm: catalog only
-- is done when this gives 1: SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_map_authors'
CREATE TABLE `snowkey_map_authors` (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE) ENGINE=InnoDB;
-- undo:
--     is done when this gives 1: SELECT 1 - (SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_map_authors')
--     DROP TABLE `snowkey_map_authors`;

-- step 8 of 27 · map · make the map of the ids of books
-- lock: none
-- algorithm: catalog only
-- is done when this gives 1: SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_map_books'
CREATE TABLE `snowkey_map_books` (old_id BIGINT NOT NULL PRIMARY KEY, new_id BIGINT NOT NULL UNIQUE) ENGINE=InnoDB;
-- undo:
--     is done when this gives 1: SELECT 1 - (SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_map_books')
--     DROP TABLE `snowkey_map_books`;

-- step 9 of 27 · map · fill the map of the ids of authors
-- lock: none: only the map is written
-- algorithm: batches
-- the program fills the map of authors with a new id for each old one
-- undo: none: it goes with the map

-- step 10 of 27 · map · fill the map of the ids of books
-- lock: none: only the map is written
-- algorithm: batches
-- the program fills the map of books with a new id for each old one
-- undo: none: it goes with the map

-- == check · step 11 · what has to be true before the first row changes is looked at

-- step 11 of 27 · check · make sure that each old row has a new id, and that no new id is known anywhere yet
-- lock: none
-- each has to be 0, else: Old rows without a new id came while the maps were filled: a writer still makes ids of the old kind, so stop it. New ids that are there already would be two rows' after the rewriting, or give an orphan a row: take another node, or another layout. In each case roll back, and plan again.
-- old rows of authors without a new id:
SELECT COUNT(*) FROM `authors` c WHERE c.`id` < 4398046511104 AND NOT EXISTS (SELECT 1 FROM `snowkey_map_authors` m WHERE m.old_id = c.`id`);
-- new ids of authors that are old ones:
SELECT (SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `authors` c ON c.`id` = m.new_id) + (SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `snowkey_map_authors` o ON o.old_id = m.new_id);
-- new ids of authors that books.author_id has already:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `books` c ON c.`author_id` = m.new_id;
-- new ids of authors that notes.owner_id (author's) has already:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON c.`owner_id` = CONVERT(m.new_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.new_id) AND c.`owner_type` = 'author''s';
-- new ids of authors that notes.doc:$.author.id has already:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END = m.new_id;
-- old rows of books without a new id:
SELECT COUNT(*) FROM `books` c WHERE c.`id` < 4398046511104 AND NOT EXISTS (SELECT 1 FROM `snowkey_map_books` m WHERE m.old_id = c.`id`);
-- new ids of books that are old ones:
SELECT (SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`id` = m.new_id) + (SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `snowkey_map_books` o ON o.old_id = m.new_id);
-- new ids of books that books.order has already:
SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`order` = m.new_id;

-- == rewrite · steps 12–21 · keys, and what refers to them, get the new ids, in batches

-- step 12 of 27 · rewrite · index notes.owner_id (author's), for as long as it is rewritten
-- lock: none for longer than a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'notes' AND INDEX_NAME = 'snowkey_index_notes_owner_id_6ae0f472'
ALTER TABLE `notes` ADD INDEX `snowkey_index_notes_owner_id_6ae0f472` (`owner_id`), ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT 1 - COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'notes' AND INDEX_NAME = 'snowkey_index_notes_owner_id_6ae0f472'
--     ALTER TABLE `notes` DROP INDEX `snowkey_index_notes_owner_id_6ae0f472`, ALGORITHM=INPLACE, LOCK=NONE;

-- step 13 of 27 · rewrite · index books.order, for as long as it is rewritten
-- lock: none for longer than a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'books' AND INDEX_NAME = 'snowkey_index_books_order_17815251'
ALTER TABLE `books` ADD INDEX `snowkey_index_books_order_17815251` (`order`), ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT 1 - COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'books' AND INDEX_NAME = 'snowkey_index_books_order_17815251'
--     ALTER TABLE `books` DROP INDEX `snowkey_index_books_order_17815251`, ALGORITHM=INPLACE, LOCK=NONE;

-- step 14 of 27 · rewrite · count the references to authors that no foreign key guards; a rollback looks for those that are left
-- lock: none
-- the numbers are noted:
-- old ids of authors:
SELECT (SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s');
-- undo:
--     on a connection of its own, after:
--     SET SESSION foreign_key_checks=0;
--     SET SESSION sql_safe_updates=0;
--     SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
--     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_authors` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON c.`owner_id` = CONVERT(m.new_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.new_id) AND c.`owner_type` = 'author''s')
--     UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.new_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.new_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.old_id, CHAR) WHERE m.old_id > :after AND m.old_id <= :upto;

-- step 15 of 27 · rewrite · count the ids of authors in the JSON of notes.doc:$.author.id; a rollback rewrites them here
-- lock: none
-- the numbers are noted:
-- old ids of authors:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END = m.old_id;
-- undo:
--     on a connection of its own, after:
--     SET SESSION foreign_key_checks=0;
--     SET SESSION sql_safe_updates=0;
--     SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
--     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(`id`) FROM (SELECT `id` FROM `notes` WHERE `id` > :after ORDER BY `id` LIMIT :rows) x
--     and anew when this gives more than 0 at the end: SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END = m.new_id
--     UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.new_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', m.old_id) WHERE c.`id` > :after AND c.`id` <= :upto;
--     UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.new_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', CONVERT(m.old_id, CHAR)) WHERE c.`id` > :after AND c.`id` <= :upto;

-- step 16 of 27 · rewrite · count the references to books that no foreign key guards; a rollback looks for those that are left
-- lock: none
-- the numbers are noted:
-- old ids of books:
SELECT (SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`order` = m.old_id);
-- undo:
--     on a connection of its own, after:
--     SET SESSION foreign_key_checks=0;
--     SET SESSION sql_safe_updates=0;
--     SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
--     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_books` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`order` = m.new_id)
--     UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`order` = m.new_id SET c.`order` = m.old_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;

-- step 17 of 27 · rewrite · give the rows of authors, and all that refers to them, their new ids
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 0 bytes more on disk at the peak
-- on a connection of its own, after:
SET SESSION foreign_key_checks=0;
SET SESSION sql_safe_updates=0;
SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_authors` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `authors` c ON c.`id` = m.old_id SET c.`id` = m.new_id WHERE m.old_id > :after AND m.old_id <= :upto;
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `books` c ON c.`author_id` = m.old_id SET c.`author_id` = m.new_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.new_id, CHAR) WHERE m.old_id > :after AND m.old_id <= :upto;
-- undo:
--     on a connection of its own, after the same statements as above
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_authors` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `authors` c ON c.`id` = m.new_id SET c.`id` = m.old_id WHERE m.old_id > :after AND m.old_id <= :upto;
--     UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `books` c ON c.`author_id` = m.new_id SET c.`author_id` = m.old_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
--     UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.new_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.new_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.old_id, CHAR) WHERE m.old_id > :after AND m.old_id <= :upto;

-- step 18 of 27 · rewrite · give the rows of books, and all that refers to them, their new ids
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 0 bytes more on disk at the peak
-- on a connection of its own, after:
SET SESSION foreign_key_checks=0;
SET SESSION sql_safe_updates=0;
SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_books` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`id` = m.old_id SET c.`id` = m.new_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`order` = m.old_id SET c.`order` = m.new_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
-- undo:
--     on a connection of its own, after the same statements as above
--     again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
--     SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_books` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
--     UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`id` = m.new_id SET c.`id` = m.old_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
--     UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`order` = m.new_id SET c.`order` = m.old_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;

-- step 19 of 27 · rewrite · rewrite the ids of authors in the JSON of notes.doc:$.author.id
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- about: 1,234,567 rows, 1.2 MB written, 0 bytes more on disk at the peak
-- on a connection of its own, after:
SET SESSION foreign_key_checks=0;
SET SESSION sql_safe_updates=0;
SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(`id`) FROM (SELECT `id` FROM `notes` WHERE `id` > :after ORDER BY `id` LIMIT :rows) x
-- and anew when this gives more than 0 at the end: SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END = m.old_id
UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.old_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', m.new_id) WHERE c.`id` > :after AND c.`id` <= :upto;
UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.old_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', CONVERT(m.new_id, CHAR)) WHERE c.`id` > :after AND c.`id` <= :upto;
-- undo: none: a rollback does it when the keys are back, where the step that has counted them is undone

-- step 20 of 27 · rewrite · look for references to authors that were written with old ids meanwhile
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- on a connection of its own, after:
SET SESSION foreign_key_checks=0;
SET SESSION sql_safe_updates=0;
SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_authors` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
-- and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s')
UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.new_id, CHAR) WHERE m.old_id > :after AND m.old_id <= :upto;
-- undo: none: what it moves goes back with the rest

-- step 21 of 27 · rewrite · look for references to books that were written with old ids meanwhile
-- lock: writers wait for the rows of a batch, for as long as it takes
-- algorithm: batches
-- on a connection of its own, after:
SET SESSION foreign_key_checks=0;
SET SESSION sql_safe_updates=0;
SET SESSION sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- again and again, for one range of :after < id <= :upto after another, each in one transaction; the next range ends at:
-- SELECT MAX(old_id) FROM (SELECT old_id FROM `snowkey_map_books` WHERE old_id > :after ORDER BY old_id LIMIT :rows) x
-- and anew when this gives more than 0 at the end: SELECT (SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`order` = m.old_id)
UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`order` = m.old_id SET c.`order` = m.new_id, c.`updated_at` = c.`updated_at` WHERE m.old_id > :after AND m.old_id <= :upto;
-- undo: none: what it moves goes back with the rest

-- == check · steps 22–25 · the result is looked at: no old id is left, and no reference is lost

-- step 22 of 27 · check · make sure that no old id is left
-- lock: none
-- each has to be 0, else: Old ids in a reference were written since it was rewritten: stop who writes them, put them right with the statements above, and run on. Old ids in a key are rows that came with ids that were others' old ones: stop who writes them, give them ids that are new, and run on.
-- old ids of authors in authors.id:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `authors` c ON c.`id` = m.old_id;
-- old ids of authors in books.author_id:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `books` c ON c.`author_id` = m.old_id;
--     put right by: UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `books` c ON c.`author_id` = m.old_id SET c.`author_id` = m.new_id, c.`updated_at` = c.`updated_at` WHERE 1 = 1
-- old ids of authors in notes.owner_id (author's):
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s';
--     put right by: UPDATE `snowkey_map_authors` m STRAIGHT_JOIN `notes` c ON c.`owner_id` = CONVERT(m.old_id USING utf8mb4) COLLATE utf8mb4_unicode_ci AND LENGTH(CONVERT(c.`owner_id` USING utf8mb4)) = LENGTH(m.old_id) AND c.`owner_type` = 'author''s' SET c.`owner_id` = CONVERT(m.new_id, CHAR) WHERE 1 = 1
-- old ids of authors in notes.doc:$.author.id:
SELECT COUNT(*) FROM `snowkey_map_authors` m JOIN `notes` c ON CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER', 'STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END = m.old_id;
--     put right by: UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.old_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('INTEGER', 'UNSIGNED INTEGER') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', m.new_id) WHERE 1 = 1; UPDATE `notes` c STRAIGHT_JOIN `snowkey_map_authors` m ON m.old_id = CASE WHEN JSON_VALID(c.`doc`) THEN CASE WHEN JSON_TYPE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) IN ('STRING') THEN CASE WHEN JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) NOT REGEXP '[^-0-9]' AND JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) REGEXP '^(0|-?[1-9][0-9]{0,17}|[1-8][0-9]{18}|9[01][0-9]{17}|92[01][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14})$' THEN CAST(JSON_UNQUOTE(JSON_EXTRACT(c.`doc`, '$."author"."id"')) AS SIGNED) END END END SET c.`doc` = JSON_SET(c.`doc`, '$."author"."id"', CONVERT(m.new_id, CHAR)) WHERE 1 = 1
-- old ids of books in books.id:
SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`id` = m.old_id;
-- old ids of books in books.order:
SELECT COUNT(*) FROM `snowkey_map_books` m JOIN `books` c ON c.`order` = m.old_id;
--     put right by: UPDATE `snowkey_map_books` m STRAIGHT_JOIN `books` c ON c.`order` = m.old_id SET c.`order` = m.new_id, c.`updated_at` = c.`updated_at` WHERE 1 = 1

-- step 23 of 27 · check · make sure that there are as many orphans as before
-- lock: none
-- each has to be what the step "count the orphans of each reference" has found for it, else: References that a foreign key guards have not as many values that are keys of no row as before. Look at them before going on; a rollback is possible.
-- orphans of books.author_id → authors:
SELECT COUNT(*) FROM `books` c WHERE c.`author_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `authors` p WHERE p.`id` = c.`author_id`);

-- step 24 of 27 · check · drop the index of books.order again
-- lock: none for longer than a moment
-- algorithm: catalog only
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT 1 - COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'books' AND INDEX_NAME = 'snowkey_index_books_order_17815251'
ALTER TABLE `books` DROP INDEX `snowkey_index_books_order_17815251`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'books' AND INDEX_NAME = 'snowkey_index_books_order_17815251'
--     ALTER TABLE `books` ADD INDEX `snowkey_index_books_order_17815251` (`order`), ALGORITHM=INPLACE, LOCK=NONE;

-- step 25 of 27 · check · drop the index of notes.owner_id (author's) again
-- lock: none for longer than a moment
-- algorithm: catalog only
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT 1 - COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'notes' AND INDEX_NAME = 'snowkey_index_notes_owner_id_6ae0f472'
ALTER TABLE `notes` DROP INDEX `snowkey_index_notes_owner_id_6ae0f472`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'notes' AND INDEX_NAME = 'snowkey_index_notes_owner_id_6ae0f472'
--     ALTER TABLE `notes` ADD INDEX `snowkey_index_notes_owner_id_6ae0f472` (`owner_id`), ALGORITHM=INPLACE, LOCK=NONE;

-- == contract · steps 26–27 · the maps are dropped, after which there is no rollback; stops at step 26: wait until the result was verified

-- step 26 of 27 · contract · wait until the result was verified
-- the run ends here: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.

-- step 27 of 27 · contract · drop the maps
-- lock: nobody else uses them
-- algorithm: catalog only
-- is done when this gives 1: SELECT (SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_map_authors') + (SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'snowkey_map_books') = 0
DROP TABLE IF EXISTS `snowkey_map_authors`, `snowkey_map_books`;
-- undo: none, and no rollback of the plan once this is done. Without the maps nobody knows the old ids.
