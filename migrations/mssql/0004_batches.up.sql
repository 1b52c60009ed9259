-- A set of jobs and the callback that is enqueued once when all of them are terminal.
-- The members name their batch; nothing here counts them on their way.
CREATE TABLE [{schema}].[{prefix}batches] (
	id           BINARY(16)     NOT NULL,
	tenant       VARBINARY(190) NOT NULL,
	name         VARBINARY(190) NOT NULL,
	callback     NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL, -- the job's template; '': none
	stand        TINYINT        NOT NULL DEFAULT 0, -- 0 open, 1 sealed, 2 finished
	created_at   BIGINT         NOT NULL,
	sealed_at    BIGINT         NOT NULL DEFAULT 0,
	finished_at  BIGINT         NOT NULL DEFAULT 0,
	ends_at      BIGINT         NOT NULL DEFAULT 0, -- when a finished one may go; 0 never
	total        BIGINT         NOT NULL DEFAULT 0, -- members when it was sealed
	done         BIGINT         NOT NULL DEFAULT 0, -- of them, when it finished
	callback_job BINARY(16)     NULL,
	keep         BIGINT         NOT NULL,
	CONSTRAINT [{prefix}batches_id] PRIMARY KEY CLUSTERED (id)
);

-- What a sweep looks at, and lists by where a batch stands.
CREATE INDEX [{prefix}batches_stand] ON [{schema}].[{prefix}batches] (stand, id);

CREATE INDEX [{prefix}batches_tenant] ON [{schema}].[{prefix}batches] (tenant, id) WHERE tenant <> 0x;

CREATE INDEX [{prefix}batches_ends] ON [{schema}].[{prefix}batches] (ends_at) WHERE ends_at > 0;

CREATE VIEW [{schema}].[{prefix}batches_readable] AS
SELECT
	LOWER(STUFF(STUFF(STUFF(STUFF(CONVERT(CHAR(32), b.id, 2), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS id,
	CHOOSE(b.stand + 1, 'open', 'sealed', 'finished') AS state,
	[{schema}].[{prefix}text](b.tenant) AS tenant,
	[{schema}].[{prefix}text](b.name) AS name,
	DATEADD(MILLISECOND, b.created_at % 86400000, DATEADD(DAY, b.created_at / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS created_utc,
	DATEADD(MILLISECOND, NULLIF(b.sealed_at, 0) % 86400000, DATEADD(DAY, NULLIF(b.sealed_at, 0) / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS sealed_utc,
	DATEADD(MILLISECOND, NULLIF(b.finished_at, 0) % 86400000, DATEADD(DAY, NULLIF(b.finished_at, 0) / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS finished_utc,
	b.total,
	b.done,
	LOWER(STUFF(STUFF(STUFF(STUFF(CONVERT(CHAR(32), b.callback_job, 2), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS callback_job,
	b.callback
FROM [{schema}].[{prefix}batches] AS b;
