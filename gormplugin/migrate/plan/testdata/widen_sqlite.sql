-- snowkey migrate plan · mode widen · 6 steps
-- plan: 0
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-21T20:00:00Z
-- database: shop (SQLite 1.2.3, 1)
-- schema: 0000000000000000000000000000000000000000000000000000000000000000
--
-- "or""der s".Id, customers.id, plain.id: old rows keep their ids; old are ids below 4,398,046,511,104
--
--  step                                                                      table                   lock         rows  seconds
--  1     deploy writers that fill their keys                                                         none
--  2     make sure, for 10s, that no writer leaves its keys to the database  "or""der s", customers  none                    10
--  3     count the rows that break a foreign key                                                     none
--  4     make "or""der s".Id a key that the application fills                "or""der s"             writes  1,234,567        6
--  5     make customers.id a key that the application fills                  customers               writes  1,234,567        6
--  6     make sure that no foreign key is broken                                                     none
-- in all, about: 22s, 2,469,134 rows rewritten, 2.5 MB written, 1.2 MB more on disk at the peak
-- seconds: estimated, rows a second: 30,000 in batches, 50,000 into maps, 100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes,
--     1,000,000 counted
-- longest lock: step 4, make "or""der s".Id a key that the application fills (1.2 MB): writes to the database wait for as long as the table is copied
-- lock writes: writes to the database wait for as long as the table is copied
-- rollback: undoes what was done, the last step first
--
-- references by foreign keys: plain.order_id → "or""der s", "or""der s".customer_id → customers, customers.boss_id → customers
--
-- note 1: SQLite goes on to number rows that come without their key, with AUTOINCREMENT and without it: by the greatest key there is plus 1, which
--     after the first snowflake is a number that a generator may make, too. No step ends that: see that every writer fills its keys. It is so of "or""der
--     s".Id, customers.id, plain.id.

-- == flip · the database stops making keys
-- 1 · deploy writers that fill their keys
--    the run ends here, and run --continue=deploy-writers goes on: Now deploy the program that fills its keys with snowflakes, and stop every writer
--     that leaves them to the database.
-- 2 · make sure, for 10s, that no writer leaves its keys to the database
--    for 10s nothing may change there, else: So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy
--     it as one that fills keys, and run again. After the flip SQLite numbers its rows by the greatest key there is plus 1.
-- 3 · count the rows that break a foreign key
--    counts: rows that break a foreign key
-- 4 · make "or""der s".Id a key that the application fills
CREATE TABLE "snowkey_new_bf32af5bbf4d" ("Id" INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE);
INSERT INTO "snowkey_new_bf32af5bbf4d" ("Id", "customer_id") SELECT "Id", "customer_id" FROM "or""der s";
DROP TABLE "or""der s";
ALTER TABLE "snowkey_new_bf32af5bbf4d" RENAME TO "or""der s";
-- 5 · make customers.id a key that the application fills
CREATE TABLE "snowkey_new_53449f038b7b" (id INTEGER PRIMARY KEY, -- AUTOINCREMENT, but not [autoincrement]
 boss_id INT REFERENCES customers ON DELETE SET NULL, email VARCHAR(80) NOT NULL UNIQUE COLLATE NOCASE, "AUTOINCREMENT" TEXT DEFAULT 'AUTOINCREMENT', up TEXT AS (upper(email)) STORED, CHECK (id <> 13));
INSERT INTO "snowkey_new_53449f038b7b" ("id", "boss_id", "email", "AUTOINCREMENT") SELECT "id", "boss_id", "email", "AUTOINCREMENT" FROM "customers";
DROP TABLE "customers";
ALTER TABLE "snowkey_new_53449f038b7b" RENAME TO "customers";
CREATE INDEX part ON customers (boss_id) WHERE boss_id IS NOT NULL;
CREATE TRIGGER logged AFTER INSERT ON customers BEGIN INSERT INTO log VALUES (NEW.id); END;
-- 6 · make sure that no foreign key is broken
--    each has to be what it was before: rows that break a foreign key
