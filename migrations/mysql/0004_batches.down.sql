DROP VIEW IF EXISTS `{schema}`.`{prefix}batches_readable`;
DROP TABLE IF EXISTS `{schema}`.`{prefix}batches`;
