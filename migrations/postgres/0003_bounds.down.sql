DROP INDEX "{schema}"."{prefix}jobs_fair";
DROP TABLE "{schema}"."{prefix}job_keys";
DROP TABLE "{schema}"."{prefix}slots";
DROP TABLE "{schema}"."{prefix}bounds";
