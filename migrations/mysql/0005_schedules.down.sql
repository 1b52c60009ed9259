DROP VIEW IF EXISTS `{schema}`.`{prefix}schedules_readable`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}schedules`;
