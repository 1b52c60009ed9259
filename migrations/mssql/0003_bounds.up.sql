-- What kinds declare of limits (sort 0) and rates (sort 1); n = 0: none any more.
CREATE TABLE [{schema}].[{prefix}bounds] (
	kind        VARBINARY(120) NOT NULL,
	sort        SMALLINT       NOT NULL,
	grp         VARBINARY(190) NOT NULL,
	n           INT            NOT NULL,
	span        BIGINT         NOT NULL, -- of a rate
	declared_at BIGINT         NOT NULL,
	CONSTRAINT [{prefix}bounds_id] PRIMARY KEY CLUSTERED (kind, sort)
);

-- One row is one permit of a bound. It is taken while it has a token or until ends_at.
CREATE TABLE [{schema}].[{prefix}slots] (
	bound      VARBINARY(400) NOT NULL,
	slot       INT            NOT NULL,
	job        BINARY(16)     NULL,
	token      BINARY(16)     NULL,
	ends_at    BIGINT         NOT NULL, -- kept at least until then; 0 not kept
	changed_at BIGINT         NOT NULL,
	CONSTRAINT [{prefix}slots_id] PRIMARY KEY CLUSTERED (bound, slot)
);

-- Slots that time frees; those of limits and turns are seldom in it.
CREATE INDEX [{prefix}slots_ends] ON [{schema}].[{prefix}slots] (ends_at) WHERE ends_at > 0;

-- A job's turns. place orders a key, with the job's id; NULL: it has no turn there.
CREATE TABLE [{schema}].[{prefix}job_keys] (
	job    BINARY(16)     NOT NULL,
	bound  VARBINARY(400) NOT NULL,
	place  BIGINT         NULL,
	blocks SMALLINT       NULL, -- 1: the job is dead and keeps its place
	CONSTRAINT [{prefix}job_keys_id] PRIMARY KEY CLUSTERED (job, bound)
);

CREATE INDEX [{prefix}job_keys_turn] ON [{schema}].[{prefix}job_keys] (bound, place, job) WHERE place IS NOT NULL;

CREATE INDEX [{prefix}job_keys_blocks] ON [{schema}].[{prefix}job_keys] (bound, job) WHERE blocks = 1;

-- Ready jobs of tenants, for queues that serve these in turn. The kind
-- is in it, so that the rows are not read for that.
CREATE INDEX [{prefix}jobs_fair] ON [{schema}].[{prefix}jobs] (queue, tenant, priority, run_at, id) INCLUDE (kind) WHERE state = 0 AND tenant <> 0x;
