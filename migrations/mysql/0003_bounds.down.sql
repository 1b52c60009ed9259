DROP TABLE IF EXISTS `{schema}`.`{prefix}job_keys`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}slots`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}bounds`;
