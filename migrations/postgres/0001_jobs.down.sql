DROP TABLE "{schema}"."{prefix}jobs";
