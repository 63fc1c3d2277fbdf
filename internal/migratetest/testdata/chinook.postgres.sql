-- The schema of the Chinook database, version 1.4.5, by Luis Rocha, https://github.com/lerocha/chinook-database, under the MIT licence
-- (copyright (c) 2008-2024 Luis Rocha): names and types of tables, columns, keys, indexes and foreign keys are those of Chinook_PostgreSql_AutoIncrementPKs.sql.
-- The statements are written anew; the rows are made up.

CREATE TABLE artist (
	artist_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	name varchar(120),
	CONSTRAINT artist_pkey PRIMARY KEY (artist_id));

CREATE TABLE album (
	album_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	title varchar(160) NOT NULL,
	artist_id integer NOT NULL,
	CONSTRAINT album_pkey PRIMARY KEY (album_id));

CREATE TABLE employee (
	employee_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	last_name varchar(20) NOT NULL,
	first_name varchar(20) NOT NULL,
	title varchar(30),
	reports_to integer,
	birth_date timestamp,
	hire_date timestamp,
	address varchar(70),
	city varchar(40),
	state varchar(40),
	country varchar(40),
	postal_code varchar(10),
	phone varchar(24),
	fax varchar(24),
	email varchar(60),
	CONSTRAINT employee_pkey PRIMARY KEY (employee_id));

CREATE TABLE customer (
	customer_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	first_name varchar(40) NOT NULL,
	last_name varchar(20) NOT NULL,
	company varchar(80),
	address varchar(70),
	city varchar(40),
	state varchar(40),
	country varchar(40),
	postal_code varchar(10),
	phone varchar(24),
	fax varchar(24),
	email varchar(60) NOT NULL,
	support_rep_id integer,
	CONSTRAINT customer_pkey PRIMARY KEY (customer_id));

CREATE TABLE genre (
	genre_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	name varchar(120),
	CONSTRAINT genre_pkey PRIMARY KEY (genre_id));

CREATE TABLE media_type (
	media_type_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	name varchar(120),
	CONSTRAINT media_type_pkey PRIMARY KEY (media_type_id));

CREATE TABLE track (
	track_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	name varchar(200) NOT NULL,
	album_id integer,
	media_type_id integer NOT NULL,
	genre_id integer,
	composer varchar(220),
	milliseconds integer NOT NULL,
	bytes integer,
	unit_price numeric(10,2) NOT NULL,
	CONSTRAINT track_pkey PRIMARY KEY (track_id));

CREATE TABLE playlist (
	playlist_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	name varchar(120),
	CONSTRAINT playlist_pkey PRIMARY KEY (playlist_id));

CREATE TABLE playlist_track (
	playlist_id integer NOT NULL,
	track_id integer NOT NULL,
	CONSTRAINT playlist_track_pkey PRIMARY KEY (playlist_id, track_id));

CREATE TABLE invoice (
	invoice_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	customer_id integer NOT NULL,
	invoice_date timestamp NOT NULL,
	billing_address varchar(70),
	billing_city varchar(40),
	billing_state varchar(40),
	billing_country varchar(40),
	billing_postal_code varchar(10),
	total numeric(10,2) NOT NULL,
	CONSTRAINT invoice_pkey PRIMARY KEY (invoice_id));

CREATE TABLE invoice_line (
	invoice_line_id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
	invoice_id integer NOT NULL,
	track_id integer NOT NULL,
	unit_price numeric(10,2) NOT NULL,
	quantity integer NOT NULL,
	CONSTRAINT invoice_line_pkey PRIMARY KEY (invoice_line_id));

ALTER TABLE album ADD CONSTRAINT album_artist_id_fkey FOREIGN KEY (artist_id) REFERENCES artist (artist_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX album_artist_id_idx ON album (artist_id);

ALTER TABLE employee ADD CONSTRAINT employee_reports_to_fkey FOREIGN KEY (reports_to) REFERENCES employee (employee_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX employee_reports_to_idx ON employee (reports_to);

ALTER TABLE customer ADD CONSTRAINT customer_support_rep_id_fkey FOREIGN KEY (support_rep_id) REFERENCES employee (employee_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX customer_support_rep_id_idx ON customer (support_rep_id);

ALTER TABLE track ADD CONSTRAINT track_album_id_fkey FOREIGN KEY (album_id) REFERENCES album (album_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX track_album_id_idx ON track (album_id);

ALTER TABLE track ADD CONSTRAINT track_genre_id_fkey FOREIGN KEY (genre_id) REFERENCES genre (genre_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX track_genre_id_idx ON track (genre_id);

ALTER TABLE track ADD CONSTRAINT track_media_type_id_fkey FOREIGN KEY (media_type_id) REFERENCES media_type (media_type_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX track_media_type_id_idx ON track (media_type_id);

ALTER TABLE playlist_track ADD CONSTRAINT playlist_track_playlist_id_fkey FOREIGN KEY (playlist_id) REFERENCES playlist (playlist_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX playlist_track_playlist_id_idx ON playlist_track (playlist_id);

ALTER TABLE playlist_track ADD CONSTRAINT playlist_track_track_id_fkey FOREIGN KEY (track_id) REFERENCES track (track_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX playlist_track_track_id_idx ON playlist_track (track_id);

ALTER TABLE invoice ADD CONSTRAINT invoice_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer (customer_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX invoice_customer_id_idx ON invoice (customer_id);

ALTER TABLE invoice_line ADD CONSTRAINT invoice_line_invoice_id_fkey FOREIGN KEY (invoice_id) REFERENCES invoice (invoice_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX invoice_line_invoice_id_idx ON invoice_line (invoice_id);

ALTER TABLE invoice_line ADD CONSTRAINT invoice_line_track_id_fkey FOREIGN KEY (track_id) REFERENCES track (track_id) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX invoice_line_track_id_idx ON invoice_line (track_id);

-- The rows, of which invoice_line has :rows, and the others in proportion.
INSERT INTO artist (artist_id, name) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Artist ' || n
	FROM numbers WHERE 8 * n < :rows + 24;

INSERT INTO album (album_id, title, artist_id) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Album ' || n, 1 + 31 * n % (SELECT COUNT(*) FROM artist)
	FROM numbers WHERE 6 * n < :rows + 24;

INSERT INTO employee (employee_id, last_name, first_name, title, reports_to, birth_date, hire_date, city, country, email) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Last ' || n, 'First ' || n, 'Agent', CASE WHEN n > 0 THEN (n + 1) / 2 END, timestamp '1950-02-03' + 3 * n * interval '1 year',
		timestamp '2002-04-01' + n * interval '1 month', 'Calgary', 'Canada', 'employee' || n || '@example.org'
	FROM numbers WHERE n < 8 ORDER BY n;

INSERT INTO customer (customer_id, first_name, last_name, company, address, country, email, support_rep_id) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'First ' || n, 'Last ' || n, CASE WHEN n % 3 = 0 THEN 'Company ' || n END, n || ' Main Street', 'Norway', 'customer' || n || '@example.org',
		CASE WHEN n % 10 <> 9 THEN 1 + 5 * n % 8 END
	FROM numbers WHERE 40 * n < :rows + 160;

INSERT INTO genre (genre_id, name) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Genre ' || n
	FROM numbers WHERE n < 25;

INSERT INTO media_type (media_type_id, name) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Media ' || n
	FROM numbers WHERE n < 5;

INSERT INTO track (track_id, name, album_id, media_type_id, genre_id, composer, milliseconds, bytes, unit_price) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Track ' || n, CASE WHEN n % 50 <> 7 THEN 1 + 7 * n % (SELECT COUNT(*) FROM album) END, 1 + 3 * n % 5,
		CASE WHEN n % 20 <> 3 THEN 1 + 7 * n % 25 END, CASE WHEN n % 20 <> 3 THEN 'O''Composer ' || (n % 90) END, 1000 + n, 5000 + n, 0.99
	FROM numbers WHERE n < :rows + 10;

INSERT INTO playlist (playlist_id, name) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 'Playlist ' || n
	FROM numbers WHERE n < 18;

INSERT INTO playlist_track (playlist_id, track_id)
	SELECT playlist_id, track_id
	FROM playlist, track WHERE (track_id - playlist_id) % 9 = 0;

INSERT INTO invoice (invoice_id, customer_id, invoice_date, billing_address, billing_country, total) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 1 + 31 * n % (SELECT COUNT(*) FROM customer), timestamp '2022-01-02 08:00:00' + (86400000 * n::bigint / (:rows + 10)) * interval '1 second',
		n || ' Main Street', 'Norway', n % 30 + 0.90
	FROM numbers WHERE 5 * n < :rows + 10;

INSERT INTO invoice_line (invoice_line_id, invoice_id, track_id, unit_price, quantity) OVERRIDING SYSTEM VALUE
	SELECT n + 1, 1 + n % (SELECT COUNT(*) FROM invoice), 1 + 57 * n % (SELECT COUNT(*) FROM track), 0.99, 1 + n / (SELECT COUNT(*) FROM invoice)
	FROM numbers WHERE n < :rows;

SELECT setval('artist_artist_id_seq', (SELECT max(artist_id) FROM artist)),
	setval('album_album_id_seq', (SELECT max(album_id) FROM album)),
	setval('employee_employee_id_seq', (SELECT max(employee_id) FROM employee)),
	setval('customer_customer_id_seq', (SELECT max(customer_id) FROM customer)),
	setval('genre_genre_id_seq', (SELECT max(genre_id) FROM genre)),
	setval('media_type_media_type_id_seq', (SELECT max(media_type_id) FROM media_type)),
	setval('track_track_id_seq', (SELECT max(track_id) FROM track)),
	setval('playlist_playlist_id_seq', (SELECT max(playlist_id) FROM playlist)),
	setval('invoice_invoice_id_seq', (SELECT max(invoice_id) FROM invoice)),
	setval('invoice_line_invoice_line_id_seq', (SELECT max(invoice_line_id) FROM invoice_line));
