-- unless: SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = '{schema}' AND table_name = '{prefix}jobs' AND index_name = 'fair');
ALTER TABLE `{schema}`.`{prefix}jobs` DROP KEY `fair`, DROP COLUMN `fair`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}job_keys`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}slots`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}bounds`;
