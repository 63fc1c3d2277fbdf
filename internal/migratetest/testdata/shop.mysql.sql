CREATE TABLE users (
	id INT NOT NULL AUTO_INCREMENT COMMENT 'the user''s number',
	email VARCHAR(190) NOT NULL,
	name VARCHAR(100) NOT NULL COMMENT 'as it is printed',
	created_at DATETIME NOT NULL,
	updated_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	deleted_at DATETIME(3) NULL,
	PRIMARY KEY (id),
	UNIQUE KEY users_email (email),
	KEY users_deleted (deleted_at));

CREATE TABLE profiles (
	user_id INT NOT NULL,
	bio TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (user_id),
	CONSTRAINT fk_users_profile FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE);

CREATE TABLE addresses (
	id INT NOT NULL AUTO_INCREMENT,
	user_id INT NOT NULL COMMENT 'whose "home" it is',
	street VARCHAR(100) NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	KEY addresses_user (user_id),
	CONSTRAINT fk_users_addresses FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE);

CREATE TABLE categories (
	id INT NOT NULL AUTO_INCREMENT,
	parent_id INT NULL COMMENT 'NULL at the top',
	name VARCHAR(100) NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT fk_categories_parent FOREIGN KEY (parent_id) REFERENCES categories (id));

CREATE TABLE products (
	id INT NOT NULL AUTO_INCREMENT,
	category_id INT NULL,
	sku VARCHAR(40) NOT NULL,
	name VARCHAR(100) NOT NULL,
	price DECIMAL(10,2) NOT NULL DEFAULT 0.00,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	UNIQUE KEY products_sku (sku),
	CONSTRAINT fk_products_category FOREIGN KEY (category_id) REFERENCES categories (id) ON DELETE SET NULL);

CREATE TABLE product_categories (
	product_id INT NOT NULL,
	category_id INT NOT NULL,
	PRIMARY KEY (product_id, category_id),
	CONSTRAINT fk_product_categories_product FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE,
	CONSTRAINT fk_product_categories_category FOREIGN KEY (category_id) REFERENCES categories (id) ON DELETE CASCADE);

CREATE TABLE orders (
	id INT NOT NULL AUTO_INCREMENT,
	user_id INT NOT NULL,
	address_id INT NULL DEFAULT NULL COMMENT 'where it goes',
	status VARCHAR(10) NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'sent')),
	note TEXT NULL,
	created_at DATETIME(3) NOT NULL,
	deleted_at DATETIME(3) NULL,
	PRIMARY KEY (id),
	KEY orders_user (user_id, created_at),
	CONSTRAINT fk_users_orders FOREIGN KEY (user_id) REFERENCES users (id),
	CONSTRAINT fk_orders_address FOREIGN KEY (address_id) REFERENCES addresses (id) ON DELETE SET NULL);

CREATE TABLE order_items (
	order_id INT NOT NULL,
	line INT NOT NULL,
	product_id INT NOT NULL,
	quantity INT NOT NULL DEFAULT 1,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (order_id, line),
	CONSTRAINT fk_orders_items FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
	CONSTRAINT fk_order_items_product FOREIGN KEY (product_id) REFERENCES products (id));

CREATE TABLE payments (
	id INT NOT NULL AUTO_INCREMENT,
	order_id INT NOT NULL,
	reference VARCHAR(40) NOT NULL,
	amount DECIMAL(10,2) NOT NULL CHECK (amount >= 0),
	created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
	PRIMARY KEY (id),
	UNIQUE KEY payments_reference (reference),
	CONSTRAINT fk_payments_order FOREIGN KEY (order_id) REFERENCES orders (id));

CREATE TABLE comments (
	id INT NOT NULL AUTO_INCREMENT,
	owner_id VARCHAR(20) NOT NULL,
	owner_type VARCHAR(20) NOT NULL,
	author_id INT NULL,
	body TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	KEY comments_owner (owner_type, owner_id),
	CONSTRAINT fk_comments_author FOREIGN KEY (author_id) REFERENCES users (id));

CREATE TABLE tags (
	id INT UNSIGNED NOT NULL AUTO_INCREMENT,
	name VARCHAR(60) NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	UNIQUE KEY tags_name (name));

CREATE TABLE taggings (
	id INT NOT NULL AUTO_INCREMENT,
	tag_id INT UNSIGNED NOT NULL,
	taggable_id INT NOT NULL,
	taggable_type VARCHAR(20) NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id),
	UNIQUE KEY taggings_once (taggable_type, taggable_id, tag_id),
	CONSTRAINT fk_taggings_tag FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE CASCADE);

CREATE TABLE events (
	id BIGINT NOT NULL AUTO_INCREMENT,
	data JSON NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id));

CREATE TABLE audit_log (
	id INT NOT NULL AUTO_INCREMENT,
	user_id INT NOT NULL,
	action VARCHAR(60) NOT NULL,
	created_at DATETIME NOT NULL,
	PRIMARY KEY (id));

CREATE VIEW open_orders AS SELECT o.id, o.user_id, u.email FROM orders o JOIN users u ON u.id = o.user_id WHERE o.status = 'open' AND o.deleted_at IS NULL;
