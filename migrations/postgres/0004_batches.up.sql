-- A set of jobs and the callback that is enqueued once when all of them are terminal.
-- The members name their batch; nothing here counts them on their way.
CREATE TABLE "{schema}"."{prefix}batches" (
	id           UUID     NOT NULL PRIMARY KEY,
	tenant       TEXT     COLLATE "C" NOT NULL,
	name         TEXT     COLLATE "C" NOT NULL,
	callback     TEXT     COLLATE "C" NOT NULL, -- the job's template; '': none
	stand        SMALLINT NOT NULL DEFAULT 0,   -- 0 open, 1 sealed, 2 finished
	created_at   BIGINT   NOT NULL,
	sealed_at    BIGINT   NOT NULL DEFAULT 0,
	finished_at  BIGINT   NOT NULL DEFAULT 0,
	ends_at      BIGINT   NOT NULL DEFAULT 0,   -- when a finished one may go; 0 never
	total        BIGINT   NOT NULL DEFAULT 0,   -- members when it was sealed
	done         BIGINT   NOT NULL DEFAULT 0,   -- of them, when it finished
	callback_job UUID,
	keep         BIGINT   NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);

-- What a sweep looks at, and lists by where a batch stands.
CREATE INDEX "{prefix}batches_stand" ON "{schema}"."{prefix}batches" (stand, id);

CREATE INDEX "{prefix}batches_tenant" ON "{schema}"."{prefix}batches" (tenant, id) WHERE tenant <> '';

CREATE INDEX "{prefix}batches_ends" ON "{schema}"."{prefix}batches" (ends_at) WHERE ends_at > 0;
