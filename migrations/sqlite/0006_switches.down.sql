DROP TABLE IF EXISTS "{prefix}switches";
