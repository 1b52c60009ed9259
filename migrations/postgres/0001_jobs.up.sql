-- One row is one job, for its whole life. Moments are whole milliseconds since
-- the epoch by the database's clock, 0 is none; spans are milliseconds, negative
-- is for ever; ran is microseconds. States: 0 ready, 1 scheduled, 2 blocked,
-- 3 running, 4 done, 5 dead, 6 cancelled.
--
-- Names and keys compare by bytes whatever the database's collation is. Rows
-- change often, early in their lives: the table is vacuumed by small steps, and half
-- of each page is left to the next versions of its rows, which take the place of the
-- first ones. What has a fixed length and a value always comes first: it is found
-- without a look at what is before it.
CREATE TABLE "{schema}"."{prefix}jobs" (
	id             UUID     NOT NULL PRIMARY KEY,
	run_at         BIGINT   NOT NULL, -- due; an order within a priority
	due_at         BIGINT   NOT NULL, -- its place in a chain, which a retry does not change
	wake_at        BIGINT   NOT NULL, -- when time alone moves the row: due, lease end, expiry; 0 never
	created_at     BIGINT   NOT NULL,
	claimed_at     BIGINT   NOT NULL DEFAULT 0,
	finished_at    BIGINT   NOT NULL DEFAULT 0,
	ran            BIGINT   NOT NULL DEFAULT 0,
	timeout        BIGINT   NOT NULL DEFAULT 0,
	keep_done      BIGINT   NOT NULL DEFAULT 0,
	keep_dead      BIGINT   NOT NULL DEFAULT 0,
	keep_cancelled BIGINT   NOT NULL DEFAULT 0,
	priority       INTEGER  NOT NULL,
	attempts       INTEGER  NOT NULL DEFAULT 0,
	max_attempts   INTEGER  NOT NULL DEFAULT 0,
	stalls         INTEGER  NOT NULL DEFAULT 0,
	snoozes        INTEGER  NOT NULL DEFAULT 0,
	blocked_n      INTEGER  NOT NULL DEFAULT 0,
	state          SMALLINT NOT NULL,
	stuck          SMALLINT NOT NULL DEFAULT 0,
	turn           SMALLINT NOT NULL DEFAULT 0,
	on_dead        SMALLINT NOT NULL DEFAULT 0,
	forget_args    SMALLINT NOT NULL DEFAULT 0, -- 1: at done, 2: they were
	token          UUID,              -- of the claim: set exactly while running
	settled        UUID,              -- the token whose outcome was written last
	batch_id       UUID,
	queue          TEXT     COLLATE "C" NOT NULL,
	kind           TEXT     COLLATE "C" NOT NULL,
	runner         TEXT     COLLATE "C" NOT NULL DEFAULT '',
	tenant         TEXT     COLLATE "C" NOT NULL DEFAULT '',
	unique_key     TEXT     COLLATE "C",
	unique_lock    TEXT     COLLATE "C", -- the key scoped by its tenant, until terminal, with a window as long as the row
	limit_key      TEXT     COLLATE "C",
	blocked_on     TEXT     COLLATE "C",
	failure_kind   TEXT     COLLATE "C" NOT NULL DEFAULT '',
	error          TEXT     COLLATE "C" NOT NULL DEFAULT '',
	tags           TEXT     COLLATE "C" NOT NULL DEFAULT '',
	meta           TEXT     COLLATE "C" NOT NULL DEFAULT '',
	result         TEXT     COLLATE "C" NOT NULL DEFAULT '',
	history        TEXT     COLLATE "C" NOT NULL DEFAULT '',
	args           TEXT     COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0.05);

-- What is due, in the order of the claim. Only due rows are in it.
CREATE INDEX "{prefix}jobs_ready" ON "{schema}"."{prefix}jobs" (queue, kind, priority, run_at, id) WHERE state = 0;

-- What time moves (promote, recover, prune), and what is not ready, by state.
CREATE INDEX "{prefix}jobs_wake" ON "{schema}"."{prefix}jobs" (state, wake_at) WHERE state > 0;

-- The queues of scheduled rows, for the loose scan; a plain job is never in it.
CREATE INDEX "{prefix}jobs_later" ON "{schema}"."{prefix}jobs" (queue, kind, run_at) WHERE state = 1;

CREATE INDEX "{prefix}jobs_blocked" ON "{schema}"."{prefix}jobs" (blocked_on, priority, run_at, id) WHERE state = 2;

CREATE UNIQUE INDEX "{prefix}jobs_unique" ON "{schema}"."{prefix}jobs" (unique_lock) WHERE unique_lock IS NOT NULL;

CREATE INDEX "{prefix}jobs_batch" ON "{schema}"."{prefix}jobs" (batch_id, state) WHERE batch_id IS NOT NULL;

CREATE INDEX "{prefix}jobs_tenant" ON "{schema}"."{prefix}jobs" (tenant, id) WHERE tenant <> '';

CREATE INDEX "{prefix}jobs_dead" ON "{schema}"."{prefix}jobs" (id) WHERE state = 5;
