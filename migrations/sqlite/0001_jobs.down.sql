DROP TABLE IF EXISTS "{prefix}jobs";
