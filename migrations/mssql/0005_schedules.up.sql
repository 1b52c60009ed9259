-- A recurring job. Whoever moves its next tick on enqueues that tick's job. The row
-- without a name is none: those who declare some lock it, one after another.
CREATE TABLE [{schema}].[{prefix}schedules] (
	tenant     VARBINARY(190) NOT NULL,
	name       VARBINARY(190) NOT NULL,
	namespace  VARBINARY(190) NOT NULL,           -- of the application that declares it; 0x: an operator's
	kind       VARBINARY(120) NOT NULL,           -- of its jobs
	cron       NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL,
	zone       NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL,
	every      BIGINT         NOT NULL,
	missed     SMALLINT       NOT NULL,           -- 0 once, 1 skip, 2 all
	most       INT            NOT NULL,           -- jobs in one go, of those that were missed
	job        NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL, -- the template of its jobs
	paused     TINYINT        NOT NULL DEFAULT 0,
	broken     NVARCHAR(MAX)  COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT '', -- why it cannot be followed
	idle       TINYINT        NOT NULL DEFAULT 0, -- 1: paused, broken or both
	next_at    BIGINT         NOT NULL DEFAULT 0, -- 0: to be found, without running it
	last_at    BIGINT         NOT NULL DEFAULT 0,
	last_job   BINARY(16)     NULL,
	skipped    BIGINT         NOT NULL DEFAULT 0, -- ticks without a job of their own
	rev        BIGINT         NOT NULL DEFAULT 1, -- rises with each change but a tick
	created_at BIGINT         NOT NULL,
	updated_at BIGINT         NOT NULL,
	CONSTRAINT [{prefix}schedules_id] PRIMARY KEY CLUSTERED (tenant, name)
);

-- What is due of a kind, the longest first.
CREATE INDEX [{prefix}schedules_due] ON [{schema}].[{prefix}schedules] (kind, next_at, tenant, name) WHERE idle = 0;

CREATE INDEX [{prefix}schedules_owner] ON [{schema}].[{prefix}schedules] (namespace);

CREATE VIEW [{schema}].[{prefix}schedules_readable] AS
SELECT
	[{schema}].[{prefix}text](s.tenant) AS tenant,
	[{schema}].[{prefix}text](s.name) AS name,
	[{schema}].[{prefix}text](s.namespace) AS namespace,
	[{schema}].[{prefix}text](s.kind) AS kind,
	s.cron,
	s.zone,
	s.every AS every_ms,
	CHOOSE(s.missed + 1, 'once', 'skip', 'all') AS missed,
	s.most,
	s.paused,
	s.broken,
	DATEADD(MILLISECOND, NULLIF(s.next_at, 0) % 86400000, DATEADD(DAY, NULLIF(s.next_at, 0) / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS next_utc,
	DATEADD(MILLISECOND, NULLIF(s.last_at, 0) % 86400000, DATEADD(DAY, NULLIF(s.last_at, 0) / 86400000, CONVERT(DATETIME2(3), '19700101'))) AS last_utc,
	LOWER(STUFF(STUFF(STUFF(STUFF(CONVERT(CHAR(32), s.last_job, 2), 21, 0, '-'), 17, 0, '-'), 13, 0, '-'), 9, 0, '-')) AS last_job,
	s.skipped,
	s.job
FROM [{schema}].[{prefix}schedules] AS s
WHERE s.name <> 0x;
