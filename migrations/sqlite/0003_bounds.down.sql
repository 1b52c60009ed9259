DROP INDEX IF EXISTS "{prefix}jobs_fair";
DROP TABLE IF EXISTS "{prefix}job_keys";
DROP TABLE IF EXISTS "{prefix}slots";
DROP TABLE IF EXISTS "{prefix}bounds";
