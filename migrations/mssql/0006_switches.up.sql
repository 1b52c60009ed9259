-- What is paused: sort 0 a queue, 1 a kind.
CREATE TABLE [{schema}].[{prefix}switches] (
	sort  SMALLINT       NOT NULL,
	name  VARBINARY(120) NOT NULL,
	since BIGINT         NOT NULL,
	CONSTRAINT [{prefix}switches_id] PRIMARY KEY CLUSTERED (sort, name)
);
