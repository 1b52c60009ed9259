-- A set of jobs and the callback that is enqueued once when all of them are terminal.
-- The members name their batch; nothing here counts them on their way.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}batches` (
	`id`           BINARY(16)     NOT NULL,
	`tenant`       VARBINARY(190) NOT NULL,
	`name`         VARBINARY(190) NOT NULL,
	`callback`     MEDIUMBLOB     NOT NULL,           -- the job's template; '': none
	`stand`        TINYINT        NOT NULL DEFAULT 0, -- 0 open, 1 sealed, 2 finished
	`created_at`   BIGINT         NOT NULL,
	`sealed_at`    BIGINT         NOT NULL DEFAULT 0,
	`finished_at`  BIGINT         NOT NULL DEFAULT 0,
	`ends_at`      BIGINT         NOT NULL DEFAULT 0, -- when a finished one may go; 0 never
	`total`        BIGINT         NOT NULL DEFAULT 0, -- members when it was sealed
	`done`         BIGINT         NOT NULL DEFAULT 0, -- of them, when it finished
	`callback_job` BINARY(16)     NULL,
	`keep`         BIGINT         NOT NULL,
	PRIMARY KEY (`id`),
	KEY `stand` (`stand`, `id`), -- what a sweep looks at, and lists by where a batch stands
	KEY `tenant` (`tenant`, `id`),
	KEY `ends` (`ends_at`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW `{schema}`.`{prefix}batches_readable` AS
SELECT
	LOWER(INSERT(INSERT(INSERT(INSERT(HEX(`id`), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS `id`,
	ELT(`stand` + 1, 'open', 'sealed', 'finished') AS `state`,
	CONVERT(`tenant` USING utf8mb4) AS `tenant`,
	CONVERT(`name` USING utf8mb4) AS `name`,
	TIMESTAMPADD(MICROSECOND, `created_at` * 1000, '1970-01-01') AS `created_utc`,
	TIMESTAMPADD(MICROSECOND, NULLIF(`sealed_at`, 0) * 1000, '1970-01-01') AS `sealed_utc`,
	TIMESTAMPADD(MICROSECOND, NULLIF(`finished_at`, 0) * 1000, '1970-01-01') AS `finished_utc`,
	`total`,
	`done`,
	LOWER(INSERT(INSERT(INSERT(INSERT(HEX(`callback_job`), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS `callback_job`,
	CONVERT(`callback` USING utf8mb4) AS `callback`
FROM `{schema}`.`{prefix}batches`;
