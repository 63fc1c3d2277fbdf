-- snowkey migrate plan · mode widen · 27 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (MariaDB 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- "or`der s".Id, by_mail.id, customers.id: old rows keep their ids; old are ids below 4,398,046,511,104
--
--  step                                                                                     table                  lock                  rows  about
--  1      keep snowflakes out of "or`der s".Id, customers.id, profiles.customer_id until …  "or`der s" and 2 more  writes, briefly
--  2      count the orphans of the foreign keys that are dropped for a while, of customer…  customers and 3 more   none             1,234,567   ~1 s
--  3–8    drop the foreign key … of … until the types are changed                           customers and 3 more   writes, briefly
--  9–12   make sure that no foreign key is left on …                                        customers and 3 more   none
--  13–16  give … of … 64 bits                                                               customers and 3 more   writes           4,938,268  ~10 s
--  17–22  make the foreign key … of … again                                                 customers and 3 more   writes, briefly
--  23     make sure that the foreign keys have no new orphans, of customers, lines, "or`d…  customers and 3 more   none             1,234,567   ~1 s
--  24     deploy writers that fill their keys                                                                      none
--  25     make sure, for 2s, that no writer leaves its keys to the database                 "or`der s" and 2 more  none                         ~1 s
--  26     end the keys that the database makes, of "or`der s".Id, customers.id, profiles.…  "or`der s" and 2 more  writes, briefly
--  27     drop the triggers that kept snowflakes out                                        "or`der s" and 2 more  writes, briefly
-- in all: ~10 s, about 4,938,268 rows rewritten, 4.9 MB written, 1.2 MB more on disk at the peak
-- times: no more than their order of magnitude: nothing was measured on this server. Taken are, rows a second: 30,000 in batches, 50,000 into maps,
--     100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted
-- longest lock: step 13, give boss_id, id of customers 64 bits (1.2 MB): writes to the table wait for as long as it is copied
-- lock writes, briefly: writes to one table after another wait for a moment; or writes to both tables wait for a moment
-- lock writes: writes to the table wait for as long as it is copied
-- inserts refused: those that leave keys to the database: from step 26 on, for good. Those that fill keys: from step 1 until a run with
--     --continue=deploy-writers has done step 26; deploy their writers at the hold of step 24, not before, and run on at once: then for about 2.15s, longer
--     only while others keep a table's lock
-- rollback: undoes what was done, the last step first
--
-- references by foreign keys: lines.order_id → "or`der s", "or`der s".customer_id → customers, "or`der s".payer_id → customers, customers.boss_id →
--     customers, profiles.customer_id → customers
--
-- note 1: lines.n keeps its 32 bits, and goes on as it is: the key of lines is order_id, n, and a plan changes keys of one column.
-- note 2: From the first step of expand to its last, foreign keys with ON DELETE CASCADE or SET NULL are missing, of customers, lines, "or`der s": a
--     row that is deleted meanwhile leaves the rows that refer to it. The run stops once the keys are back, and has the statement that does what ON DELETE
--     would have done.

-- == expand · keys, and what refers to them, get 64 bits
-- 1 · keep snowflakes out of "or`der s".Id, customers.id, profiles.customer_id until the flip
CREATE TRIGGER `snowkey_gate_a0c34a2f85bd` BEFORE INSERT ON `or``der s` FOR EACH ROW IF NEW.`Id` >= 4398046511104 AND EXISTS (SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME = 'Id' AND EXTRA LIKE '%auto_increment%') THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey migrate: no snowflakes in "or`der s" before the flip; next: snowkey migrate status'; END IF;
CREATE TRIGGER `snowkey_gate_21eb2153dd14` BEFORE INSERT ON `customers` FOR EACH ROW IF NEW.`id` >= 4398046511104 AND EXISTS (SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME = 'id' AND EXTRA LIKE '%auto_increment%') THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey migrate: no snowflakes in customers before the flip; next: snowkey migrate status'; END IF;
CREATE TRIGGER `snowkey_gate_d52fd337f016` BEFORE INSERT ON `profiles` FOR EACH ROW IF NEW.`customer_id` >= 4398046511104 AND EXISTS (SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME = 'customer_id' AND EXTRA LIKE '%auto_increment%') THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey migrate: no snowflakes in profiles before the flip; next: snowkey migrate status'; END IF;
-- 2 · count the orphans of the foreign keys that are dropped for a while, of customers, lines, "or`der s", profiles
--    counts: orphans by the foreign key … of … (fk_boss customers, fk_lines lines, fk 1 "or`der s", fk_pair "or`der s", fk`2 "or`der s", fk_profile
--     profiles)
-- 3–8 · drop the foreign key … of … until the types are changed
ALTER TABLE `{1}` DROP FOREIGN KEY `{2}`, RENAME INDEX `{2}` TO `{2}`, ALGORITHM=INPLACE, LOCK=NONE;
--    {1} {2} = customers fk_boss; "or``der s" "fk 1"; "or``der s" fk_pair; "or``der s" "fk``2"
ALTER TABLE `{1}` DROP FOREIGN KEY `{2}`, ALGORITHM=INPLACE, LOCK=NONE;
--    {1} {2} = lines fk_lines; profiles fk_profile
-- 9–12 · make sure that no foreign key is left on …
--    each has to be 0: foreign keys of and to … (customers, "or`der s", lines, profiles)
-- 13–16 · give … of … 64 bits
ALTER TABLE `customers` MODIFY `boss_id` bigint DEFAULT NULL COMMENT 'may be none', MODIFY `id` bigint NOT NULL AUTO_INCREMENT COMMENT 'the AUTO_INCREMENT of "it''s" COMMENT', ALGORITHM=COPY, LOCK=SHARED;
ALTER TABLE `or``der s` MODIFY `payer_id` bigint DEFAULT NULL, MODIFY `customer_id` bigint NOT NULL COMMENT 'who', MODIFY `Id` bigint unsigned NOT NULL AUTO_INCREMENT, ALGORITHM=COPY, LOCK=SHARED;
ALTER TABLE `lines` MODIFY `order_id` bigint unsigned NOT NULL DEFAULT 1, ALGORITHM=COPY, LOCK=SHARED;
ALTER TABLE `profiles` MODIFY `customer_id` bigint NOT NULL AUTO_INCREMENT, ALGORITHM=COPY, LOCK=SHARED;
-- 17–22 · make the foreign key … of … again
ALTER TABLE `customers` ADD CONSTRAINT `fk_boss` FOREIGN KEY (`boss_id`) REFERENCES `customers` (`id`) ON DELETE SET NULL, ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE `lines` ADD CONSTRAINT `fk_lines` FOREIGN KEY (`order_id`) REFERENCES `or``der s` (`Id`) ON DELETE CASCADE, ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE `or``der s` ADD CONSTRAINT `fk 1` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`) ON DELETE CASCADE ON UPDATE CASCADE, ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE `or``der s` ADD CONSTRAINT `fk_pair` FOREIGN KEY (`region`, `customer_id`) REFERENCES `customers` (`region`, `id`), ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE `or``der s` ADD CONSTRAINT `fk``2` FOREIGN KEY (`payer_id`) REFERENCES `customers` (`id`), ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE `profiles` ADD CONSTRAINT `fk_profile` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`), ALGORITHM=INPLACE, LOCK=NONE;
-- 23 · make sure that the foreign keys have no new orphans, of customers, lines, "or`der s", profiles
--    each has to be what it was before: orphans by the foreign key … of … (fk_boss customers, fk_lines lines, fk 1 "or`der s", fk_pair "or`der s", fk`2
--     "or`der s", fk_profile profiles)

-- == flip · the database stops making keys
-- 24 · deploy writers that fill their keys
--    the run ends here, and run --continue=deploy-writers goes on: Now deploy the program that fills its keys with snowflakes, and stop every writer
--     that leaves them to the database. Until the plan is done, change nothing else in the definitions of its tables. Run on at once: inserts that fill
--     keys are refused until then, and for about 2.15s of that run at the most, the window of 2s and a change of the catalog of 3 tables, and for longer
--     only while other transactions keep the locks of a table.
-- 25 · make sure, for 2s, that no writer leaves its keys to the database
--    for 2s nothing may change there, else: So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy
--     it as one that fills keys, and run again. From the flip on its inserts fail. SHOW FULL PROCESSLIST has the sessions, with the hosts that they come
--     from.
-- 26 · end the keys that the database makes, of "or`der s".Id, customers.id, profiles.customer_id
ALTER TABLE `or``der s` MODIFY `Id` bigint unsigned NOT NULL, ALGORITHM=INSTANT, LOCK=DEFAULT;
ALTER TABLE `customers` MODIFY `id` bigint NOT NULL COMMENT 'the AUTO_INCREMENT of "it''s" COMMENT', ALGORITHM=INSTANT, LOCK=DEFAULT;
ALTER TABLE `profiles` MODIFY `customer_id` bigint NOT NULL, ALGORITHM=INSTANT, LOCK=DEFAULT;
-- 27 · drop the triggers that kept snowflakes out
DROP TRIGGER IF EXISTS `snowkey_gate_{1}`;
--    {1} = a0c34a2f85bd, 21eb2153dd14, d52fd337f016
