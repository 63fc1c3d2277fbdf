-- snowkey migrate plan · mode rekey · 75 steps
-- plan: 656564a5493a36a0491c9100bda042be9ac296600589e798564fb68ee2b8025b
-- what run does is in the .json beside this file; it refuses both when one of them was changed
-- made: 2026-11-23T07:19:40Z by snowkey (devel)
-- database: /dev/shm/TestReadmeCommands3627303864/001/shop.db (SQLite 3.53.4, /dev/shm/TestReadmeCommands3627303864/001/shop.db)
-- schema: 382a59c995ce8bee23e545c2732c79fd222c8d990c48611dc5c3c0f70b70a57b
-- new ids: of the layout time=41@1ms,node=10,sequence=12;epoch=2025-01-01T00:00:00Z, with node 1023, which is taken in snowkey_nodes (key space
--     default) for all time
--
-- addresses.id, audit_log.id, categories.id, comments.id, events.id, orders.id, payments.id, products.id, taggings.id, tags.id, users.id: new ids have
--     the time of created_at, exact to 1ms (guessed by its name; --created TABLE=… to change); old are ids below 4,398,046,511,104
--
--  step                                                                                     table                  lock     rows  seconds
--  1      deploy writers that fill their keys                                                                      none
--  2      make sure, for 10s, that no writer leaves its keys to the database                addresses and 10 more  none                10
--  3      count the orphans of each reference                                               orders and 12 more     none    2,319       <1
--  4      count the rows of each table                                                      addresses and 13 more  none      916       <1
--  5–18   take the digest of the other columns of …                                         addresses and 13 more  none      916       <1
--  19     take node 1023 of the key space default for the new ids of old rows                                      none
--  20     make the maps of old ids to new ones                                                                     none
--  21–31  fill the map of the ids of …                                                      addresses and 10 more  none      629       <1
--  32     make sure that each old row has a new id, and that no new id is known anywhere …  addresses and 13 more  none    2,816       <1
--  33–40  index …, for as long as it is rewritten                                           orders and 7 more      writes    523       <1
--  41–46  count the references to … that no foreign key guards; a rollback looks for thos…  orders and 10 more     none    1,458       <1
--  47–57  give the rows of …, and all that refers to them, their new ids                    addresses and 13 more  rows    2,079       <1
--  58–63  look for references to … that were written with old ids meanwhile                 orders and 10 more     rows    1,458       <1
--  64     make sure that no old id is left                                                  addresses and 13 more  none    2,187       <1
--  65     make sure that there are as many orphans as before                                orders and 11 more     none    1,869       <1
--  66–73  drop the index of … again                                                         comments and 7 more    none
--  74     wait until the result was verified                                                                       none
--  75     drop the maps                                                                                            all
-- in all, about: at least 10s, 2,079 rows rewritten, 83.8 kB written, 83.8 kB more on disk at the peak: of some tables the numbers are not known
-- seconds: estimated, rows a second: 30,000 in batches, 50,000 into maps, 100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes,
--     1,000,000 counted
-- longest lock: step 33, index orders.address_id, for as long as it is rewritten (4.0 kB): writers of the table wait
-- lock writes: writers of the table wait
-- lock rows: writers wait for the rows of a batch, for as long as it takes
-- lock all: nobody else uses them
-- rollback: undoes what was done, the last step first; there is none once step 75 has begun
--
-- references by foreign keys: orders.address_id → addresses, categories.parent_id → categories, product_categories.category_id → categories,
--     products.category_id → categories, order_items.order_id → orders, payments.order_id → orders, order_items.product_id → products,
--     product_categories.product_id → products, taggings.tag_id → tags, addresses.user_id → users, comments.author_id → users, orders.user_id → users,
--     profiles.user_id → users
-- reference: taggings.taggable_id to orders.id polymorphic likely where taggable_type is "orders"
-- reference: comments.owner_id to products.id polymorphic likely where owner_type is "products"
-- reference: taggings.taggable_id to products.id polymorphic likely where taggable_type is "products"
-- reference: audit_log.user_id to users.id given certain 1 orphan now
-- reference: comments.owner_id to users.id polymorphic likely where owner_type is "users"
--
-- note 1: SQLite goes on to number rows that come without their key, with AUTOINCREMENT and without it: by the greatest key there is, or was with
--     AUTOINCREMENT, plus 1. After the first snowflake that is a number that a generator may make, too, so see that every writer fills its keys. It is so
--     of addresses.id, audit_log.id, categories.id, comments.id, events.id, orders.id, payments.id, products.id, profiles.user_id, taggings.id, tags.id,
--     users.id. A trigger refuses such rows, once no writer is left that needs them: CREATE TRIGGER "addresses_key" BEFORE INSERT ON "addresses" WHEN
--     NEW."id" = -1 BEGIN SELECT RAISE(ABORT, 'no key'); END

-- == flip · programs that fill their keys take over from those that leave them to the database
-- 1 · deploy writers that fill their keys
--    the run ends here, and run --continue=deploy-writers goes on: Now deploy the program that fills its keys with snowflakes, and stop every writer
--     that leaves them to the database.
-- 2 · make sure, for 10s, that no writer leaves its keys to the database
--    for 10s nothing may change there, else: So a writer is at work that leaves its keys to the database: find it by what it inserts, stop it or deploy
--     it as one that fills keys, and run again. From the first new id on SQLite numbers its rows by the greatest key there is plus 1, which may be the new
--     id of another row.

-- == map · what is there is counted, and each old id gets a new one, in a map
-- 3 · count the orphans of each reference
--    counts: orphans of … → … (orders.address_id addresses, categories.parent_id categories, product_categories.category_id categories,
--     products.category_id categories, order_items.order_id orders, payments.order_id orders, order_items.product_id products,
--     product_categories.product_id products, taggings.tag_id tags, addresses.user_id users, audit_log.user_id users, comments.author_id users,
--     orders.user_id users, profiles.user_id users); orphans of taggings.taggable_id (orders) → orders;
--     orphans of … (products) → products (comments.owner_id, taggings.taggable_id); orphans of comments.owner_id (users) → users;
--     rows of … that break a foreign key (orders, categories, product_categories, products, order_items, payments, taggings, addresses, comments, profiles)
-- 4 · count the rows of each table
--    counts: rows of … (addresses, audit_log, categories, comments, events, order_items, orders, payments, product_categories, products, profiles,
--     taggings, tags, users)
-- 5–18 · take the digest of the other columns of …
-- 19 · take node 1023 of the key space default for the new ids of old rows
-- 20 · make the maps of old ids to new ones
CREATE TABLE "snowkey_map_{1}" (old_id INTEGER NOT NULL PRIMARY KEY, new_id INTEGER NOT NULL UNIQUE);
--    {1} = addresses, audit_log, categories, comments, events, orders, payments, products, taggings, tags, users
-- 21–31 · fill the map of the ids of …

-- == check · what has to be true before the first row changes is looked at
-- 32 · make sure that each old row has a new id, and that no new id is known anywhere yet
--    each has to be 0: old rows of … without a new id (addresses, audit_log, categories, comments, events, orders, payments, products, taggings, tags,
--     users); new ids of … that are old ones (addresses, audit_log, categories, comments, events, orders, payments, products, taggings, tags, users);
--     new ids of … that … has already (addresses orders.address_id, categories categories.parent_id, categories product_categories.category_id, categories
--     products.category_id, orders order_items.order_id, orders payments.order_id, products order_items.product_id, products product_categories.product_id,
--     tags taggings.tag_id, users addresses.user_id, users audit_log.user_id, users comments.author_id, users orders.user_id, users profiles.user_id);
--     new ids of orders that taggings.taggable_id (orders) has already; new ids of products that … (products) has already (comments.owner_id,
--     taggings.taggable_id); new ids of users that comments.owner_id (users) has already

-- == rewrite · keys, and what refers to them, get the new ids, in batches
-- 33–40 · index …, for as long as it is rewritten
CREATE INDEX "snowkey_index_{1}" ON "{2}" ("{3}");
--    {1} {2} {3} = orders_address_id_cf0e77eb orders address_id; categories_parent_id_7d215365 categories parent_id;
--     product_categories_category_id_18d9f13e product_categories category_id; products_category_id_bfb8428f products category_id;
--     payments_order_id_49428969 payments order_id; taggings_tag_id_7a801353 taggings tag_id; audit_log_user_id_03181eab audit_log user_id;
--     comments_author_id_a3b846c2 comments author_id
-- 41–46 · count the references to … that no foreign key guards; a rollback looks for those that are left
--    counts: old ids of … (addresses, categories, orders, products, tags, users)
-- 47–57 · give the rows of …, and all that refers to them, their new ids
UPDATE "{1}" AS c SET "{2}" = m.new_id FROM "snowkey_map_{3}" AS m WHERE c."{2}" = +m.old_id AND m.old_id > :after AND m.old_id <= :upto;
--    {1} {2} {3} = addresses id addresses; orders address_id addresses; audit_log id audit_log; categories id categories;
--     categories parent_id categories; product_categories category_id categories; products category_id categories; comments id comments; events id events;
--     orders id orders; order_items order_id orders; payments order_id orders; payments id payments; products id products; order_items product_id products;
--     product_categories product_id products; taggings id taggings; tags id tags; taggings tag_id tags; users id users; addresses user_id users;
--     audit_log user_id users; comments author_id users; orders user_id users; profiles user_id users
UPDATE "taggings" AS c SET "taggable_id" = m.new_id FROM "snowkey_map_{1}" AS m WHERE c."taggable_id" = +m.old_id AND c."taggable_type" = '{1}' AND m.old_id > :after AND m.old_id <= :upto;
--    {1} = orders, products
UPDATE "comments" AS c SET "owner_id" = CAST(m.new_id AS TEXT) FROM "snowkey_map_{1}" AS m WHERE c."owner_id" = CAST(+m.old_id AS TEXT) AND length(c."owner_id") = length(+m.old_id) AND c."owner_type" = '{1}' AND m.old_id > :after AND m.old_id <= :upto;
--    {1} = products, users
-- 58–63 · look for references to … that were written with old ids meanwhile
UPDATE "{1}" AS c SET "{2}" = m.new_id FROM "snowkey_map_{3}" AS m WHERE c."{2}" = +m.old_id AND m.old_id > :after AND m.old_id <= :upto;
--    {1} {2} {3} = orders address_id addresses; categories parent_id categories; product_categories category_id categories;
--     products category_id categories; order_items order_id orders; payments order_id orders; order_items product_id products;
--     product_categories product_id products; taggings tag_id tags; addresses user_id users; audit_log user_id users; comments author_id users;
--     orders user_id users; profiles user_id users
UPDATE "taggings" AS c SET "taggable_id" = m.new_id FROM "snowkey_map_{1}" AS m WHERE c."taggable_id" = +m.old_id AND c."taggable_type" = '{1}' AND m.old_id > :after AND m.old_id <= :upto;
--    {1} = orders, products
UPDATE "comments" AS c SET "owner_id" = CAST(m.new_id AS TEXT) FROM "snowkey_map_{1}" AS m WHERE c."owner_id" = CAST(+m.old_id AS TEXT) AND length(c."owner_id") = length(+m.old_id) AND c."owner_type" = '{1}' AND m.old_id > :after AND m.old_id <= :upto;
--    {1} = products, users

-- == check · the result is looked at: no old id is left, and no reference is lost
-- 64 · make sure that no old id is left
--    each has to be 0: old ids of … in … (addresses addresses.id, addresses orders.address_id, audit_log audit_log.id, categories categories.id,
--     categories categories.parent_id, categories product_categories.category_id, categories products.category_id, comments comments.id, events events.id,
--     orders orders.id, orders order_items.order_id, orders payments.order_id, payments payments.id, products products.id, products order_items.product_id,
--     products product_categories.product_id, taggings taggings.id, tags tags.id, tags taggings.tag_id, users users.id, users addresses.user_id, users
--     audit_log.user_id, users comments.author_id, users orders.user_id, users profiles.user_id); old ids of orders in taggings.taggable_id (orders);
--     old ids of products in … (products) (comments.owner_id, taggings.taggable_id); old ids of users in comments.owner_id (users)
-- 65 · make sure that there are as many orphans as before
--    each has to be what it was before: orphans of … → … (orders.address_id addresses, categories.parent_id categories, product_categories.category_id
--     categories, products.category_id categories, order_items.order_id orders, payments.order_id orders, order_items.product_id products,
--     product_categories.product_id products, taggings.tag_id tags, addresses.user_id users, comments.author_id users, orders.user_id users,
--     profiles.user_id users); rows of … that break a foreign key (orders, categories, product_categories, products, order_items, payments, taggings,
--     addresses, comments, profiles)
-- 66–73 · drop the index of … again
DROP INDEX "snowkey_index_{1}";
--    {1} = comments_author_id_a3b846c2, audit_log_user_id_03181eab, taggings_tag_id_7a801353, payments_order_id_49428969,
--     products_category_id_bfb8428f, product_categories_category_id_18d9f13e, categories_parent_id_7d215365, orders_address_id_cf0e77eb

-- == contract · the maps are dropped, after which there is no rollback
-- 74 · wait until the result was verified
--    the run ends here, and run --continue=drop-maps goes on: All ids are rewritten. Verify the plan, look at what else keeps ids (caches, other
--     services), and go on when the maps of old ids to new ones are not needed any more: they are dropped then, and there is no rollback after that.
-- 75 · drop the maps
DROP TABLE "snowkey_map_{1}";
--    {1} = addresses, audit_log, categories, comments, events, orders, payments, products, taggings, tags, users
--    no rollback once this is done. Without the maps nobody knows the old ids.
