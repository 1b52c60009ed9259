DROP TABLE IF EXISTS "{prefix}runners";
