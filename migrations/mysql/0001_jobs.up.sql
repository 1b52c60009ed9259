-- One row is one job, for its whole life. Moments are whole milliseconds since
-- the epoch by the database's clock, 0 is none; spans are milliseconds, negative
-- is for ever; ran is microseconds. States: 0 ready, 1 scheduled, 2 blocked,
-- 3 running, 4 done, 5 dead, 6 cancelled.
--
-- Names, keys and texts are UTF-8 held as bytes: every collation pads, folds or
-- both. The view {prefix}jobs_readable shows them as text.
--
-- There are no partial indexes, so each entry of an index is one for every row:
-- ready and wake change with the state, the others at the ends of a life alone.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}jobs` (
	`id`             BINARY(16)     NOT NULL,
	`run_at`         BIGINT         NOT NULL, -- due; an order within a priority
	`due_at`         BIGINT         NOT NULL, -- its place in a chain, which a retry does not change
	`wake_at`        BIGINT         NOT NULL, -- when time alone moves the row: due, lease end, expiry; 0 never
	`created_at`     BIGINT         NOT NULL,
	`claimed_at`     BIGINT         NOT NULL DEFAULT 0,
	`finished_at`    BIGINT         NOT NULL DEFAULT 0,
	`ran`            BIGINT         NOT NULL DEFAULT 0,
	`timeout`        BIGINT         NOT NULL DEFAULT 0,
	`keep_done`      BIGINT         NOT NULL DEFAULT 0,
	`keep_dead`      BIGINT         NOT NULL DEFAULT 0,
	`keep_cancelled` BIGINT         NOT NULL DEFAULT 0,
	`priority`       SMALLINT       NOT NULL,
	`attempts`       INT            NOT NULL DEFAULT 0,
	`max_attempts`   INT            NOT NULL DEFAULT 0,
	`stalls`         INT            NOT NULL DEFAULT 0,
	`snoozes`        INT            NOT NULL DEFAULT 0,
	`blocked_n`      INT            NOT NULL DEFAULT 0,
	`state`          TINYINT        NOT NULL,
	`stuck`          TINYINT        NOT NULL DEFAULT 0,
	`turn`           TINYINT        NOT NULL DEFAULT 0,
	`on_dead`        TINYINT        NOT NULL DEFAULT 0,
	`forget_args`    TINYINT        NOT NULL DEFAULT 0, -- 1: at done, 2: they were
	`token`          BINARY(16)     NOT NULL DEFAULT '', -- of the claim while running, else zeros: the row keeps its size
	`settled`        BINARY(16)     NOT NULL DEFAULT '', -- the token whose outcome was written last; before, the mark of its insert
	`batch_id`       BINARY(16)     NULL,
	`queue`          VARBINARY(120) NOT NULL,
	`kind`           VARBINARY(120) NOT NULL,
	`runner`         VARBINARY(190) NOT NULL DEFAULT '',
	`tenant`         VARBINARY(190) NOT NULL DEFAULT '',
	`unique_key`     VARBINARY(190) NULL,
	`unique_lock`    VARBINARY(400) NULL,     -- the key scoped by its tenant, until terminal, with a window as long as the row
	`limit_key`      VARBINARY(400) NULL,
	`blocked_on`     VARBINARY(400) NULL,
	`failure_kind`   VARBINARY(120) NOT NULL DEFAULT '',
	`error`          MEDIUMBLOB     NOT NULL DEFAULT (''),
	`tags`           MEDIUMBLOB     NOT NULL DEFAULT (''),
	`meta`           MEDIUMBLOB     NOT NULL DEFAULT (''),
	`result`         MEDIUMBLOB     NOT NULL DEFAULT (''),
	`history`        MEDIUMBLOB     NOT NULL DEFAULT (''),
	`args`           MEDIUMBLOB     NOT NULL,
	PRIMARY KEY (`id`),
	KEY `ready` (`state`, `queue`, `kind`, `priority`, `run_at`, `id`), -- what is due, in the order of the claim
	KEY `wake` (`state`, `wake_at`),                                   -- what time moves: promote, recover, prune
	UNIQUE KEY `locked` (`unique_lock`),
	KEY `tenant` (`tenant`, `id`),
	KEY `batch` (`batch_id`, `state`),
	KEY `blocked` (`blocked_on`, `priority`, `run_at`, `id`) -- blocked_on is NULL but while blocked
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW `{schema}`.`{prefix}jobs_readable` AS
SELECT
	LOWER(INSERT(INSERT(INSERT(INSERT(HEX(`id`), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS `id`,
	ELT(`state` + 1, 'ready', 'scheduled', 'blocked', 'running', 'done', 'dead', 'cancelled') AS `state`,
	CONVERT(`queue` USING utf8mb4) AS `queue`,
	CONVERT(`kind` USING utf8mb4) AS `kind`,
	`priority`,
	TIMESTAMPADD(MICROSECOND, `run_at` * 1000, '1970-01-01') AS `due_utc`,
	TIMESTAMPADD(MICROSECOND, NULLIF(`wake_at`, 0) * 1000, '1970-01-01') AS `wakes_utc`,
	`attempts`,
	`stalls`,
	CONVERT(`runner` USING utf8mb4) AS `runner`,
	CONVERT(`unique_key` USING utf8mb4) AS `unique_key`,
	CONVERT(`tenant` USING utf8mb4) AS `tenant`,
	TIMESTAMPADD(MICROSECOND, `created_at` * 1000, '1970-01-01') AS `created_utc`,
	TIMESTAMPADD(MICROSECOND, NULLIF(`finished_at`, 0) * 1000, '1970-01-01') AS `finished_utc`,
	CONVERT(`error` USING utf8mb4) AS `error`,
	CONVERT(`tags` USING utf8mb4) AS `tags`,
	CONVERT(`history` USING utf8mb4) AS `history`,
	CONVERT(`args` USING utf8mb4) AS `args`
FROM `{schema}`.`{prefix}jobs`;
