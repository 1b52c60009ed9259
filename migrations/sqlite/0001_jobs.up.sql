-- One row is one job, for its whole life. Moments are whole milliseconds since
-- the epoch by the database's clock, 0 is none; spans are milliseconds, negative
-- is for ever; ran is microseconds. States: 0 ready, 1 scheduled, 2 blocked,
-- 3 running, 4 done, 5 dead, 6 cancelled.
CREATE TABLE "{prefix}jobs" (
	id             BLOB    NOT NULL PRIMARY KEY,
	run_at         INTEGER NOT NULL, -- due; an order within a priority
	due_at         INTEGER NOT NULL, -- its place in a chain, which a retry does not change
	wake_at        INTEGER NOT NULL, -- when time alone moves the row: due, lease end, expiry; 0 never
	created_at     INTEGER NOT NULL,
	claimed_at     INTEGER NOT NULL DEFAULT 0,
	finished_at    INTEGER NOT NULL DEFAULT 0,
	ran            INTEGER NOT NULL DEFAULT 0,
	timeout        INTEGER NOT NULL DEFAULT 0,
	keep_done      INTEGER NOT NULL DEFAULT 0,
	keep_dead      INTEGER NOT NULL DEFAULT 0,
	keep_cancelled INTEGER NOT NULL DEFAULT 0,
	priority       INTEGER NOT NULL,
	attempts       INTEGER NOT NULL DEFAULT 0,
	max_attempts   INTEGER NOT NULL DEFAULT 0,
	stalls         INTEGER NOT NULL DEFAULT 0,
	snoozes        INTEGER NOT NULL DEFAULT 0,
	blocked_n      INTEGER NOT NULL DEFAULT 0,
	state          INTEGER NOT NULL,
	stuck          INTEGER NOT NULL DEFAULT 0,
	turn           INTEGER NOT NULL DEFAULT 0,
	on_dead        INTEGER NOT NULL DEFAULT 0,
	forget_args    INTEGER NOT NULL DEFAULT 0, -- 1: at done, 2: they were
	token          BLOB,             -- of the claim: set exactly while running
	settled        BLOB,             -- the token whose outcome was written last
	batch_id       BLOB,
	queue          TEXT    NOT NULL,
	kind           TEXT    NOT NULL,
	runner         TEXT    NOT NULL DEFAULT '',
	tenant         TEXT    NOT NULL DEFAULT '',
	unique_key     TEXT,
	unique_lock    TEXT,             -- the key scoped by its tenant, until terminal, with a window as long as the row
	limit_key      TEXT,
	blocked_on     TEXT,
	failure_kind   TEXT    NOT NULL DEFAULT '',
	error          TEXT    NOT NULL DEFAULT '',
	tags           TEXT    NOT NULL DEFAULT '',
	meta           TEXT    NOT NULL DEFAULT '',
	result         TEXT    NOT NULL DEFAULT '',
	history        TEXT    NOT NULL DEFAULT '',
	args           TEXT    NOT NULL
) STRICT;

-- What is due, in the order of the claim. Only due rows are in it.
CREATE INDEX "{prefix}jobs_ready" ON "{prefix}jobs" (queue, kind, priority, run_at, id) WHERE state = 0;

-- What time moves (promote, recover, prune), and what is not ready, by state.
CREATE INDEX "{prefix}jobs_wake" ON "{prefix}jobs" (state, wake_at) WHERE state > 0;

-- The queues of scheduled rows, for the loose scan; a plain job is never in it.
CREATE INDEX "{prefix}jobs_later" ON "{prefix}jobs" (queue, kind, run_at) WHERE state = 1;

CREATE INDEX "{prefix}jobs_blocked" ON "{prefix}jobs" (blocked_on, priority, run_at, id) WHERE state = 2;

CREATE UNIQUE INDEX "{prefix}jobs_unique" ON "{prefix}jobs" (unique_lock) WHERE unique_lock IS NOT NULL;

CREATE INDEX "{prefix}jobs_batch" ON "{prefix}jobs" (batch_id, state) WHERE batch_id IS NOT NULL;

CREATE INDEX "{prefix}jobs_tenant" ON "{prefix}jobs" (tenant, id) WHERE tenant <> '';

CREATE INDEX "{prefix}jobs_dead" ON "{prefix}jobs" (id) WHERE state = 5;
