-- What kinds declare of limits (sort 0) and rates (sort 1); n = 0: none any more.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}bounds` (
	`kind`        VARBINARY(120) NOT NULL,
	`sort`        SMALLINT       NOT NULL,
	`grp`         VARBINARY(190) NOT NULL,
	`n`           INT            NOT NULL,
	`span`        BIGINT         NOT NULL, -- of a rate
	`declared_at` BIGINT         NOT NULL,
	PRIMARY KEY (`kind`, `sort`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- One row is one permit of a bound. It is taken while it has a token or until ends_at.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}slots` (
	`bound`      VARBINARY(400) NOT NULL,
	`slot`       INT            NOT NULL,
	`job`        BINARY(16)     NULL,
	`token`      BINARY(16)     NULL,
	`ends_at`    BIGINT         NOT NULL, -- kept at least until then; 0 not kept
	`changed_at` BIGINT         NOT NULL,
	PRIMARY KEY (`bound`, `slot`),
	KEY `ends` (`ends_at`) -- slots that time frees
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- A job's turns. place orders a key, with the job's id; NULL: it has no turn there.
CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}job_keys` (
	`job`    BINARY(16)     NOT NULL,
	`bound`  VARBINARY(400) NOT NULL,
	`place`  BIGINT         NULL,
	`blocks` SMALLINT       NULL, -- 1: the job is dead and keeps its place
	`placed` TINYINT GENERATED ALWAYS AS (`place` IS NOT NULL) STORED, -- an index has NULL before all else: those who have no turn would be walked
	PRIMARY KEY (`job`, `bound`),
	KEY `turn` (`bound`, `placed`, `place`, `job`),
	KEY `blocks` (`blocks`, `bound`, `job`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Ready jobs of tenants, for queues that serve these in turn: fair is the queue of
-- such a row. It is NULL for a job without a tenant, whatever becomes of that.
-- unless: SELECT 1 FROM information_schema.statistics WHERE table_schema = '{schema}' AND table_name = '{prefix}jobs' AND index_name = 'fair';
ALTER TABLE `{schema}`.`{prefix}jobs`
	ADD COLUMN `fair` VARBINARY(120) GENERATED ALWAYS AS (IF(`state` = 0 AND `tenant` <> '', `queue`, NULL)) VIRTUAL,
	ADD KEY `fair` (`fair`, `tenant`, `priority`, `run_at`, `id`);
