-- A recurring job. Whoever moves its next tick on enqueues that tick's job. The row
-- without a name is none: those who declare some lock it, one after another.
CREATE TABLE "{schema}"."{prefix}schedules" (
	tenant     TEXT     COLLATE "C" NOT NULL,
	name       TEXT     COLLATE "C" NOT NULL,
	namespace  TEXT     COLLATE "C" NOT NULL,     -- of the application that declares it; '': an operator's
	kind       TEXT     COLLATE "C" NOT NULL,     -- of its jobs
	cron       TEXT     COLLATE "C" NOT NULL,
	zone       TEXT     COLLATE "C" NOT NULL,
	every      BIGINT   NOT NULL,
	missed     SMALLINT NOT NULL,                 -- 0 once, 1 skip, 2 all
	most       INTEGER  NOT NULL,                 -- jobs in one go, of those that were missed
	job        TEXT     COLLATE "C" NOT NULL,     -- the template of its jobs
	paused     SMALLINT NOT NULL DEFAULT 0,
	broken     TEXT     COLLATE "C" NOT NULL DEFAULT '', -- why it cannot be followed
	idle       SMALLINT NOT NULL DEFAULT 0,       -- 1: paused, broken or both
	next_at    BIGINT   NOT NULL DEFAULT 0,       -- 0: to be found, without running it
	last_at    BIGINT   NOT NULL DEFAULT 0,
	last_job   UUID,
	skipped    BIGINT   NOT NULL DEFAULT 0,       -- ticks without a job of their own
	rev        BIGINT   NOT NULL DEFAULT 1,       -- rises with each change but a tick
	created_at BIGINT   NOT NULL,
	updated_at BIGINT   NOT NULL,
	PRIMARY KEY (tenant, name)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

-- What is due of a kind, the longest first.
CREATE INDEX "{prefix}schedules_due" ON "{schema}"."{prefix}schedules" (kind, next_at, tenant, name) WHERE idle = 0;

CREATE INDEX "{prefix}schedules_owner" ON "{schema}"."{prefix}schedules" (namespace);
