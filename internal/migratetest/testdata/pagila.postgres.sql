-- The schema of the Pagila database, version 4.1, by Devrim Gündüz and others, https://github.com/devrimgunduz/pagila, under the MIT licence
-- (copyright (c) Devrim Gündüz): names and types of tables, columns, keys, indexes, foreign keys, triggers, views and functions are those of
-- pagila-schema.sql. The statements are written anew, bodies of views and functions do the same in fewer words; the rows are made up.
--
-- What differs, so that PostgreSQL 15 alone is enough: film_embedding, which needs an extension, is left out; film.length_hours is STORED
-- rather than VIRTUAL; gen_random_uuid() stands for uuidv7(). Of the partitions there are the seven first: as published, six of them have
-- foreign keys and indexes of their own, and the seventh has none. store_manager_staff_id_fkey is of the versions up to 1.x; it makes
-- store and staff refer to each other.

CREATE DOMAIN "bıgınt" AS bigint;

CREATE TYPE mpaa_rating AS ENUM ('G', 'PG', 'PG-13', 'R', 'NC-17');

CREATE DOMAIN year AS integer CONSTRAINT year_check CHECK (VALUE >= 1901 AND VALUE <= 2155);

CREATE FUNCTION _group_concat(text, text) RETURNS text LANGUAGE sql IMMUTABLE
	AS $$ SELECT CASE WHEN $2 IS NULL THEN $1 WHEN $1 IS NULL THEN $2 ELSE $1 || ', ' || $2 END $$;

CREATE AGGREGATE group_concat(text) (SFUNC = _group_concat, STYPE = text);

CREATE FUNCTION last_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.last_update = CURRENT_TIMESTAMP;
	RETURN NEW;
END $$;

CREATE SEQUENCE actor_actor_id_seq;

CREATE TABLE actor (
	actor_id integer NOT NULL DEFAULT nextval('actor_actor_id_seq'),
	first_name text NOT NULL,
	last_name text NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT actor_pkey PRIMARY KEY (actor_id));

CREATE SEQUENCE category_category_id_seq;

CREATE TABLE category (
	category_id integer NOT NULL DEFAULT nextval('category_category_id_seq'),
	name text NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT category_pkey PRIMARY KEY (category_id));

CREATE SEQUENCE country_country_id_seq;

CREATE TABLE country (
	country_id integer NOT NULL DEFAULT nextval('country_country_id_seq'),
	country text NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT country_pkey PRIMARY KEY (country_id));

CREATE SEQUENCE city_city_id_seq;

CREATE TABLE city (
	city_id integer NOT NULL DEFAULT nextval('city_city_id_seq'),
	city text NOT NULL,
	country_id integer NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT city_pkey PRIMARY KEY (city_id));

CREATE SEQUENCE address_address_id_seq;

CREATE TABLE address (
	address_id integer NOT NULL DEFAULT nextval('address_address_id_seq'),
	address text NOT NULL,
	address2 text,
	district text NOT NULL,
	city_id integer NOT NULL,
	postal_code text,
	phone text NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT address_pkey PRIMARY KEY (address_id));

CREATE SEQUENCE language_language_id_seq;

CREATE TABLE language (
	language_id integer NOT NULL DEFAULT nextval('language_language_id_seq'),
	name text NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT language_pkey PRIMARY KEY (language_id));

CREATE SEQUENCE store_store_id_seq;

CREATE TABLE store (
	store_id integer NOT NULL DEFAULT nextval('store_store_id_seq'),
	manager_staff_id integer NOT NULL,
	address_id integer NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT store_pkey PRIMARY KEY (store_id));

CREATE SEQUENCE staff_staff_id_seq;

CREATE TABLE staff (
	staff_id integer NOT NULL DEFAULT nextval('staff_staff_id_seq'),
	first_name text NOT NULL,
	last_name text NOT NULL,
	address_id integer NOT NULL,
	email text,
	store_id integer NOT NULL,
	active boolean NOT NULL DEFAULT true,
	username text NOT NULL,
	password text,
	last_update timestamptz NOT NULL DEFAULT now(),
	picture bytea,
	CONSTRAINT staff_pkey PRIMARY KEY (staff_id));

CREATE SEQUENCE customer_customer_id_seq;

CREATE TABLE customer (
	customer_id integer NOT NULL DEFAULT nextval('customer_customer_id_seq'),
	store_id integer NOT NULL,
	first_name text NOT NULL,
	last_name text NOT NULL,
	email text,
	address_id integer NOT NULL,
	activebool boolean NOT NULL DEFAULT true,
	create_date date NOT NULL DEFAULT CURRENT_DATE,
	last_update timestamptz DEFAULT now(),
	active integer,
	uuid uuid NOT NULL DEFAULT gen_random_uuid(),
	CONSTRAINT customer_pkey PRIMARY KEY (customer_id));

CREATE SEQUENCE film_film_id_seq;

CREATE TABLE film (
	film_id integer NOT NULL DEFAULT nextval('film_film_id_seq'),
	title text NOT NULL,
	description text,
	release_year year,
	language_id integer NOT NULL,
	original_language_id integer,
	rental_duration smallint NOT NULL DEFAULT 3,
	rental_rate numeric(4,2) NOT NULL DEFAULT 4.99,
	length smallint,
	replacement_cost numeric(5,2) NOT NULL DEFAULT 19.99,
	rating mpaa_rating DEFAULT 'G',
	last_update timestamptz NOT NULL DEFAULT now(),
	special_features text[],
	fulltext tsvector NOT NULL,
	length_hours numeric(4,2) GENERATED ALWAYS AS (round(length / 60.0, 2)) STORED,
	CONSTRAINT film_pkey PRIMARY KEY (film_id));

CREATE TABLE film_actor (
	actor_id integer NOT NULL,
	film_id integer NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT film_actor_pkey PRIMARY KEY (actor_id, film_id));

CREATE TABLE film_category (
	film_id integer NOT NULL,
	category_id integer NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT film_category_pkey PRIMARY KEY (film_id, category_id));

CREATE SEQUENCE inventory_inventory_id_seq;

CREATE TABLE inventory (
	inventory_id integer NOT NULL DEFAULT nextval('inventory_inventory_id_seq'),
	film_id integer NOT NULL,
	store_id integer NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT inventory_pkey PRIMARY KEY (inventory_id));

CREATE SEQUENCE rental_rental_id_seq;

CREATE TABLE rental (
	rental_id integer NOT NULL DEFAULT nextval('rental_rental_id_seq'),
	rental_date timestamptz NOT NULL,
	inventory_id integer NOT NULL,
	customer_id integer NOT NULL,
	return_date timestamptz,
	staff_id integer NOT NULL,
	last_update timestamptz NOT NULL DEFAULT now(),
	uuid uuid NOT NULL DEFAULT gen_random_uuid(),
	CONSTRAINT rental_pkey PRIMARY KEY (rental_id));

CREATE SEQUENCE payment_payment_id_seq;

CREATE TABLE payment (
	payment_id integer NOT NULL DEFAULT nextval('payment_payment_id_seq'),
	customer_id integer NOT NULL,
	staff_id integer NOT NULL,
	rental_id integer NOT NULL,
	amount numeric(5,2) NOT NULL,
	payment_date timestamptz NOT NULL,
	uuid uuid NOT NULL DEFAULT gen_random_uuid(),
	PRIMARY KEY (payment_date, payment_id)) PARTITION BY RANGE (payment_date);

CREATE TABLE payment_p2022_01 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_01 FOR VALUES FROM ('2022-01-01 00:00:00+00') TO ('2022-02-01 00:00:00+00');

CREATE TABLE payment_p2022_02 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_02 FOR VALUES FROM ('2022-02-01 00:00:00+00') TO ('2022-03-01 00:00:00+00');

CREATE TABLE payment_p2022_03 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_03 FOR VALUES FROM ('2022-03-01 00:00:00+00') TO ('2022-04-01 00:00:00+00');

CREATE TABLE payment_p2022_04 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_04 FOR VALUES FROM ('2022-04-01 00:00:00+00') TO ('2022-05-01 00:00:00+00');

CREATE TABLE payment_p2022_05 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_05 FOR VALUES FROM ('2022-05-01 00:00:00+00') TO ('2022-06-01 00:00:00+00');

CREATE TABLE payment_p2022_06 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_06 FOR VALUES FROM ('2022-06-01 00:00:00+00') TO ('2022-07-01 00:00:00+00');

CREATE TABLE payment_p2022_07 (LIKE payment INCLUDING DEFAULTS);

ALTER TABLE payment ATTACH PARTITION payment_p2022_07 FOR VALUES FROM ('2022-07-01 00:00:00+00') TO ('2022-08-01 00:00:00+00');

CREATE TRIGGER film_fulltext_trigger BEFORE INSERT OR UPDATE ON film FOR EACH ROW
	EXECUTE FUNCTION tsvector_update_trigger('fulltext', 'pg_catalog.english', 'title', 'description');

CREATE FUNCTION inventory_held_by_customer(p_inventory_id integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	v_customer_id INTEGER;
BEGIN
	SELECT customer_id INTO v_customer_id FROM rental WHERE return_date IS NULL AND inventory_id = p_inventory_id;
	RETURN v_customer_id;
END $$;

CREATE FUNCTION inventory_in_stock(p_inventory_id integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	v_out INTEGER;
BEGIN
	SELECT count(*) INTO v_out FROM rental WHERE inventory_id = p_inventory_id AND return_date IS NULL;
	RETURN v_out = 0;
END $$;

CREATE FUNCTION film_in_stock(p_film_id integer, p_store_id integer, OUT p_film_count integer) RETURNS SETOF integer LANGUAGE sql
	AS $$ SELECT inventory_id FROM inventory WHERE film_id = $1 AND store_id = $2 AND inventory_in_stock(inventory_id) $$;

CREATE FUNCTION film_not_in_stock(p_film_id integer, p_store_id integer, OUT p_film_count integer) RETURNS SETOF integer LANGUAGE sql
	AS $$ SELECT inventory_id FROM inventory WHERE film_id = $1 AND store_id = $2 AND NOT inventory_in_stock(inventory_id) $$;

CREATE FUNCTION get_customer_balance(p_customer_id integer, p_effective_date timestamptz) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	v_rentfees DECIMAL(5,2);
	v_overfees INTEGER;
	v_payments DECIMAL(5,2);
BEGIN
	SELECT COALESCE(SUM(f.rental_rate), 0), COALESCE(SUM(GREATEST(r.return_date::date - r.rental_date::date - f.rental_duration, 0)), 0) INTO v_rentfees,
		v_overfees
		FROM film f JOIN inventory i ON i.film_id = f.film_id JOIN rental r ON r.inventory_id = i.inventory_id
		WHERE r.rental_date <= p_effective_date AND r.customer_id = p_customer_id;
	SELECT COALESCE(SUM(p.amount), 0) INTO v_payments FROM payment p WHERE p.payment_date <= p_effective_date AND p.customer_id = p_customer_id;
	RETURN v_rentfees + v_overfees - v_payments;
END $$;

CREATE FUNCTION last_day(timestamptz) RETURNS date LANGUAGE sql IMMUTABLE STRICT
	AS $$ SELECT (date_trunc('month', $1 AT TIME ZONE 'UTC') + interval '1 month - 1 day')::date $$;

CREATE FUNCTION rewards_report(min_monthly_purchases integer, min_dollar_amount_purchased numeric) RETURNS SETOF customer
	LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	last_month_start DATE := date_trunc('month', CURRENT_DATE - interval '3 month')::date;
	rr RECORD;
BEGIN
	CREATE TEMPORARY TABLE tmpCustomer (customer_id INTEGER NOT NULL PRIMARY KEY);
	EXECUTE 'INSERT INTO tmpCustomer (customer_id) SELECT p.customer_id FROM payment AS p WHERE p.payment_date::date BETWEEN $1 AND $2
		GROUP BY customer_id HAVING SUM(p.amount) > $3 AND COUNT(customer_id) > $4'
		USING last_month_start, last_day(last_month_start), min_dollar_amount_purchased, min_monthly_purchases;
	FOR rr IN EXECUTE 'SELECT c.* FROM tmpCustomer AS t JOIN customer AS c ON t.customer_id = c.customer_id' LOOP
		RETURN NEXT rr;
	END LOOP;
	DROP TABLE tmpCustomer;
END $$;

CREATE VIEW actor_info AS
	SELECT a.actor_id, a.first_name, a.last_name, jsonb_object_agg(c.name, (
		SELECT array_agg(f.title) FROM film f JOIN film_category fc2 ON fc2.film_id = f.film_id JOIN film_actor fa2 ON fa2.film_id = f.film_id
		WHERE fc2.category_id = c.category_id AND fa2.actor_id = a.actor_id)) FILTER (WHERE c.name IS NOT NULL) AS film_info
	FROM actor a LEFT JOIN film_actor fa ON fa.actor_id = a.actor_id LEFT JOIN film_category fc ON fc.film_id = fa.film_id LEFT JOIN category c ON c.category_id = fc.category_id
	GROUP BY a.actor_id, a.first_name, a.last_name;

CREATE VIEW customer_list AS
	SELECT cu.customer_id AS id, cu.first_name || ' ' || cu.last_name AS name, a.address, a.postal_code AS "zip code", a.phone, city.city, country.country,
		CASE WHEN cu.activebool THEN 'active' ELSE '' END AS notes, cu.store_id AS sid
	FROM customer cu JOIN address a ON a.address_id = cu.address_id JOIN city ON city.city_id = a.city_id JOIN country ON country.country_id = city.country_id;

CREATE VIEW film_list AS
	SELECT f.film_id AS fid, f.title, f.description, c.name AS category, f.rental_rate AS price, f.length, f.rating,
		group_concat(a.first_name || ' ' || a.last_name) AS actors
	FROM category c LEFT JOIN film_category fc ON fc.category_id = c.category_id LEFT JOIN film f ON f.film_id = fc.film_id
		JOIN film_actor fa ON fa.film_id = f.film_id JOIN actor a ON a.actor_id = fa.actor_id
	GROUP BY f.film_id, f.title, f.description, c.name, f.rental_rate, f.length, f.rating;

CREATE VIEW nicer_but_slower_film_list AS
	SELECT f.film_id AS fid, f.title, f.description, c.name AS category, f.rental_rate AS price, f.length, f.rating,
		group_concat(initcap(a.first_name) || initcap(a.last_name)) AS actors
	FROM category c LEFT JOIN film_category fc ON fc.category_id = c.category_id LEFT JOIN film f ON f.film_id = fc.film_id
		JOIN film_actor fa ON fa.film_id = f.film_id JOIN actor a ON a.actor_id = fa.actor_id
	GROUP BY f.film_id, f.title, f.description, c.name, f.rental_rate, f.length, f.rating;

CREATE VIEW sales_by_film_category AS
	SELECT c.name AS category, sum(p.amount) AS total_sales
	FROM payment p JOIN rental r ON r.rental_id = p.rental_id JOIN inventory i ON i.inventory_id = r.inventory_id JOIN film f ON f.film_id = i.film_id
		JOIN film_category fc ON fc.film_id = f.film_id JOIN category c ON c.category_id = fc.category_id
	GROUP BY c.name ORDER BY sum(p.amount) DESC;

CREATE VIEW sales_by_store AS
	SELECT c.city || ',' || cy.country AS store, m.first_name || ' ' || m.last_name AS manager, sum(p.amount) AS total_sales
	FROM payment p JOIN rental r ON r.rental_id = p.rental_id JOIN inventory i ON i.inventory_id = r.inventory_id JOIN store s ON s.store_id = i.store_id
		JOIN address a ON a.address_id = s.address_id JOIN city c ON c.city_id = a.city_id JOIN country cy ON cy.country_id = c.country_id
		JOIN staff m ON m.staff_id = s.manager_staff_id
	GROUP BY cy.country, c.city, s.store_id, m.first_name, m.last_name ORDER BY cy.country, c.city;

CREATE VIEW staff_list AS
	SELECT s.staff_id AS id, s.first_name || ' ' || s.last_name AS name, a.address, a.postal_code AS "zip code", a.phone, city.city, country.country,
		s.store_id AS sid
	FROM staff s JOIN address a ON a.address_id = s.address_id JOIN city ON city.city_id = a.city_id JOIN country ON country.country_id = city.country_id;

CREATE MATERIALIZED VIEW rental_by_category AS
	SELECT c.name AS category, sum(p.amount) AS total_sales
	FROM payment p JOIN rental r ON r.rental_id = p.rental_id JOIN inventory i ON i.inventory_id = r.inventory_id JOIN film f ON f.film_id = i.film_id
		JOIN film_category fc ON fc.film_id = f.film_id JOIN category c ON c.category_id = fc.category_id
	GROUP BY c.name ORDER BY sum(p.amount) DESC
	WITH NO DATA;

-- The rows, of which rental has :rows, and the others in proportion.
INSERT INTO country (country_id, country, last_update)
	SELECT n + 1, 'Country ' || n, timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE 150 * n < :rows + 450;

INSERT INTO city (city_id, city, country_id, last_update)
	SELECT n + 1, 'City ' || n, 1 + 7 * n % (SELECT COUNT(*) FROM country), timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE 27 * n < :rows + 108;

INSERT INTO address (address_id, address, district, city_id, postal_code, phone, last_update)
	SELECT n + 1, n || ' O''Hara Street', 'District ' || (n % 7), 1 + 7 * n % (SELECT COUNT(*) FROM city), CASE WHEN n % 4 > 0 THEN 10000 + n END, '555-' || n,
		timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE 27 * n < :rows + 243;

INSERT INTO store (store_id, manager_staff_id, address_id, last_update)
	SELECT n + 1, n + 1, n + 1, timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE n < 2;

INSERT INTO staff (staff_id, first_name, last_name, address_id, email, store_id, active, username, last_update)
	SELECT n + 1, 'Staff ' || n, 'Hill', n + 3, 'staff' || n || '@example.org', n + 1, true, 'staff' || n,
		timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE n < 2;

INSERT INTO customer (customer_id, store_id, first_name, last_name, email, address_id, create_date, last_update, active, uuid)
	SELECT n + 1, 1 + n % 2, 'First ' || n, 'Last ' || n, 'customer' || n || '@example.org', n + 5,
		(timestamp '2022-01-02 08:00:00' + (466560000 * (n / 4)::bigint / (:rows + 135)) * interval '1 second')::date,
		timestamptz '2022-01-02 08:00:00+00' + (466560000 * n::bigint / (:rows + 135)) * interval '1 second', 1,
		('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
	FROM numbers WHERE 27 * n < :rows + 135;

INSERT INTO actor (actor_id, first_name, last_name, last_update)
	SELECT n + 1, 'ACTOR' || n, 'GUINESS' || (n % 40), timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE 80 * n < :rows + 400;

INSERT INTO category (category_id, name, last_update)
	SELECT n + 1, 'Category ' || n, timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE n < 16;

INSERT INTO language (language_id, name, last_update)
	SELECT n + 1, 'Language ' || n, timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE n < 6;

INSERT INTO film (film_id, title, description, release_year, language_id, original_language_id, length, rating, special_features, last_update)
	SELECT n + 1, 'ACADEMY DINOSAUR ' || n, 'An epic drama of number ' || n, 2006, 1 + 5 * n % 6, CASE WHEN n % 9 = 4 THEN 1 + n % 6 END, 60 + n % 120,
		(ARRAY['G', 'PG', 'PG-13', 'R', 'NC-17'])[1 + n % 5]::mpaa_rating, CASE WHEN n % 5 > 0 THEN ARRAY['Trailers', 'Deleted Scenes'] END,
		timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE 16 * n < :rows + 80;

INSERT INTO film_actor (actor_id, film_id, last_update)
	SELECT 1 + (film_id - 1 + n) % (SELECT COUNT(*) FROM actor), film_id, timestamptz '2021-02-15 04:00:00+00' + film_id * interval '1 minute'
	FROM film, numbers WHERE n <= (film_id - 1) % 5;

INSERT INTO film_category (film_id, category_id, last_update)
	SELECT film_id, 1 + (film_id - 1) % 16, timestamptz '2021-02-15 04:00:00+00' + film_id * interval '1 minute'
	FROM film;

INSERT INTO inventory (inventory_id, film_id, store_id, last_update)
	SELECT n + 1, 1 + 7 * n % (SELECT COUNT(*) FROM film), 1 + n % 2, timestamptz '2021-02-15 04:00:00+00' + n * interval '1 minute'
	FROM numbers WHERE 4 * n < :rows + 20;

INSERT INTO rental (rental_id, rental_date, inventory_id, customer_id, return_date, staff_id, last_update, uuid)
	SELECT n + 1, timestamptz '2022-01-02 08:00:00+00' + (17280000 * n::bigint / :rows) * interval '1 second', 1 + 31 * n % (SELECT COUNT(*) FROM inventory),
		1 + 7 * n % (SELECT COUNT(*) FROM customer),
		CASE WHEN n % 90 <> 17 THEN timestamptz '2022-01-02 08:00:00+00' + (17280000 * n::bigint / :rows + 180000) * interval '1 second' END, 1 + n % 2,
		timestamptz '2022-01-02 08:00:00+00' + (17280000 * n::bigint / :rows + 3600) * interval '1 second',
		('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
	FROM numbers WHERE n < :rows;

INSERT INTO payment (payment_id, customer_id, staff_id, rental_id, amount, payment_date, uuid)
	SELECT row_number() OVER (ORDER BY rental_id), customer_id, 3 - staff_id, rental_id, (rental_id - 1) % 12 + 0.99, rental_date + interval '1 second',
		('00000000-0000-7000-8000-' || lpad(to_hex(rental_id - 1), 12, '0'))::uuid
	FROM rental WHERE (rental_id - 1) % 50 <> 11;

SELECT setval('actor_actor_id_seq', (SELECT max(actor_id) FROM actor)),
	setval('address_address_id_seq', (SELECT max(address_id) FROM address)),
	setval('category_category_id_seq', (SELECT max(category_id) FROM category)),
	setval('city_city_id_seq', (SELECT max(city_id) FROM city)),
	setval('country_country_id_seq', (SELECT max(country_id) FROM country)),
	setval('customer_customer_id_seq', (SELECT max(customer_id) FROM customer)),
	setval('film_film_id_seq', (SELECT max(film_id) FROM film)),
	setval('inventory_inventory_id_seq', (SELECT max(inventory_id) FROM inventory)),
	setval('language_language_id_seq', (SELECT max(language_id) FROM language)),
	setval('payment_payment_id_seq', (SELECT max(payment_id) FROM payment)),
	setval('rental_rental_id_seq', (SELECT max(rental_id) FROM rental)),
	setval('staff_staff_id_seq', (SELECT max(staff_id) FROM staff)),
	setval('store_store_id_seq', (SELECT max(store_id) FROM store));

-- As in the published dump, what follows is made after the rows.
CREATE INDEX film_fulltext_idx ON film USING gist (fulltext);

CREATE INDEX idx_actor_last_name ON actor (last_name);

CREATE INDEX idx_fk_address_id ON customer (address_id);

CREATE INDEX idx_fk_city_id ON address (city_id);

CREATE INDEX idx_fk_country_id ON city (country_id);

CREATE INDEX idx_fk_film_id ON film_actor (film_id);

CREATE INDEX idx_fk_inventory_id ON rental (inventory_id);

CREATE INDEX idx_fk_language_id ON film (language_id);

CREATE INDEX idx_fk_original_language_id ON film (original_language_id);

CREATE INDEX idx_fk_store_id ON customer (store_id);

CREATE INDEX idx_last_name ON customer (last_name);

CREATE INDEX idx_store_id_film_id ON inventory (store_id, film_id);

CREATE INDEX idx_title ON film (title);

CREATE UNIQUE INDEX idx_unq_manager_staff_id ON store (manager_staff_id);

CREATE UNIQUE INDEX idx_unq_rental_rental_date_inventory_id_customer_id ON rental (rental_date, inventory_id, customer_id);

CREATE UNIQUE INDEX rental_category ON rental_by_category (category);

CREATE UNIQUE INDEX customer_uuid_key ON customer (uuid);

CREATE UNIQUE INDEX rental_uuid_key ON rental (uuid);

CREATE UNIQUE INDEX payment_uuid_key ON payment (uuid, payment_date);

CREATE INDEX idx_fk_payment_p2022_01_customer_id ON payment_p2022_01 (customer_id);

CREATE INDEX idx_fk_payment_p2022_01_staff_id ON payment_p2022_01 (staff_id);

CREATE INDEX payment_p2022_01_customer_id_idx ON payment_p2022_01 (customer_id);

CREATE INDEX idx_fk_payment_p2022_02_customer_id ON payment_p2022_02 (customer_id);

CREATE INDEX idx_fk_payment_p2022_02_staff_id ON payment_p2022_02 (staff_id);

CREATE INDEX payment_p2022_02_customer_id_idx ON payment_p2022_02 (customer_id);

CREATE INDEX idx_fk_payment_p2022_03_customer_id ON payment_p2022_03 (customer_id);

CREATE INDEX idx_fk_payment_p2022_03_staff_id ON payment_p2022_03 (staff_id);

CREATE INDEX payment_p2022_03_customer_id_idx ON payment_p2022_03 (customer_id);

CREATE INDEX idx_fk_payment_p2022_04_customer_id ON payment_p2022_04 (customer_id);

CREATE INDEX idx_fk_payment_p2022_04_staff_id ON payment_p2022_04 (staff_id);

CREATE INDEX payment_p2022_04_customer_id_idx ON payment_p2022_04 (customer_id);

CREATE INDEX idx_fk_payment_p2022_05_customer_id ON payment_p2022_05 (customer_id);

CREATE INDEX idx_fk_payment_p2022_05_staff_id ON payment_p2022_05 (staff_id);

CREATE INDEX payment_p2022_05_customer_id_idx ON payment_p2022_05 (customer_id);

CREATE INDEX idx_fk_payment_p2022_06_customer_id ON payment_p2022_06 (customer_id);

CREATE INDEX idx_fk_payment_p2022_06_staff_id ON payment_p2022_06 (staff_id);

CREATE INDEX payment_p2022_06_customer_id_idx ON payment_p2022_06 (customer_id);

CREATE TRIGGER last_updated BEFORE UPDATE ON actor FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON address FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON category FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON city FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON country FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON film FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON film_actor FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON film_category FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON inventory FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON language FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON rental FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON staff FOR EACH ROW EXECUTE FUNCTION last_updated();

CREATE TRIGGER last_updated BEFORE UPDATE ON store FOR EACH ROW EXECUTE FUNCTION last_updated();

ALTER TABLE address ADD CONSTRAINT address_city_id_fkey FOREIGN KEY (city_id) REFERENCES city (city_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE city ADD CONSTRAINT city_country_id_fkey FOREIGN KEY (country_id) REFERENCES country (country_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE customer ADD CONSTRAINT customer_address_id_fkey FOREIGN KEY (address_id) REFERENCES address (address_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE customer ADD CONSTRAINT customer_store_id_fkey FOREIGN KEY (store_id) REFERENCES store (store_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE film_actor ADD CONSTRAINT film_actor_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES actor (actor_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE film_actor ADD CONSTRAINT film_actor_film_id_fkey FOREIGN KEY (film_id) REFERENCES film (film_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE film_category ADD CONSTRAINT film_category_category_id_fkey FOREIGN KEY (category_id) REFERENCES category (category_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE film_category ADD CONSTRAINT film_category_film_id_fkey FOREIGN KEY (film_id) REFERENCES film (film_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE film ADD CONSTRAINT film_language_id_fkey FOREIGN KEY (language_id) REFERENCES language (language_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE film ADD CONSTRAINT film_original_language_id_fkey FOREIGN KEY (original_language_id) REFERENCES language (language_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE inventory ADD CONSTRAINT inventory_film_id_fkey FOREIGN KEY (film_id) REFERENCES film (film_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE inventory ADD CONSTRAINT inventory_store_id_fkey FOREIGN KEY (store_id) REFERENCES store (store_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE rental ADD CONSTRAINT rental_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE rental ADD CONSTRAINT rental_inventory_id_fkey FOREIGN KEY (inventory_id) REFERENCES inventory (inventory_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE rental ADD CONSTRAINT rental_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE staff ADD CONSTRAINT staff_address_id_fkey FOREIGN KEY (address_id) REFERENCES address (address_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE store ADD CONSTRAINT store_address_id_fkey FOREIGN KEY (address_id) REFERENCES address (address_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE store ADD CONSTRAINT store_manager_staff_id_fkey FOREIGN KEY (manager_staff_id) REFERENCES staff (staff_id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE staff ADD CONSTRAINT staff_store_id_fkey FOREIGN KEY (store_id) REFERENCES store (store_id);

ALTER TABLE payment_p2022_01 ADD CONSTRAINT payment_p2022_01_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id);

ALTER TABLE payment_p2022_01 ADD CONSTRAINT payment_p2022_01_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES rental (rental_id);

ALTER TABLE payment_p2022_01 ADD CONSTRAINT payment_p2022_01_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id);

ALTER TABLE payment_p2022_02 ADD CONSTRAINT payment_p2022_02_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id);

ALTER TABLE payment_p2022_02 ADD CONSTRAINT payment_p2022_02_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES rental (rental_id);

ALTER TABLE payment_p2022_02 ADD CONSTRAINT payment_p2022_02_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id);

ALTER TABLE payment_p2022_03 ADD CONSTRAINT payment_p2022_03_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id);

ALTER TABLE payment_p2022_03 ADD CONSTRAINT payment_p2022_03_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES rental (rental_id);

ALTER TABLE payment_p2022_03 ADD CONSTRAINT payment_p2022_03_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id);

ALTER TABLE payment_p2022_04 ADD CONSTRAINT payment_p2022_04_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id);

ALTER TABLE payment_p2022_04 ADD CONSTRAINT payment_p2022_04_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES rental (rental_id);

ALTER TABLE payment_p2022_04 ADD CONSTRAINT payment_p2022_04_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id);

ALTER TABLE payment_p2022_05 ADD CONSTRAINT payment_p2022_05_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id);

ALTER TABLE payment_p2022_05 ADD CONSTRAINT payment_p2022_05_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES rental (rental_id);

ALTER TABLE payment_p2022_05 ADD CONSTRAINT payment_p2022_05_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id);

ALTER TABLE payment_p2022_06 ADD CONSTRAINT payment_p2022_06_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id);

ALTER TABLE payment_p2022_06 ADD CONSTRAINT payment_p2022_06_rental_id_fkey FOREIGN KEY (rental_id) REFERENCES rental (rental_id);

ALTER TABLE payment_p2022_06 ADD CONSTRAINT payment_p2022_06_staff_id_fkey FOREIGN KEY (staff_id) REFERENCES staff (staff_id);

REFRESH MATERIALIZED VIEW rental_by_category;
