-- What kinds declare of limits (sort 0) and rates (sort 1); n = 0: none any more.
CREATE TABLE "{prefix}bounds" (
	kind        TEXT    NOT NULL,
	sort        INTEGER NOT NULL,
	grp         TEXT    NOT NULL,
	n           INTEGER NOT NULL,
	span        INTEGER NOT NULL, -- of a rate
	declared_at INTEGER NOT NULL,
	PRIMARY KEY (kind, sort)
) STRICT;

-- One row is one permit of a bound. It is taken while it has a token or until ends_at.
CREATE TABLE "{prefix}slots" (
	bound      TEXT    NOT NULL,
	slot       INTEGER NOT NULL,
	job        BLOB,
	token      BLOB,
	ends_at    INTEGER NOT NULL, -- kept at least until then; 0 not kept
	changed_at INTEGER NOT NULL,
	PRIMARY KEY (bound, slot)
) STRICT;

-- Slots that time frees; those of limits and turns are seldom in it.
CREATE INDEX "{prefix}slots_ends" ON "{prefix}slots" (ends_at) WHERE ends_at > 0;

-- A job's turns. place orders a key, with the job's id; NULL: it has no turn there.
CREATE TABLE "{prefix}job_keys" (
	job    BLOB    NOT NULL,
	bound  TEXT    NOT NULL,
	place  INTEGER,
	blocks INTEGER, -- 1: the job is dead and keeps its place
	PRIMARY KEY (job, bound)
) STRICT;

CREATE INDEX "{prefix}job_keys_turn" ON "{prefix}job_keys" (bound, place, job) WHERE place IS NOT NULL;

CREATE INDEX "{prefix}job_keys_blocks" ON "{prefix}job_keys" (bound, job) WHERE blocks = 1;

-- Ready jobs of tenants, for queues that serve these in turn.
CREATE INDEX "{prefix}jobs_fair" ON "{prefix}jobs" (queue, tenant, priority, run_at, id) WHERE state = 0 AND tenant <> '';
