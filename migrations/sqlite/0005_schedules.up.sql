-- A recurring job. Whoever moves its next tick on enqueues that tick's job. The row
-- without a name is none: those who declare some lock it, one after another.
CREATE TABLE "{prefix}schedules" (
	tenant     TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	namespace  TEXT    NOT NULL,           -- of the application that declares it; '': an operator's
	kind       TEXT    NOT NULL,           -- of its jobs
	cron       TEXT    NOT NULL,
	zone       TEXT    NOT NULL,
	every      INTEGER NOT NULL,
	missed     INTEGER NOT NULL,           -- 0 once, 1 skip, 2 all
	most       INTEGER NOT NULL,           -- jobs in one go, of those that were missed
	job        TEXT    NOT NULL,           -- the template of its jobs
	paused     INTEGER NOT NULL DEFAULT 0,
	broken     TEXT    NOT NULL DEFAULT '', -- why it cannot be followed
	idle       INTEGER NOT NULL DEFAULT 0, -- 1: paused, broken or both
	next_at    INTEGER NOT NULL DEFAULT 0, -- 0: to be found, without running it
	last_at    INTEGER NOT NULL DEFAULT 0,
	last_job   BLOB,
	skipped    INTEGER NOT NULL DEFAULT 0, -- ticks without a job of their own
	rev        INTEGER NOT NULL DEFAULT 1, -- rises with each change but a tick
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (tenant, name)
) STRICT;

-- What is due of a kind, the longest first.
CREATE INDEX "{prefix}schedules_due" ON "{prefix}schedules" (kind, next_at, tenant, name) WHERE idle = 0;

CREATE INDEX "{prefix}schedules_owner" ON "{prefix}schedules" (namespace);
