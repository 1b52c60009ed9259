-- Who lives, by the database's clock.
CREATE TABLE "{prefix}runners" (
	id         TEXT    NOT NULL PRIMARY KEY,
	kinds      TEXT    NOT NULL, -- JSON array
	queues     TEXT    NOT NULL, -- JSON array; empty: all
	started_at INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	lives_to   INTEGER NOT NULL
) STRICT;
