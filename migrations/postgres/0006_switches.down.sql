DROP TABLE "{schema}"."{prefix}switches";
