DROP TABLE IF EXISTS `{schema}`.`{prefix}switches`;
