-- One row is one job, for its whole life. Moments are whole milliseconds since
-- the epoch by the database's clock, 0 is none; spans are milliseconds, negative
-- is for ever; ran is microseconds. States: 0 ready, 1 scheduled, 2 blocked,
-- 3 running, 4 done, 5 dead, 6 cancelled.
--
-- Names, keys and args are UTF-8 held as bytes: every collation pads, folds or
-- both, and args come back as they were given, in half the space of NVARCHAR.
-- What is written for people (error, history) or searched (tags, error) is
-- NVARCHAR. Ids are BINARY: a UNIQUEIDENTIFIER sorts by its last six bytes first.
-- The view {prefix}jobs_readable shows all of it as text.
--
-- There is no GO here: each statement is a batch of its own.
CREATE TABLE [{schema}].[{prefix}jobs] (
	id             BINARY(16)     NOT NULL,
	run_at         BIGINT         NOT NULL, -- due; an order within a priority
	due_at         BIGINT         NOT NULL, -- its place in a chain, which a retry does not change
	wake_at        BIGINT         NOT NULL, -- when time alone moves the row: due, lease end, expiry; 0 never
	created_at     BIGINT         NOT NULL,
	claimed_at     BIGINT         NOT NULL DEFAULT 0,
	finished_at    BIGINT         NOT NULL DEFAULT 0,
	ran            BIGINT         NOT NULL DEFAULT 0,
	timeout        BIGINT         NOT NULL DEFAULT 0,
	keep_done      BIGINT         NOT NULL DEFAULT 0,
	keep_dead      BIGINT         NOT NULL DEFAULT 0,
	keep_cancelled BIGINT         NOT NULL DEFAULT 0,
	priority       INT            NOT NULL,
	attempts       INT            NOT NULL DEFAULT 0,
	max_attempts   INT            NOT NULL DEFAULT 0,
	stalls         INT            NOT NULL DEFAULT 0,
	snoozes        INT            NOT NULL DEFAULT 0,
	blocked_n      INT            NOT NULL DEFAULT 0,
	state          TINYINT        NOT NULL,
	stuck          TINYINT        NOT NULL DEFAULT 0,
	turn           TINYINT        NOT NULL DEFAULT 0,
	on_dead        TINYINT        NOT NULL DEFAULT 0,
	forget_args    TINYINT        NOT NULL DEFAULT 0, -- 1: at done, 2: they were
	token          BINARY(16)     NULL,     -- of the claim: set exactly while running
	settled        BINARY(16)     NULL,     -- the token whose outcome was written last
	batch_id       BINARY(16)     NULL,
	queue          VARBINARY(120) NOT NULL,
	kind           VARBINARY(120) NOT NULL,
	runner         VARBINARY(190) NOT NULL DEFAULT 0x,
	tenant         VARBINARY(190) NOT NULL DEFAULT 0x,
	unique_key     VARBINARY(190) NULL,
	unique_lock    VARBINARY(400) NULL,     -- the key scoped by its tenant, until terminal, with a window as long as the row
	limit_key      VARBINARY(400) NULL,
	blocked_on     VARBINARY(400) NULL,
	failure_kind   VARBINARY(120) NOT NULL DEFAULT 0x,
	error          NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT '',
	tags           NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT '',
	meta           NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT '',
	result         NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT '',
	history        NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT '',
	args           VARBINARY(MAX) NOT NULL,
	CONSTRAINT [{prefix}jobs_id] PRIMARY KEY CLUSTERED (id)
);

-- Escalated to the table, the locks of one large write would hide every row from
-- all who pass locked rows over.
ALTER TABLE [{schema}].[{prefix}jobs] SET (LOCK_ESCALATION = DISABLE);

-- What is due, in the order of the claim. Only due rows are in it. A filter is
-- matched by a literal alone.
CREATE INDEX [{prefix}jobs_ready] ON [{schema}].[{prefix}jobs] (queue, kind, priority, run_at, id) WHERE state = 0;

-- What time moves (promote, recover, prune), and what is not ready, by state.
CREATE INDEX [{prefix}jobs_wake] ON [{schema}].[{prefix}jobs] (state, wake_at) WHERE state > 0;

-- The queues of scheduled rows, for the loose scan; a plain job is never in it.
CREATE INDEX [{prefix}jobs_later] ON [{schema}].[{prefix}jobs] (queue, kind, run_at) WHERE state = 1;

CREATE INDEX [{prefix}jobs_blocked] ON [{schema}].[{prefix}jobs] (blocked_on, priority, run_at, id) WHERE state = 2;

CREATE UNIQUE INDEX [{prefix}jobs_unique] ON [{schema}].[{prefix}jobs] (unique_lock) WHERE unique_lock IS NOT NULL;

CREATE INDEX [{prefix}jobs_batch] ON [{schema}].[{prefix}jobs] (batch_id, state) WHERE batch_id IS NOT NULL;

CREATE INDEX [{prefix}jobs_tenant] ON [{schema}].[{prefix}jobs] (tenant, id) WHERE tenant <> 0x;

CREATE INDEX [{prefix}jobs_dead] ON [{schema}].[{prefix}jobs] (id) WHERE state = 5;

-- UTF-8 bytes as text, for the view alone: no conversion of the server's does it
-- in a database of any collation.
CREATE FUNCTION [{schema}].[{prefix}text] (@bytes VARBINARY(MAX)) RETURNS NVARCHAR(MAX) AS
BEGIN
	DECLARE @text NVARCHAR(MAX) = '', @at BIGINT = 1, @end BIGINT = DATALENGTH(@bytes), @point INT, @more INT
	IF @bytes IS NULL RETURN NULL
	WHILE @at <= @end
	BEGIN
		SET @point = CONVERT(INT, SUBSTRING(@bytes, @at, 1))
		SET @more = CASE WHEN @point < 128 THEN 0 WHEN @point < 224 THEN 1 WHEN @point < 240 THEN 2 ELSE 3 END
		SET @point = CASE @more WHEN 0 THEN @point WHEN 1 THEN @point & 31 WHEN 2 THEN @point & 15 ELSE @point & 7 END
		SET @at = @at + 1
		WHILE @more > 0
		BEGIN
			SET @point = @point * 64 + (CONVERT(INT, SUBSTRING(@bytes, @at, 1)) & 63)
			SET @at = @at + 1
			SET @more = @more - 1
		END
		SET @text = @text + CASE WHEN @point < 65536 THEN NCHAR(@point)
			ELSE NCHAR(55296 + (@point - 65536) / 1024) + NCHAR(56320 + (@point - 65536) % 1024) END
	END
	RETURN @text
END;

CREATE VIEW [{schema}].[{prefix}jobs_readable] AS
SELECT
	LOWER(STUFF(STUFF(STUFF(STUFF(CONVERT(CHAR(32), j.id, 2), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS id,
	CHOOSE(j.state + 1, 'ready', 'scheduled', 'blocked', 'running', 'done', 'dead', 'cancelled') AS state,
	[{schema}].[{prefix}text](j.queue) AS queue,
	[{schema}].[{prefix}text](j.kind) AS kind,
	j.priority,
	DATEADD(MILLISECOND, j.run_at % 86400000, DATEADD(DAY, j.run_at / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS due_utc,
	DATEADD(MILLISECOND, NULLIF(j.wake_at, 0) % 86400000, DATEADD(DAY, NULLIF(j.wake_at, 0) / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS wakes_utc,
	j.attempts,
	j.stalls,
	[{schema}].[{prefix}text](j.runner) AS runner,
	[{schema}].[{prefix}text](j.unique_key) AS unique_key,
	[{schema}].[{prefix}text](j.tenant) AS tenant,
	DATEADD(MILLISECOND, j.created_at % 86400000, DATEADD(DAY, j.created_at / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS created_utc,
	DATEADD(MILLISECOND, NULLIF(j.finished_at, 0) % 86400000, DATEADD(DAY, NULLIF(j.finished_at, 0) / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS finished_utc,
	j.error,
	j.tags,
	j.history,
	[{schema}].[{prefix}text](SUBSTRING(j.args, 1, 2000)) AS args_begin
FROM [{schema}].[{prefix}jobs] AS j;
