-- snowkey migrate plan · mode widen · 6 steps
-- plan: 0
-- made: 2026-11-21T20:00:00Z
-- database: shop (sqlite, SQLite 1.2.3, 1)
-- layout: time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- contents:
--    steps 1–6  flip  the database stops making keys; stops at step 1: deploy writers that fill their keys
--
-- in all, about: 2,469,134 rows rewritten, 2.5 MB written, 1.2 MB more on disk at the peak
-- longest lock: step 4, make "or""der s".Id a key that the application fills (1.2 MB): writes to the database wait for as long as the table is copied
--
-- keys:
--    "or""der s".Id  old below 4,398,046,511,104  keeps its ids
--    customers.id    old below 4,398,046,511,104  keeps its ids
--    plain.id        old below 4,398,046,511,104  keeps its ids
--
-- references:
--    plain.order_id           to "or""der s".Id  declared  certain
--    "or""der s".customer_id  to customers.id    declared  certain
--    customers.boss_id        to customers.id    declared  certain
--
-- note 1: SQLite goes on to number the rows that are inserted into plain without id, from the greatest on: no step can end that.

-- == flip · steps 1–6 · the database stops making keys; stops at step 1: deploy writers that fill their keys

-- step 1 of 6 · flip · deploy writers that fill their keys
-- the run ends here: Now deploy the program that fills its keys with snowflakes, and stop every writer that leaves them to the database. Then run on with Continue.

-- step 2 of 6 · flip · make sure that no writer leaves its keys to the database
-- lock: none
-- has to stay the same for 10s, else: Ids below the limit were made meanwhile: a writer is at work that leaves its keys to the database. Stop it, and run again: from the flip on its writes fail.
SELECT (SELECT COALESCE(MAX("Id"), 0) FROM "or""der s" WHERE "Id" < 4398046511104) || ' ' || (SELECT COALESCE(MAX("id"), 0) FROM "customers" WHERE "id" < 4398046511104);

-- step 3 of 6 · flip · count the rows that break a foreign key
-- lock: none
-- the numbers are noted:
-- rows that break a foreign key:
SELECT COUNT(*) FROM pragma_foreign_key_check;

-- step 4 of 6 · flip · make "or""der s".Id a key that the application fills
-- lock: writes to the database wait for as long as the table is copied
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
PRAGMA foreign_keys = OFF;
PRAGMA legacy_alter_table = ON;
-- in one transaction:
CREATE TABLE "snowkey_new_bf32af5bbf4d" ("Id" INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE);
INSERT INTO "snowkey_new_bf32af5bbf4d" ("Id", "customer_id") SELECT "Id", "customer_id" FROM "or""der s";
DROP TABLE "or""der s";
ALTER TABLE "snowkey_new_bf32af5bbf4d" RENAME TO "or""der s";
-- undo:
--     on a connection of its own, after the same statements as above
--     in one transaction:
--     CREATE TABLE "snowkey_new_bf32af5bbf4d" ("Id" INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE);
--     INSERT INTO "snowkey_new_bf32af5bbf4d" ("Id", "customer_id") SELECT "Id", "customer_id" FROM "or""der s";
--     DROP TABLE "or""der s";
--     ALTER TABLE "snowkey_new_bf32af5bbf4d" RENAME TO "or""der s";
--     INSERT INTO sqlite_sequence (name, seq) SELECT 'or"der s', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'or"der s');
--     UPDATE sqlite_sequence SET seq = max(coalesce(seq, 0), 3, coalesce((SELECT max("Id") FROM "or""der s"), 0)) WHERE name = 'or"der s';

-- step 5 of 6 · flip · make customers.id a key that the application fills
-- lock: writes to the database wait for as long as the table is copied
-- algorithm: rewrite
-- about: 1,234,567 rows, 1.2 MB written, 1.2 MB more on disk at the peak
-- on a connection of its own, after:
PRAGMA foreign_keys = OFF;
PRAGMA legacy_alter_table = ON;
-- in one transaction:
CREATE TABLE "snowkey_new_53449f038b7b" (id INTEGER PRIMARY KEY, -- AUTOINCREMENT, but not [autoincrement]
 boss_id INT REFERENCES customers ON DELETE SET NULL, email VARCHAR(80) NOT NULL UNIQUE COLLATE NOCASE, "AUTOINCREMENT" TEXT DEFAULT 'AUTOINCREMENT', up TEXT AS (upper(email)) STORED, CHECK (id <> 13));
INSERT INTO "snowkey_new_53449f038b7b" ("id", "boss_id", "email", "AUTOINCREMENT") SELECT "id", "boss_id", "email", "AUTOINCREMENT" FROM "customers";
DROP TABLE "customers";
ALTER TABLE "snowkey_new_53449f038b7b" RENAME TO "customers";
CREATE INDEX part ON customers (boss_id) WHERE boss_id IS NOT NULL;
CREATE TRIGGER logged AFTER INSERT ON customers BEGIN INSERT INTO log VALUES (NEW.id); END;
-- undo:
--     on a connection of its own, after the same statements as above
--     in one transaction:
--     CREATE TABLE "snowkey_new_53449f038b7b" (id INTEGER PRIMARY KEY AUTOINCREMENT, -- AUTOINCREMENT, but not [autoincrement]
--      boss_id INT REFERENCES customers ON DELETE SET NULL, email VARCHAR(80) NOT NULL UNIQUE COLLATE NOCASE, "AUTOINCREMENT" TEXT DEFAULT 'AUTOINCREMENT', up TEXT AS (upper(email)) STORED, CHECK (id <> 13));
--     INSERT INTO "snowkey_new_53449f038b7b" ("id", "boss_id", "email", "AUTOINCREMENT") SELECT "id", "boss_id", "email", "AUTOINCREMENT" FROM "customers";
--     DROP TABLE "customers";
--     ALTER TABLE "snowkey_new_53449f038b7b" RENAME TO "customers";
--     CREATE INDEX part ON customers (boss_id) WHERE boss_id IS NOT NULL;
--     CREATE TRIGGER logged AFTER INSERT ON customers BEGIN INSERT INTO log VALUES (NEW.id); END;
--     INSERT INTO sqlite_sequence (name, seq) SELECT 'customers', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'customers');
--     UPDATE sqlite_sequence SET seq = max(coalesce(seq, 0), 9, coalesce((SELECT max("id") FROM "customers"), 0)) WHERE name = 'customers';

-- step 6 of 6 · flip · make sure that no foreign key is broken
-- lock: none
-- each has to be what the step "count the rows that break a foreign key" has found for it, else: Rows break foreign keys that did not before: PRAGMA foreign_key_check lists them. Mend them, and run again.
-- rows that break a foreign key:
SELECT COUNT(*) FROM pragma_foreign_key_check;
