DROP VIEW [{schema}].[{prefix}schedules_readable];
DROP TABLE [{schema}].[{prefix}schedules];
