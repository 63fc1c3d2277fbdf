-- snowkey migrate plan · mode widen · 33 steps
-- plan: 0
-- made: 2026-11-21T20:00:00Z
-- database: shop (mysql, MariaDB 1.2.3, 1)
-- layout: time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- contents:
--    steps 1–25   expand  keys, and what refers to them, get 64 bits
--    steps 26–33  flip    the database stops making keys; stops at step 26: deploy writers that fill their keys
--
-- in all, about: 4,938,268 rows rewritten, 4.9 MB written, 1.2 MB more on disk at the peak
-- longest lock: step 15, give boss_id, id of customers 64 bits (1.2 MB): writes to the table wait for as long as it is copied
--
-- keys:
--    "or`der s".Id  old below 4,398,046,511,104  keeps its ids
--    by_mail.id     old below 4,398,046,511,104  keeps its ids
--    customers.id   old below 4,398,046,511,104  keeps its ids
--
-- references:
--    lines.order_id          to "or`der s".Id  declared  certain
--    "or`der s".customer_id  to customers.id   declared  certain
--    "or`der s".payer_id     to customers.id   declared  certain
--    customers.boss_id       to customers.id   declared  certain
--    profiles.customer_id    to customers.id   declared  certain

-- == expand · steps 1–25 · keys, and what refers to them, get 64 bits

-- step 1 of 33 · expand · keep snowflakes out of "or`der s".Id until the flip
-- lock: writes to the table wait for a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_a0c34a2f85bd'
CREATE TRIGGER `snowkey_gate_a0c34a2f85bd` BEFORE INSERT ON `or``der s` FOR EACH ROW IF NEW.`Id` >= 4398046511104 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey migrate: no snowflakes in "or`der s" before the flip: run on with Continue, then try again'; END IF;
-- undo:
--     is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_a0c34a2f85bd'
--     DROP TRIGGER IF EXISTS `snowkey_gate_a0c34a2f85bd`;

-- step 2 of 33 · expand · keep snowflakes out of customers.id until the flip
-- lock: writes to the table wait for a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_21eb2153dd14'
CREATE TRIGGER `snowkey_gate_21eb2153dd14` BEFORE INSERT ON `customers` FOR EACH ROW IF NEW.`id` >= 4398046511104 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey migrate: no snowflakes in customers before the flip: run on with Continue, then try again'; END IF;
-- undo:
--     is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_21eb2153dd14'
--     DROP TRIGGER IF EXISTS `snowkey_gate_21eb2153dd14`;

-- step 3 of 33 · expand · keep snowflakes out of profiles.customer_id until the flip
-- lock: writes to the table wait for a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_d52fd337f016'
CREATE TRIGGER `snowkey_gate_d52fd337f016` BEFORE INSERT ON `profiles` FOR EACH ROW IF NEW.`customer_id` >= 4398046511104 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'snowkey migrate: no snowflakes in profiles before the flip: run on with Continue, then try again'; END IF;
-- undo:
--     is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_d52fd337f016'
--     DROP TRIGGER IF EXISTS `snowkey_gate_d52fd337f016`;

-- step 4 of 33 · expand · count the orphans of the foreign keys that are dropped for a while, of customers, lines, "or`der s", profiles
-- lock: none
-- about: 1,234,567 rows read
-- the numbers are noted:
-- orphans by the foreign key fk_boss of customers:
SELECT COUNT(*) FROM `customers` c WHERE c.`boss_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`boss_id`);
-- orphans by the foreign key fk_lines of lines:
SELECT COUNT(*) FROM `lines` c WHERE c.`order_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `or``der s` p WHERE p.`Id` = c.`order_id`);
-- orphans by the foreign key fk 1 of "or`der s":
SELECT COUNT(*) FROM `or``der s` c WHERE c.`customer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`customer_id`);
-- orphans by the foreign key fk_pair of "or`der s":
SELECT COUNT(*) FROM `or``der s` c WHERE c.`region` IS NOT NULL AND c.`customer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`region` = c.`region` AND p.`id` = c.`customer_id`);
-- orphans by the foreign key fk`2 of "or`der s":
SELECT COUNT(*) FROM `or``der s` c WHERE c.`payer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`payer_id`);
-- orphans by the foreign key fk_profile of profiles:
SELECT COUNT(*) FROM `profiles` c WHERE c.`customer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`customer_id`);

-- step 5 of 33 · expand · drop the foreign key fk_boss of customers until the types are changed
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND CONSTRAINT_NAME = 'fk_boss' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `customers` DROP FOREIGN KEY `fk_boss`, RENAME INDEX `fk_boss` TO `fk_boss`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     SET foreign_key_checks = 0;
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND CONSTRAINT_NAME = 'fk_boss' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
--     ALTER TABLE `customers` ADD CONSTRAINT `fk_boss` FOREIGN KEY (`boss_id`) REFERENCES `customers` (`id`) ON DELETE SET NULL, ALGORITHM=INPLACE, LOCK=NONE;

-- step 6 of 33 · expand · drop the foreign key fk_lines of lines until the types are changed
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND CONSTRAINT_NAME = 'fk_lines' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `lines` DROP FOREIGN KEY `fk_lines`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     SET foreign_key_checks = 0;
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND CONSTRAINT_NAME = 'fk_lines' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
--     ALTER TABLE `lines` ADD CONSTRAINT `fk_lines` FOREIGN KEY (`order_id`) REFERENCES `or``der s` (`Id`) ON DELETE CASCADE, ALGORITHM=INPLACE, LOCK=NONE;

-- step 7 of 33 · expand · drop the foreign key fk 1 of "or`der s" until the types are changed
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk 1' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `or``der s` DROP FOREIGN KEY `fk 1`, RENAME INDEX `fk 1` TO `fk 1`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     SET foreign_key_checks = 0;
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk 1' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
--     ALTER TABLE `or``der s` ADD CONSTRAINT `fk 1` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`) ON DELETE CASCADE ON UPDATE CASCADE, ALGORITHM=INPLACE, LOCK=NONE;

-- step 8 of 33 · expand · drop the foreign key fk_pair of "or`der s" until the types are changed
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk_pair' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `or``der s` DROP FOREIGN KEY `fk_pair`, RENAME INDEX `fk_pair` TO `fk_pair`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     SET foreign_key_checks = 0;
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk_pair' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
--     ALTER TABLE `or``der s` ADD CONSTRAINT `fk_pair` FOREIGN KEY (`region`, `customer_id`) REFERENCES `customers` (`region`, `id`), ALGORITHM=INPLACE, LOCK=NONE;

-- step 9 of 33 · expand · drop the foreign key fk`2 of "or`der s" until the types are changed
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk`2' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `or``der s` DROP FOREIGN KEY `fk``2`, RENAME INDEX `fk``2` TO `fk``2`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     SET foreign_key_checks = 0;
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk`2' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
--     ALTER TABLE `or``der s` ADD CONSTRAINT `fk``2` FOREIGN KEY (`payer_id`) REFERENCES `customers` (`id`), ALGORITHM=INPLACE, LOCK=NONE;

-- step 10 of 33 · expand · drop the foreign key fk_profile of profiles until the types are changed
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND CONSTRAINT_NAME = 'fk_profile' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `profiles` DROP FOREIGN KEY `fk_profile`, ALGORITHM=INPLACE, LOCK=NONE;
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     SET foreign_key_checks = 0;
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND CONSTRAINT_NAME = 'fk_profile' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
--     ALTER TABLE `profiles` ADD CONSTRAINT `fk_profile` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`), ALGORITHM=INPLACE, LOCK=NONE;

-- step 11 of 33 · expand · make sure that no foreign key is left on customers
-- lock: none
-- each has to be 0, else: A foreign key was made since the plan was: roll back, and plan again.
-- foreign keys of and to customers:
SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA = 'shop' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') OR REFERENCED_TABLE_SCHEMA = 'shop' AND BINARY REFERENCED_TABLE_NAME = 'customers' AND REFERENCED_COLUMN_NAME IN ('boss_id', 'id'));
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') AND DATA_TYPE = 'bigint') = 2 OR (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') AND DATA_TYPE = 'bigint') = 0
--     ALTER TABLE `customers` MODIFY `boss_id` bigint DEFAULT NULL COMMENT 'may be none', MODIFY `id` bigint NOT NULL AUTO_INCREMENT COMMENT 'the AUTO_INCREMENT of "it''s" COMMENT', ALGORITHM=COPY, LOCK=SHARED;

-- step 12 of 33 · expand · make sure that no foreign key is left on "or`der s"
-- lock: none
-- each has to be 0, else: A foreign key was made since the plan was: roll back, and plan again.
-- foreign keys of and to "or`der s":
SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA = 'shop' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') OR REFERENCED_TABLE_SCHEMA = 'shop' AND BINARY REFERENCED_TABLE_NAME = 'or`der s' AND REFERENCED_COLUMN_NAME IN ('payer_id', 'customer_id', 'Id'));
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') AND DATA_TYPE = 'bigint') = 3 OR (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') AND DATA_TYPE = 'bigint') = 0
--     ALTER TABLE `or``der s` MODIFY `payer_id` bigint DEFAULT NULL, MODIFY `customer_id` bigint NOT NULL COMMENT 'who', MODIFY `Id` bigint unsigned NOT NULL AUTO_INCREMENT, ALGORITHM=COPY, LOCK=SHARED;

-- step 13 of 33 · expand · make sure that no foreign key is left on lines
-- lock: none
-- each has to be 0, else: A foreign key was made since the plan was: roll back, and plan again.
-- foreign keys of and to lines:
SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA = 'shop' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') OR REFERENCED_TABLE_SCHEMA = 'shop' AND BINARY REFERENCED_TABLE_NAME = 'lines' AND REFERENCED_COLUMN_NAME IN ('order_id'));
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') AND DATA_TYPE = 'bigint') = 1 OR (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') AND DATA_TYPE = 'bigint') = 0
--     ALTER TABLE `lines` MODIFY `order_id` bigint unsigned NOT NULL DEFAULT 1, ALGORITHM=COPY, LOCK=SHARED;

-- step 14 of 33 · expand · make sure that no foreign key is left on profiles
-- lock: none
-- each has to be 0, else: A foreign key was made since the plan was: roll back, and plan again.
-- foreign keys of and to profiles:
SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA = 'shop' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') OR REFERENCED_TABLE_SCHEMA = 'shop' AND BINARY REFERENCED_TABLE_NAME = 'profiles' AND REFERENCED_COLUMN_NAME IN ('customer_id'));
-- undo:
--     on a connection of its own, after:
--     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
--     is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') AND DATA_TYPE = 'bigint') = 1 OR (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') AND DATA_TYPE = 'bigint') + (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') AND DATA_TYPE = 'bigint') = 0
--     ALTER TABLE `profiles` MODIFY `customer_id` bigint NOT NULL AUTO_INCREMENT, ALGORITHM=COPY, LOCK=SHARED;

-- step 15 of 33 · expand · give boss_id, id of customers 64 bits
-- lock: writes to the table wait for as long as it is copied
-- algorithm: COPY
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME IN ('boss_id', 'id') AND DATA_TYPE = 'bigint') = 2
ALTER TABLE `customers` MODIFY `boss_id` bigint DEFAULT NULL COMMENT 'may be none', MODIFY `id` bigint NOT NULL AUTO_INCREMENT COMMENT 'the AUTO_INCREMENT of "it''s" COMMENT', ALGORITHM=COPY, LOCK=SHARED;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 16 of 33 · expand · give payer_id, customer_id, Id of "or`der s" 64 bits
-- lock: writes to the table wait for as long as it is copied
-- algorithm: COPY
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME IN ('payer_id', 'customer_id', 'Id') AND DATA_TYPE = 'bigint') = 3
ALTER TABLE `or``der s` MODIFY `payer_id` bigint DEFAULT NULL, MODIFY `customer_id` bigint NOT NULL COMMENT 'who', MODIFY `Id` bigint unsigned NOT NULL AUTO_INCREMENT, ALGORITHM=COPY, LOCK=SHARED;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 17 of 33 · expand · give order_id of lines 64 bits
-- lock: writes to the table wait for as long as it is copied
-- algorithm: COPY
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND COLUMN_NAME IN ('order_id') AND DATA_TYPE = 'bigint') = 1
ALTER TABLE `lines` MODIFY `order_id` bigint unsigned NOT NULL DEFAULT 1, ALGORITHM=COPY, LOCK=SHARED;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 18 of 33 · expand · give customer_id of profiles 64 bits
-- lock: writes to the table wait for as long as it is copied
-- algorithm: COPY
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
-- is done when this gives 1: SELECT (SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME IN ('customer_id') AND DATA_TYPE = 'bigint') = 1
ALTER TABLE `profiles` MODIFY `customer_id` bigint NOT NULL AUTO_INCREMENT, ALGORITHM=COPY, LOCK=SHARED;
-- undo: none: the column keeps its 64 bits, for ids may be in it that need them; a narrower type holds nothing that it does not

-- step 19 of 33 · expand · make the foreign key fk_boss of customers again
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND CONSTRAINT_NAME = 'fk_boss' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `customers` ADD CONSTRAINT `fk_boss` FOREIGN KEY (`boss_id`) REFERENCES `customers` (`id`) ON DELETE SET NULL, ALGORITHM=INPLACE, LOCK=NONE;
-- undo: none: it is what was there before

-- step 20 of 33 · expand · make the foreign key fk_lines of lines again
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'lines' AND BINARY TABLE_NAME = 'lines' AND CONSTRAINT_NAME = 'fk_lines' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `lines` ADD CONSTRAINT `fk_lines` FOREIGN KEY (`order_id`) REFERENCES `or``der s` (`Id`) ON DELETE CASCADE, ALGORITHM=INPLACE, LOCK=NONE;
-- undo: none: it is what was there before

-- step 21 of 33 · expand · make the foreign key fk 1 of "or`der s" again
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk 1' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `or``der s` ADD CONSTRAINT `fk 1` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`) ON DELETE CASCADE ON UPDATE CASCADE, ALGORITHM=INPLACE, LOCK=NONE;
-- undo: none: it is what was there before

-- step 22 of 33 · expand · make the foreign key fk_pair of "or`der s" again
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk_pair' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `or``der s` ADD CONSTRAINT `fk_pair` FOREIGN KEY (`region`, `customer_id`) REFERENCES `customers` (`region`, `id`), ALGORITHM=INPLACE, LOCK=NONE;
-- undo: none: it is what was there before

-- step 23 of 33 · expand · make the foreign key fk`2 of "or`der s" again
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND CONSTRAINT_NAME = 'fk`2' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `or``der s` ADD CONSTRAINT `fk``2` FOREIGN KEY (`payer_id`) REFERENCES `customers` (`id`), ALGORITHM=INPLACE, LOCK=NONE;
-- undo: none: it is what was there before

-- step 24 of 33 · expand · make the foreign key fk_profile of profiles again
-- lock: writes to both tables wait for a moment
-- algorithm: INPLACE
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop' AND TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND CONSTRAINT_NAME = 'fk_profile' AND CONSTRAINT_TYPE = 'FOREIGN KEY'
ALTER TABLE `profiles` ADD CONSTRAINT `fk_profile` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`), ALGORITHM=INPLACE, LOCK=NONE;
-- undo: none: it is what was there before

-- step 25 of 33 · expand · make sure that the foreign keys have no new orphans, of customers, lines, "or`der s", profiles
-- lock: none
-- about: 1,234,567 rows read
-- each has to be what the step "count the orphans of the foreign keys that are dropped for a while, of customers, lines, \"or`der s\", profiles" has found for it, else: While the foreign keys were not there, rows came that refer to no row: mend them (the queries find them), and run again.
-- orphans by the foreign key fk_boss of customers:
SELECT COUNT(*) FROM `customers` c WHERE c.`boss_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`boss_id`);
-- orphans by the foreign key fk_lines of lines:
SELECT COUNT(*) FROM `lines` c WHERE c.`order_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `or``der s` p WHERE p.`Id` = c.`order_id`);
-- orphans by the foreign key fk 1 of "or`der s":
SELECT COUNT(*) FROM `or``der s` c WHERE c.`customer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`customer_id`);
-- orphans by the foreign key fk_pair of "or`der s":
SELECT COUNT(*) FROM `or``der s` c WHERE c.`region` IS NOT NULL AND c.`customer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`region` = c.`region` AND p.`id` = c.`customer_id`);
-- orphans by the foreign key fk`2 of "or`der s":
SELECT COUNT(*) FROM `or``der s` c WHERE c.`payer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`payer_id`);
-- orphans by the foreign key fk_profile of profiles:
SELECT COUNT(*) FROM `profiles` c WHERE c.`customer_id` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `customers` p WHERE p.`id` = c.`customer_id`);

-- == flip · steps 26–33 · the database stops making keys; stops at step 26: deploy writers that fill their keys

-- step 26 of 33 · flip · deploy writers that fill their keys
-- the run ends here: Now deploy the program that fills its keys with snowflakes, and stop every writer that leaves them to the database. Then run on with Continue.

-- step 27 of 33 · flip · make sure that no writer leaves its keys to the database
-- lock: none
-- has to stay the same for 10s, else: Ids below the limit were made meanwhile: a writer is at work that leaves its keys to the database. Stop it, and run again: from the flip on its writes fail.
SELECT CONCAT_WS(' ', (SELECT COALESCE(MAX(`Id`), 0) FROM `or``der s`), (SELECT COALESCE(MAX(`id`), 0) FROM `customers`), (SELECT COALESCE(MAX(`customer_id`), 0) FROM `profiles`));

-- step 28 of 33 · flip · make "or`der s".Id a key that the application fills
-- lock: writes to the table wait for a moment
-- algorithm: INSTANT
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME = 'Id' AND EXTRA LIKE '%auto_increment%'
ALTER TABLE `or``der s` MODIFY `Id` bigint unsigned NOT NULL, ALGORITHM=INSTANT, LOCK=DEFAULT;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'or`der s' AND BINARY TABLE_NAME = 'or`der s' AND COLUMN_NAME = 'Id' AND EXTRA LIKE '%auto_increment%'
--     ALTER TABLE `or``der s` MODIFY `Id` bigint unsigned NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = 3, ALGORITHM=COPY, LOCK=SHARED;

-- step 29 of 33 · flip · let snowflakes into "or`der s".Id
-- lock: writes to the table wait for a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_a0c34a2f85bd'
DROP TRIGGER IF EXISTS `snowkey_gate_a0c34a2f85bd`;
-- undo: none: a rollback does not refuse what is written while it runs; with snowflakes in the table the counter goes on from the greatest

-- step 30 of 33 · flip · make customers.id a key that the application fills
-- lock: writes to the table wait for a moment
-- algorithm: INSTANT
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME = 'id' AND EXTRA LIKE '%auto_increment%'
ALTER TABLE `customers` MODIFY `id` bigint NOT NULL COMMENT 'the AUTO_INCREMENT of "it''s" COMMENT', ALGORITHM=INSTANT, LOCK=DEFAULT;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'customers' AND BINARY TABLE_NAME = 'customers' AND COLUMN_NAME = 'id' AND EXTRA LIKE '%auto_increment%'
--     ALTER TABLE `customers` MODIFY `id` bigint NOT NULL AUTO_INCREMENT COMMENT 'the AUTO_INCREMENT of "it''s" COMMENT', AUTO_INCREMENT = 4, ALGORITHM=COPY, LOCK=SHARED;

-- step 31 of 33 · flip · let snowflakes into customers.id
-- lock: writes to the table wait for a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_21eb2153dd14'
DROP TRIGGER IF EXISTS `snowkey_gate_21eb2153dd14`;
-- undo: none: a rollback does not refuse what is written while it runs; with snowflakes in the table the counter goes on from the greatest

-- step 32 of 33 · flip · make profiles.customer_id a key that the application fills
-- lock: writes to the table wait for a moment
-- algorithm: INSTANT
-- on a connection of its own, after:
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
SET foreign_key_checks = 0;
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME = 'customer_id' AND EXTRA LIKE '%auto_increment%'
ALTER TABLE `profiles` MODIFY `customer_id` bigint NOT NULL, ALGORITHM=INSTANT, LOCK=DEFAULT;
-- undo:
--     on a connection of its own, after the same statements as above
--     is done when this gives 1: SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'profiles' AND BINARY TABLE_NAME = 'profiles' AND COLUMN_NAME = 'customer_id' AND EXTRA LIKE '%auto_increment%'
--     ALTER TABLE `profiles` MODIFY `customer_id` bigint NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = 4, ALGORITHM=COPY, LOCK=SHARED;

-- step 33 of 33 · flip · let snowflakes into profiles.customer_id
-- lock: writes to the table wait for a moment
-- algorithm: catalog only
-- is done when this gives 1: SELECT COUNT(*) = 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' AND TRIGGER_NAME = 'snowkey_gate_d52fd337f016'
DROP TRIGGER IF EXISTS `snowkey_gate_d52fd337f016`;
-- undo: none: a rollback does not refuse what is written while it runs; with snowflakes in the table the counter goes on from the greatest
