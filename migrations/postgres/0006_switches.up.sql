-- What is paused: sort 0 a queue, 1 a kind.
CREATE TABLE "{schema}"."{prefix}switches" (
	sort  SMALLINT NOT NULL,
	name  TEXT     COLLATE "C" NOT NULL,
	since BIGINT   NOT NULL,
	PRIMARY KEY (sort, name)
);
