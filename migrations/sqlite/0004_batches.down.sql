DROP TABLE IF EXISTS "{prefix}batches";
