-- What is paused: sort 0 a queue, 1 a kind.
CREATE TABLE "{prefix}switches" (
	sort  INTEGER NOT NULL,
	name  TEXT    NOT NULL,
	since INTEGER NOT NULL,
	PRIMARY KEY (sort, name)
) STRICT;
