-- A set of jobs and the callback that is enqueued once when all of them are terminal.
-- The members name their batch; nothing here counts them on their way.
CREATE TABLE "{prefix}batches" (
	id           BLOB    NOT NULL PRIMARY KEY,
	tenant       TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	callback     TEXT    NOT NULL,           -- the job's template; '': none
	stand        INTEGER NOT NULL DEFAULT 0, -- 0 open, 1 sealed, 2 finished
	created_at   INTEGER NOT NULL,
	sealed_at    INTEGER NOT NULL DEFAULT 0,
	finished_at  INTEGER NOT NULL DEFAULT 0,
	ends_at      INTEGER NOT NULL DEFAULT 0, -- when a finished one may go; 0 never
	total        INTEGER NOT NULL DEFAULT 0, -- members when it was sealed
	done         INTEGER NOT NULL DEFAULT 0, -- of them, when it finished
	callback_job BLOB,
	keep         INTEGER NOT NULL
) STRICT;

-- What a sweep looks at, and lists by where a batch stands.
CREATE INDEX "{prefix}batches_stand" ON "{prefix}batches" (stand, id);

CREATE INDEX "{prefix}batches_tenant" ON "{prefix}batches" (tenant, id) WHERE tenant <> '';

CREATE INDEX "{prefix}batches_ends" ON "{prefix}batches" (ends_at) WHERE ends_at > 0;
