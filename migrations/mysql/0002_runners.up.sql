-- Who lives, by the database's clock.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}runners` (
	`id`         VARBINARY(190) NOT NULL,
	`kinds`      MEDIUMBLOB     NOT NULL, -- JSON array
	`queues`     MEDIUMBLOB     NOT NULL, -- JSON array; empty: all
	`started_at` BIGINT         NOT NULL,
	`seen_at`    BIGINT         NOT NULL,
	`lives_to`   BIGINT         NOT NULL,
	PRIMARY KEY (`id`),
	KEY `lives` (`lives_to`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
