DROP TABLE "{prefix}runners";
