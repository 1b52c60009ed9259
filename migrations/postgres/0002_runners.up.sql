-- Who lives, by the database's clock.
CREATE TABLE "{schema}"."{prefix}runners" (
	id         TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
	kinds      TEXT   NOT NULL, -- JSON array
	queues     TEXT   NOT NULL, -- JSON array; empty: all
	started_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	lives_to   BIGINT NOT NULL
);
