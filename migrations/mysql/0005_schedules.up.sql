-- A recurring job. Whoever moves its next tick on enqueues that tick's job. The row
-- without a name is none: those who declare some lock it, one after another.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}schedules` (
	`tenant`     VARBINARY(190) NOT NULL,
	`name`       VARBINARY(190) NOT NULL,
	`namespace`  VARBINARY(190) NOT NULL,           -- of the application that declares it; '': an operator's
	`kind`       VARBINARY(120) NOT NULL,           -- of its jobs
	`cron`       MEDIUMBLOB     NOT NULL,
	`zone`       MEDIUMBLOB     NOT NULL,
	`every`      BIGINT         NOT NULL,
	`missed`     SMALLINT       NOT NULL,           -- 0 once, 1 skip, 2 all
	`most`       INT            NOT NULL,           -- jobs in one go, of those that were missed
	`job`        MEDIUMBLOB     NOT NULL,           -- the template of its jobs
	`paused`     TINYINT        NOT NULL DEFAULT 0,
	`broken`     MEDIUMBLOB     NOT NULL DEFAULT (''), -- why it cannot be followed
	`idle`       TINYINT        NOT NULL DEFAULT 0, -- 1: paused, broken or both
	`next_at`    BIGINT         NOT NULL DEFAULT 0, -- 0: to be found, without running it
	`last_at`    BIGINT         NOT NULL DEFAULT 0,
	`last_job`   BINARY(16)     NULL,
	`skipped`    BIGINT         NOT NULL DEFAULT 0, -- ticks without a job of their own
	`rev`        BIGINT         NOT NULL DEFAULT 1, -- rises with each change but a tick
	`created_at` BIGINT         NOT NULL,
	`updated_at` BIGINT         NOT NULL,
	PRIMARY KEY (`tenant`, `name`),
	KEY `due` (`idle`, `kind`, `next_at`, `tenant`, `name`), -- what is due of a kind, the longest first
	KEY `owner` (`namespace`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW `{schema}`.`{prefix}schedules_readable` AS
SELECT
	CONVERT(`tenant` USING utf8mb4) AS `tenant`,
	CONVERT(`name` USING utf8mb4) AS `name`,
	CONVERT(`namespace` USING utf8mb4) AS `namespace`,
	CONVERT(`kind` USING utf8mb4) AS `kind`,
	CONVERT(`cron` USING utf8mb4) AS `cron`,
	CONVERT(`zone` USING utf8mb4) AS `zone`,
	`every` AS `every_ms`,
	ELT(`missed` + 1, 'once', 'skip', 'all') AS `missed`,
	`most`,
	`paused`,
	CONVERT(`broken` USING utf8mb4) AS `broken`,
	TIMESTAMPADD(MICROSECOND, NULLIF(`next_at`, 0) * 1000, '1970-01-01') AS `next_utc`,
	TIMESTAMPADD(MICROSECOND, NULLIF(`last_at`, 0) * 1000, '1970-01-01') AS `last_utc`,
	LOWER(INSERT(INSERT(INSERT(INSERT(HEX(`last_job`), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS `last_job`,
	`skipped`,
	CONVERT(`job` USING utf8mb4) AS `job`
FROM `{schema}`.`{prefix}schedules`
WHERE `name` <> '';
