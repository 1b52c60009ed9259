-- Who lives, by the database's clock.
CREATE TABLE [{schema}].[{prefix}runners] (
	id         VARBINARY(190) NOT NULL,
	kinds      VARBINARY(MAX) NOT NULL, -- JSON array
	queues     VARBINARY(MAX) NOT NULL, -- JSON array; empty: all
	started_at BIGINT         NOT NULL,
	seen_at    BIGINT         NOT NULL,
	lives_to   BIGINT         NOT NULL,
	CONSTRAINT [{prefix}runners_id] PRIMARY KEY CLUSTERED (id)
);
