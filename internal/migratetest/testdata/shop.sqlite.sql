CREATE TABLE users (
	id integer PRIMARY KEY AUTOINCREMENT,
	email text NOT NULL,
	name text NOT NULL,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	deleted_at datetime);

CREATE UNIQUE INDEX users_email ON users (email);

CREATE INDEX users_live ON users (name) WHERE deleted_at IS NULL;

CREATE TABLE profiles (
	user_id integer PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
	bio text NOT NULL DEFAULT '',
	created_at datetime NOT NULL);

CREATE TABLE addresses (
	id integer PRIMARY KEY AUTOINCREMENT,
	user_id integer NOT NULL,
	street text NOT NULL,
	created_at datetime NOT NULL,
	CONSTRAINT fk_users_addresses FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE);

CREATE INDEX addresses_user ON addresses (user_id);

CREATE TABLE categories (
	id integer PRIMARY KEY,
	parent_id integer REFERENCES categories (id),
	name text NOT NULL,
	created_at datetime NOT NULL);

CREATE TABLE products (
	id integer PRIMARY KEY AUTOINCREMENT,
	category_id integer REFERENCES categories (id) ON DELETE SET NULL,
	sku text NOT NULL UNIQUE,
	name text NOT NULL,
	price numeric NOT NULL DEFAULT 0,
	created_at datetime NOT NULL);

CREATE TABLE product_categories (
	product_id integer NOT NULL REFERENCES products (id) ON DELETE CASCADE,
	category_id integer NOT NULL REFERENCES categories (id) ON DELETE CASCADE,
	PRIMARY KEY (product_id, category_id));

CREATE TABLE orders (
	id integer PRIMARY KEY AUTOINCREMENT,
	user_id integer NOT NULL REFERENCES users (id),
	address_id integer REFERENCES addresses (id) ON DELETE SET NULL,
	status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'sent')),
	note text,
	created_at datetime NOT NULL,
	deleted_at datetime);

CREATE INDEX orders_user ON orders (user_id, created_at);

CREATE INDEX orders_open ON orders (user_id) WHERE status = 'open';

CREATE TABLE order_items (
	order_id integer NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
	line integer NOT NULL,
	product_id integer NOT NULL REFERENCES products (id),
	quantity integer NOT NULL DEFAULT 1,
	created_at datetime NOT NULL,
	PRIMARY KEY (order_id, line));

CREATE INDEX order_items_product ON order_items (product_id);

CREATE TABLE payments (
	id integer PRIMARY KEY AUTOINCREMENT,
	order_id integer NOT NULL REFERENCES orders (id),
	reference text NOT NULL,
	amount numeric NOT NULL CHECK (amount >= 0),
	created_at datetime NOT NULL);

CREATE UNIQUE INDEX payments_reference ON payments (reference);

CREATE TABLE comments (
	id integer PRIMARY KEY AUTOINCREMENT,
	owner_id text NOT NULL,
	owner_type text NOT NULL,
	author_id integer REFERENCES users (id),
	body text NOT NULL,
	created_at datetime NOT NULL);

CREATE INDEX comments_owner ON comments (owner_type, owner_id);

CREATE TABLE tags (
	id integer PRIMARY KEY,
	name text NOT NULL UNIQUE,
	created_at datetime NOT NULL);

CREATE TABLE taggings (
	id integer PRIMARY KEY AUTOINCREMENT,
	tag_id integer NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
	taggable_id integer NOT NULL,
	taggable_type text NOT NULL,
	created_at datetime NOT NULL);

CREATE UNIQUE INDEX taggings_once ON taggings (taggable_type, taggable_id, tag_id);

CREATE TABLE events (
	id integer PRIMARY KEY AUTOINCREMENT,
	data json NOT NULL,
	created_at datetime NOT NULL);

CREATE TABLE audit_log (
	id integer PRIMARY KEY AUTOINCREMENT,
	user_id integer NOT NULL,
	action text NOT NULL,
	created_at datetime NOT NULL);

CREATE VIEW open_orders AS SELECT o.id, o.user_id, u.email FROM orders o JOIN users u ON u.id = o.user_id WHERE o.status = 'open' AND o.deleted_at IS NULL;
