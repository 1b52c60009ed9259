DROP VIEW IF EXISTS `{schema}`.`{prefix}jobs_readable`;

DROP TABLE IF EXISTS `{schema}`.`{prefix}jobs`;
