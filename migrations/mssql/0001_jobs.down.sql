DROP VIEW [{schema}].[{prefix}jobs_readable];
DROP FUNCTION [{schema}].[{prefix}text];
DROP TABLE [{schema}].[{prefix}jobs];
