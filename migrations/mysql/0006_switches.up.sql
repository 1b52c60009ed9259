-- What is paused: sort 0 a queue, 1 a kind.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}switches` (
	`sort`  TINYINT        NOT NULL,
	`name`  VARBINARY(120) NOT NULL,
	`since` BIGINT         NOT NULL,
	PRIMARY KEY (`sort`, `name`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
