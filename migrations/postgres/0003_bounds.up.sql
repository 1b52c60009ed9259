-- What kinds declare of limits (sort 0) and rates (sort 1); n = 0: none any more.
CREATE TABLE "{schema}"."{prefix}bounds" (
	kind        TEXT     COLLATE "C" NOT NULL,
	sort        SMALLINT NOT NULL,
	grp         TEXT     COLLATE "C" NOT NULL,
	n           INTEGER  NOT NULL,
	span        BIGINT   NOT NULL, -- of a rate
	declared_at BIGINT   NOT NULL,
	PRIMARY KEY (kind, sort)
);

-- One row is one permit of a bound. It is taken while it has a token or until
-- ends_at. Rows change all the time and no index of theirs with them: half of each
-- page is left to their next versions.
CREATE TABLE "{schema}"."{prefix}slots" (
	bound      TEXT    COLLATE "C" NOT NULL,
	slot       INTEGER NOT NULL,
	job        UUID,
	token      UUID,
	ends_at    BIGINT  NOT NULL, -- kept at least until then; 0 not kept
	changed_at BIGINT  NOT NULL,
	PRIMARY KEY (bound, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);

-- Slots that time frees; those of limits and turns are seldom in it.
CREATE INDEX "{prefix}slots_ends" ON "{schema}"."{prefix}slots" (ends_at) WHERE ends_at > 0;

-- A job's turns. place orders a key, with the job's id; NULL: it has no turn there.
CREATE TABLE "{schema}"."{prefix}job_keys" (
	job    UUID     NOT NULL,
	bound  TEXT     COLLATE "C" NOT NULL,
	place  BIGINT,
	blocks SMALLINT, -- 1: the job is dead and keeps its place
	PRIMARY KEY (job, bound)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);

CREATE INDEX "{prefix}job_keys_turn" ON "{schema}"."{prefix}job_keys" (bound, place, job) WHERE place IS NOT NULL;

CREATE INDEX "{prefix}job_keys_blocks" ON "{schema}"."{prefix}job_keys" (bound, job) WHERE blocks = 1;

-- Ready jobs of tenants, for queues that serve these in turn.
CREATE INDEX "{prefix}jobs_fair" ON "{schema}"."{prefix}jobs" (queue, tenant, priority, run_at, id) WHERE state = 0 AND tenant <> '';
