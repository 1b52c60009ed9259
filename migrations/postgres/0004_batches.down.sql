DROP TABLE "{schema}"."{prefix}batches";
