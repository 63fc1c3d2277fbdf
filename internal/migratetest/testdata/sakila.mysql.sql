-- The schema of the Sakila sample database, version 1.x, by MySQL AB and Oracle, https://dev.mysql.com/doc/sakila/en/, under the New BSD
-- licence: names and types of tables, columns, keys, indexes, foreign keys, triggers, views and routines are those of sakila-schema.sql and
-- sakila-data.sql. The statements are written anew, bodies of views and routines do the same in fewer words; the rows are made up.
-- address.location, which MySQL alone has since 5.7.5, is left out.

CREATE TABLE actor (
	actor_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	first_name VARCHAR(45) NOT NULL,
	last_name VARCHAR(45) NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (actor_id),
	KEY idx_actor_last_name (last_name)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE country (
	country_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	country VARCHAR(50) NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (country_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE city (
	city_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	city VARCHAR(50) NOT NULL,
	country_id SMALLINT UNSIGNED NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (city_id),
	KEY idx_fk_country_id (country_id),
	CONSTRAINT fk_city_country FOREIGN KEY (country_id) REFERENCES country (country_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE address (
	address_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	address VARCHAR(50) NOT NULL,
	address2 VARCHAR(50) DEFAULT NULL,
	district VARCHAR(20) NOT NULL,
	city_id SMALLINT UNSIGNED NOT NULL,
	postal_code VARCHAR(10) DEFAULT NULL,
	phone VARCHAR(20) NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (address_id),
	KEY idx_fk_city_id (city_id),
	CONSTRAINT fk_address_city FOREIGN KEY (city_id) REFERENCES city (city_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE category (
	category_id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT,
	name VARCHAR(25) NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (category_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE language (
	language_id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT,
	name CHAR(20) NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (language_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE store (
	store_id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT,
	manager_staff_id TINYINT UNSIGNED NOT NULL,
	address_id SMALLINT UNSIGNED NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (store_id),
	UNIQUE KEY idx_unique_manager (manager_staff_id),
	KEY idx_fk_address_id (address_id),
	CONSTRAINT fk_store_address FOREIGN KEY (address_id) REFERENCES address (address_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE staff (
	staff_id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT,
	first_name VARCHAR(45) NOT NULL,
	last_name VARCHAR(45) NOT NULL,
	address_id SMALLINT UNSIGNED NOT NULL,
	picture BLOB DEFAULT NULL,
	email VARCHAR(50) DEFAULT NULL,
	store_id TINYINT UNSIGNED NOT NULL,
	active BOOLEAN NOT NULL DEFAULT TRUE,
	username VARCHAR(16) NOT NULL,
	password VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (staff_id),
	KEY idx_fk_store_id (store_id),
	KEY idx_fk_address_id (address_id),
	CONSTRAINT fk_staff_store FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_staff_address FOREIGN KEY (address_id) REFERENCES address (address_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

ALTER TABLE store ADD CONSTRAINT fk_store_staff FOREIGN KEY (manager_staff_id) REFERENCES staff (staff_id) ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE customer (
	customer_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	store_id TINYINT UNSIGNED NOT NULL,
	first_name VARCHAR(45) NOT NULL,
	last_name VARCHAR(45) NOT NULL,
	email VARCHAR(50) DEFAULT NULL,
	address_id SMALLINT UNSIGNED NOT NULL,
	active BOOLEAN NOT NULL DEFAULT TRUE,
	create_date DATETIME NOT NULL,
	last_update TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (customer_id),
	KEY idx_fk_store_id (store_id),
	KEY idx_fk_address_id (address_id),
	KEY idx_last_name (last_name),
	CONSTRAINT fk_customer_address FOREIGN KEY (address_id) REFERENCES address (address_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_customer_store FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE film (
	film_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	title VARCHAR(255) NOT NULL,
	description TEXT DEFAULT NULL,
	release_year YEAR DEFAULT NULL,
	language_id TINYINT UNSIGNED NOT NULL,
	original_language_id TINYINT UNSIGNED DEFAULT NULL,
	rental_duration TINYINT UNSIGNED NOT NULL DEFAULT 3,
	rental_rate DECIMAL(4,2) NOT NULL DEFAULT 4.99,
	length SMALLINT UNSIGNED DEFAULT NULL,
	replacement_cost DECIMAL(5,2) NOT NULL DEFAULT 19.99,
	rating ENUM('G','PG','PG-13','R','NC-17') DEFAULT 'G',
	special_features SET('Trailers','Commentaries','Deleted Scenes','Behind the Scenes') DEFAULT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (film_id),
	KEY idx_title (title),
	KEY idx_fk_language_id (language_id),
	KEY idx_fk_original_language_id (original_language_id),
	CONSTRAINT fk_film_language FOREIGN KEY (language_id) REFERENCES language (language_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_film_language_original FOREIGN KEY (original_language_id) REFERENCES language (language_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE film_actor (
	actor_id SMALLINT UNSIGNED NOT NULL,
	film_id SMALLINT UNSIGNED NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (actor_id, film_id),
	KEY idx_fk_film_id (film_id),
	CONSTRAINT fk_film_actor_actor FOREIGN KEY (actor_id) REFERENCES actor (actor_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_film_actor_film FOREIGN KEY (film_id) REFERENCES film (film_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE film_category (
	film_id SMALLINT UNSIGNED NOT NULL,
	category_id TINYINT UNSIGNED NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (film_id, category_id),
	CONSTRAINT fk_film_category_film FOREIGN KEY (film_id) REFERENCES film (film_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_film_category_category FOREIGN KEY (category_id) REFERENCES category (category_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE film_text (
	film_id SMALLINT UNSIGNED NOT NULL,
	title VARCHAR(255) NOT NULL,
	description TEXT,
	PRIMARY KEY (film_id),
	FULLTEXT KEY idx_title_description (title, description)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TRIGGER ins_film AFTER INSERT ON film FOR EACH ROW
	INSERT INTO film_text (film_id, title, description) VALUES (NEW.film_id, NEW.title, NEW.description);

CREATE TRIGGER upd_film AFTER UPDATE ON film FOR EACH ROW BEGIN
	IF OLD.title <> NEW.title OR OLD.description <> NEW.description OR OLD.film_id <> NEW.film_id THEN
		UPDATE film_text SET title = NEW.title, description = NEW.description, film_id = NEW.film_id WHERE film_id = OLD.film_id;
	END IF;
END;

CREATE TRIGGER del_film AFTER DELETE ON film FOR EACH ROW
	DELETE FROM film_text WHERE film_id = OLD.film_id;

CREATE TABLE inventory (
	inventory_id MEDIUMINT UNSIGNED NOT NULL AUTO_INCREMENT,
	film_id SMALLINT UNSIGNED NOT NULL,
	store_id TINYINT UNSIGNED NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (inventory_id),
	KEY idx_fk_film_id (film_id),
	KEY idx_store_id_film_id (store_id, film_id),
	CONSTRAINT fk_inventory_store FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_inventory_film FOREIGN KEY (film_id) REFERENCES film (film_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE rental (
	rental_id INT NOT NULL AUTO_INCREMENT,
	rental_date DATETIME NOT NULL,
	inventory_id MEDIUMINT UNSIGNED NOT NULL,
	customer_id SMALLINT UNSIGNED NOT NULL,
	return_date DATETIME DEFAULT NULL,
	staff_id TINYINT UNSIGNED NOT NULL,
	last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (rental_id),
	UNIQUE KEY rental_date (rental_date, inventory_id, customer_id),
	KEY idx_fk_inventory_id (inventory_id),
	KEY idx_fk_customer_id (customer_id),
	KEY idx_fk_staff_id (staff_id),
	CONSTRAINT fk_rental_staff FOREIGN KEY (staff_id) REFERENCES staff (staff_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_rental_inventory FOREIGN KEY (inventory_id) REFERENCES inventory (inventory_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_rental_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE payment (
	payment_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
	customer_id SMALLINT UNSIGNED NOT NULL,
	staff_id TINYINT UNSIGNED NOT NULL,
	rental_id INT DEFAULT NULL,
	amount DECIMAL(5,2) NOT NULL,
	payment_date DATETIME NOT NULL,
	last_update TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (payment_id),
	KEY idx_fk_staff_id (staff_id),
	KEY idx_fk_customer_id (customer_id),
	CONSTRAINT fk_payment_rental FOREIGN KEY (rental_id) REFERENCES rental (rental_id) ON DELETE SET NULL ON UPDATE CASCADE,
	CONSTRAINT fk_payment_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id) ON DELETE RESTRICT ON UPDATE CASCADE,
	CONSTRAINT fk_payment_staff FOREIGN KEY (staff_id) REFERENCES staff (staff_id) ON DELETE RESTRICT ON UPDATE CASCADE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE SQL SECURITY INVOKER VIEW customer_list AS
	SELECT cu.customer_id AS ID, CONCAT(cu.first_name, ' ', cu.last_name) AS name, a.address AS address, a.postal_code AS `zip code`, a.phone AS phone,
		ci.city AS city, co.country AS country, IF(cu.active, 'active', '') AS notes, cu.store_id AS SID
	FROM customer cu JOIN address a ON a.address_id = cu.address_id JOIN city ci ON ci.city_id = a.city_id JOIN country co ON co.country_id = ci.country_id;

CREATE SQL SECURITY INVOKER VIEW film_list AS
	SELECT f.film_id AS FID, f.title AS title, f.description AS description, c.name AS category, f.rental_rate AS price, f.length AS length, f.rating AS rating,
		GROUP_CONCAT(CONCAT(a.first_name, ' ', a.last_name) SEPARATOR ', ') AS actors
	FROM film f LEFT JOIN film_category fc ON fc.film_id = f.film_id LEFT JOIN category c ON c.category_id = fc.category_id
		LEFT JOIN film_actor fa ON fa.film_id = f.film_id LEFT JOIN actor a ON a.actor_id = fa.actor_id
	GROUP BY f.film_id, c.name;

CREATE SQL SECURITY INVOKER VIEW nicer_but_slower_film_list AS
	SELECT f.film_id AS FID, f.title AS title, f.description AS description, c.name AS category, f.rental_rate AS price, f.length AS length, f.rating AS rating,
		GROUP_CONCAT(CONCAT(UCASE(LEFT(a.first_name, 1)), LCASE(SUBSTR(a.first_name, 2)), ' ', UCASE(LEFT(a.last_name, 1)), LCASE(SUBSTR(a.last_name, 2))) SEPARATOR ', ') AS actors
	FROM film f LEFT JOIN film_category fc ON fc.film_id = f.film_id LEFT JOIN category c ON c.category_id = fc.category_id
		LEFT JOIN film_actor fa ON fa.film_id = f.film_id LEFT JOIN actor a ON a.actor_id = fa.actor_id
	GROUP BY f.film_id, c.name;

CREATE SQL SECURITY INVOKER VIEW staff_list AS
	SELECT s.staff_id AS ID, CONCAT(s.first_name, ' ', s.last_name) AS name, a.address AS address, a.postal_code AS `zip code`, a.phone AS phone,
		ci.city AS city, co.country AS country, s.store_id AS SID
	FROM staff s JOIN address a ON a.address_id = s.address_id JOIN city ci ON ci.city_id = a.city_id JOIN country co ON co.country_id = ci.country_id;

CREATE SQL SECURITY INVOKER VIEW sales_by_store AS
	SELECT CONCAT(ci.city, ',', co.country) AS store, CONCAT(m.first_name, ' ', m.last_name) AS manager, SUM(p.amount) AS total_sales
	FROM payment p JOIN rental r ON r.rental_id = p.rental_id JOIN inventory i ON i.inventory_id = r.inventory_id JOIN store s ON s.store_id = i.store_id
		JOIN address a ON a.address_id = s.address_id JOIN city ci ON ci.city_id = a.city_id JOIN country co ON co.country_id = ci.country_id
		JOIN staff m ON m.staff_id = s.manager_staff_id
	GROUP BY s.store_id ORDER BY co.country, ci.city;

CREATE SQL SECURITY INVOKER VIEW sales_by_film_category AS
	SELECT c.name AS category, SUM(p.amount) AS total_sales
	FROM payment p JOIN rental r ON r.rental_id = p.rental_id JOIN inventory i ON i.inventory_id = r.inventory_id JOIN film f ON f.film_id = i.film_id
		JOIN film_category fc ON fc.film_id = f.film_id JOIN category c ON c.category_id = fc.category_id
	GROUP BY c.name ORDER BY total_sales DESC;

CREATE SQL SECURITY INVOKER VIEW actor_info AS
	SELECT a.actor_id, a.first_name, a.last_name, GROUP_CONCAT(DISTINCT CONCAT(c.name, ': ', (
		SELECT GROUP_CONCAT(f.title ORDER BY f.title SEPARATOR ', ') FROM film f JOIN film_category fc2 ON fc2.film_id = f.film_id JOIN film_actor fa2 ON fa2.film_id = f.film_id
		WHERE fc2.category_id = c.category_id AND fa2.actor_id = a.actor_id)) ORDER BY c.name SEPARATOR '; ') AS film_info
	FROM actor a LEFT JOIN film_actor fa ON fa.actor_id = a.actor_id LEFT JOIN film_category fc ON fc.film_id = fa.film_id LEFT JOIN category c ON c.category_id = fc.category_id
	GROUP BY a.actor_id, a.first_name, a.last_name;

CREATE PROCEDURE rewards_report (IN min_monthly_purchases TINYINT UNSIGNED, IN min_dollar_amount_purchased DECIMAL(10,2), OUT count_rewardees INT)
	READS SQL DATA
BEGIN
	DECLARE last_month_start DATE;
	SET last_month_start = DATE_FORMAT(CURRENT_DATE() - INTERVAL 1 MONTH, '%Y-%m-01');
	CREATE TEMPORARY TABLE tmpCustomer (customer_id SMALLINT UNSIGNED NOT NULL PRIMARY KEY);
	INSERT INTO tmpCustomer (customer_id)
		SELECT p.customer_id FROM payment p WHERE DATE(p.payment_date) BETWEEN last_month_start AND LAST_DAY(last_month_start)
		GROUP BY p.customer_id HAVING SUM(p.amount) > min_dollar_amount_purchased AND COUNT(*) > min_monthly_purchases;
	SELECT COUNT(*) FROM tmpCustomer INTO count_rewardees;
	SELECT c.* FROM tmpCustomer t JOIN customer c ON c.customer_id = t.customer_id;
	DROP TABLE tmpCustomer;
END;

CREATE FUNCTION get_customer_balance (p_customer_id INT, p_effective_date DATETIME) RETURNS DECIMAL(5,2)
	DETERMINISTIC READS SQL DATA
BEGIN
	DECLARE v_rentfees DECIMAL(5,2);
	DECLARE v_overfees INTEGER;
	DECLARE v_payments DECIMAL(5,2);
	SELECT IFNULL(SUM(f.rental_rate), 0), IFNULL(SUM(GREATEST(TO_DAYS(r.return_date) - TO_DAYS(r.rental_date) - f.rental_duration, 0)), 0) INTO v_rentfees,
		v_overfees
		FROM film f JOIN inventory i ON i.film_id = f.film_id JOIN rental r ON r.inventory_id = i.inventory_id
		WHERE r.rental_date <= p_effective_date AND r.customer_id = p_customer_id;
	SELECT IFNULL(SUM(p.amount), 0) INTO v_payments FROM payment p WHERE p.payment_date <= p_effective_date AND p.customer_id = p_customer_id;
	RETURN v_rentfees + v_overfees - v_payments;
END;

CREATE FUNCTION inventory_held_by_customer (p_inventory_id INT) RETURNS INT
	READS SQL DATA
BEGIN
	DECLARE v_customer_id INT;
	DECLARE EXIT HANDLER FOR NOT FOUND RETURN NULL;
	SELECT customer_id INTO v_customer_id FROM rental WHERE return_date IS NULL AND inventory_id = p_inventory_id LIMIT 1;
	RETURN v_customer_id;
END;

CREATE FUNCTION inventory_in_stock (p_inventory_id INT) RETURNS BOOLEAN
	READS SQL DATA
BEGIN
	DECLARE v_out INT;
	SELECT COUNT(*) INTO v_out FROM rental WHERE inventory_id = p_inventory_id AND return_date IS NULL;
	RETURN v_out = 0;
END;

CREATE PROCEDURE film_in_stock (IN p_film_id INT, IN p_store_id INT, OUT p_film_count INT)
	READS SQL DATA
BEGIN
	SELECT inventory_id FROM inventory WHERE film_id = p_film_id AND store_id = p_store_id AND inventory_in_stock(inventory_id);
	SELECT COUNT(*) FROM inventory WHERE film_id = p_film_id AND store_id = p_store_id AND inventory_in_stock(inventory_id) INTO p_film_count;
END;

CREATE PROCEDURE film_not_in_stock (IN p_film_id INT, IN p_store_id INT, OUT p_film_count INT)
	READS SQL DATA
BEGIN
	SELECT inventory_id FROM inventory WHERE film_id = p_film_id AND store_id = p_store_id AND NOT inventory_in_stock(inventory_id);
	SELECT COUNT(*) FROM inventory WHERE film_id = p_film_id AND store_id = p_store_id AND NOT inventory_in_stock(inventory_id) INTO p_film_count;
END;

-- The rows, of which rental has :rows, and the others in proportion.
-- Tables refer to each other in circles; the connection is not used again.
SET foreign_key_checks = 0;

INSERT INTO country (country_id, country, last_update)
	SELECT n + 1, CONCAT('Country ', n), '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE 150 * n < :rows + 450;

INSERT INTO city (city_id, city, country_id, last_update)
	SELECT n + 1, CONCAT('City ', n), 1 + 7 * n % (SELECT COUNT(*) FROM country), '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE 27 * n < :rows + 108;

INSERT INTO address (address_id, address, district, city_id, postal_code, phone, last_update)
	SELECT n + 1, CONCAT(n, ' O''Hara Street'), CONCAT('District ', n % 7), 1 + 7 * n % (SELECT COUNT(*) FROM city), CASE WHEN n % 4 > 0 THEN 10000 + n END,
		CONCAT('555-', n), '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE 27 * n < :rows + 243;

INSERT INTO store (store_id, manager_staff_id, address_id, last_update)
	SELECT n + 1, n + 1, n + 1, '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE n < 2;

INSERT INTO staff (staff_id, first_name, last_name, address_id, email, store_id, active, username, last_update)
	SELECT n + 1, CONCAT('Staff ', n), 'Hill', n + 3, CONCAT('staff', n, '@example.org'), n + 1, TRUE, CONCAT('staff', n),
		'2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE n < 2;

INSERT INTO customer (customer_id, store_id, first_name, last_name, email, address_id, create_date, last_update, active)
	SELECT n + 1, 1 + n % 2, CONCAT('First ', n), CONCAT('Last ', n), CONCAT('customer', n, '@example.org'), n + 5,
		'2022-01-02 08:00:00' + INTERVAL (466560000 * (n DIV 4) DIV (:rows + 135)) SECOND,
		'2022-01-02 08:00:00' + INTERVAL (466560000 * n DIV (:rows + 135)) SECOND, 1
	FROM numbers WHERE 27 * n < :rows + 135;

INSERT INTO actor (actor_id, first_name, last_name, last_update)
	SELECT n + 1, CONCAT('ACTOR', n), CONCAT('GUINESS', n % 40), '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE 80 * n < :rows + 400;

INSERT INTO category (category_id, name, last_update)
	SELECT n + 1, CONCAT('Category ', n), '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE n < 16;

INSERT INTO language (language_id, name, last_update)
	SELECT n + 1, CONCAT('Language ', n), '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE n < 6;

INSERT INTO film (film_id, title, description, release_year, language_id, original_language_id, length, rating, special_features, last_update)
	SELECT n + 1, CONCAT('ACADEMY DINOSAUR ', n), CONCAT('An epic drama of number ', n), 2006, 1 + 5 * n % 6, CASE WHEN n % 9 = 4 THEN 1 + n % 6 END,
		60 + n % 120, ELT(1 + n % 5, 'G', 'PG', 'PG-13', 'R', 'NC-17'), CASE WHEN n % 5 > 0 THEN 'Trailers,Deleted Scenes' END,
		'2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE 16 * n < :rows + 80;

INSERT INTO film_actor (actor_id, film_id, last_update)
	SELECT 1 + (film_id - 1 + n) % (SELECT COUNT(*) FROM actor), film_id, '2021-02-15 04:00:00' + INTERVAL film_id MINUTE
	FROM film, numbers WHERE n <= (film_id - 1) % 5;

INSERT INTO film_category (film_id, category_id, last_update)
	SELECT film_id, 1 + (film_id - 1) % 16, '2021-02-15 04:00:00' + INTERVAL film_id MINUTE
	FROM film;

INSERT INTO inventory (inventory_id, film_id, store_id, last_update)
	SELECT n + 1, 1 + 7 * n % (SELECT COUNT(*) FROM film), 1 + n % 2, '2021-02-15 04:00:00' + INTERVAL n MINUTE
	FROM numbers WHERE 4 * n < :rows + 20;

INSERT INTO rental (rental_id, rental_date, inventory_id, customer_id, return_date, staff_id, last_update)
	SELECT n + 1, '2022-01-02 08:00:00' + INTERVAL (17280000 * n DIV :rows) SECOND, 1 + 31 * n % (SELECT COUNT(*) FROM inventory),
		1 + 7 * n % (SELECT COUNT(*) FROM customer), CASE WHEN n % 90 <> 17 THEN '2022-01-02 08:00:00' + INTERVAL (17280000 * n DIV :rows + 180000) SECOND END,
		1 + n % 2, '2022-01-02 08:00:00' + INTERVAL (17280000 * n DIV :rows + 3600) SECOND
	FROM numbers WHERE n < :rows;

INSERT INTO payment (payment_id, customer_id, staff_id, rental_id, amount, payment_date, last_update)
	SELECT ROW_NUMBER() OVER (ORDER BY rental_id), customer_id, 3 - staff_id, CASE WHEN (rental_id - 1) % 100 <> 62 THEN rental_id END,
		(rental_id - 1) % 12 + 0.99, rental_date + INTERVAL 1 SECOND, rental_date + INTERVAL 1 HOUR
	FROM rental WHERE (rental_id - 1) % 50 <> 11;

-- As in the published data, the triggers below are made after the rows.
CREATE TRIGGER customer_create_date BEFORE INSERT ON customer FOR EACH ROW SET NEW.create_date = NOW();

CREATE TRIGGER rental_date BEFORE INSERT ON rental FOR EACH ROW SET NEW.rental_date = NOW();

CREATE TRIGGER payment_date BEFORE INSERT ON payment FOR EACH ROW SET NEW.payment_date = NOW();
