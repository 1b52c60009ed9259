DROP INDEX [{prefix}jobs_fair] ON [{schema}].[{prefix}jobs];
DROP TABLE [{schema}].[{prefix}job_keys];
DROP TABLE [{schema}].[{prefix}slots];
DROP TABLE [{schema}].[{prefix}bounds];
