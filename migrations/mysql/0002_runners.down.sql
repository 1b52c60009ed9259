DROP TABLE IF EXISTS `{schema}`.`{prefix}runners`;
