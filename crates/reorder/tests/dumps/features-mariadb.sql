-- Objects of MariaDB of many kinds. `features-mariadb.dump.sql` is what `mariadb-dump --no-data
-- --routines --triggers` writes of a database with them.
CREATE TABLE `Region` (
    `id` int unsigned NOT NULL AUTO_INCREMENT,
    `name` varchar(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'it\'s; new',
    `total` decimal(12,2) NOT NULL DEFAULT 0.00 COMMENT 'in euro; without tax',
    `kind` enum('a','b;c') DEFAULT 'a',
    `info` json DEFAULT NULL,
    `twice` decimal(12,2) GENERATED ALWAYS AS (`total` * 2) VIRTUAL,
    `changed` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
    `made` datetime DEFAULT (now() + interval 1 day),
    PRIMARY KEY (`id`),
    UNIQUE KEY `by_name` (`name`(10)),
    KEY `by_kind` (`kind`, `total` DESC),
    FULLTEXT KEY `words` (`name`),
    CONSTRAINT `positive` CHECK (`total` >= 0 AND char_length(`name`) > 0)
) ENGINE=InnoDB;
CREATE TABLE `shop` (
    `id` bigint NOT NULL,
    `region` int unsigned NOT NULL,
    `name` varchar(20) UNIQUE,
    PRIMARY KEY (`id`),
    CONSTRAINT `of_region` FOREIGN KEY (`region`) REFERENCES `Region` (`id`)
        ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
CREATE TABLE `audit` (`at` datetime(6), `what` text) ENGINE=MyISAM;
CREATE TABLE `cache` (`k` int PRIMARY KEY, `v` int) ENGINE=MEMORY;
CREATE TABLE `sale` (
    `id` int NOT NULL, `day` date NOT NULL, `shop` bigint, PRIMARY KEY (`id`, `day`)
) ENGINE=InnoDB PARTITION BY RANGE (year(`day`))
  (PARTITION `p0` VALUES LESS THAN (2020), PARTITION `p1` VALUES LESS THAN MAXVALUE);
CREATE SEQUENCE `numbers` START WITH 10;
DELIMITER //
CREATE FUNCTION bonus(n int) RETURNS int READS SQL DATA
BEGIN
    DECLARE found int;
    SELECT count(*) INTO found FROM sale WHERE id = n;
    IF found > 1 THEN RETURN 2; END IF;
    RETURN CASE WHEN found = 1 THEN 1 ELSE 0 END;
END //
CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 2 //
CREATE PROCEDURE tidy(IN days int)
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    DELETE FROM sale WHERE `day` < curdate() - INTERVAL days DAY;
    COMMIT;
END //
CREATE PROCEDURE note(IN t varchar(20)) INSERT INTO shop (id, region, name) VALUES (1, 1, t) //
CREATE TRIGGER noted AFTER INSERT ON sale FOR EACH ROW
BEGIN
    INSERT INTO audit (at, what) VALUES (now(6), concat('sold; ', NEW.id));
    UPDATE Region SET total = total + 1 WHERE id = 1;
END //
CREATE TRIGGER fixed BEFORE UPDATE ON shop FOR EACH ROW SET NEW.name = upper(NEW.name) //
CREATE TRIGGER counted AFTER DELETE ON cache FOR EACH ROW SET @gone = ifnull(@gone, 0) + 1 //
DELIMITER ;
CREATE VIEW `totals` AS SELECT r.id, sum(r.total) AS n, bonus(r.id) AS b
    FROM Region r JOIN shop s ON s.region = r.id GROUP BY r.id;
CREATE VIEW `open` AS SELECT id, name FROM shop WHERE name <> '' WITH CASCADED CHECK OPTION;
