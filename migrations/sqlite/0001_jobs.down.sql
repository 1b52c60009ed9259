DROP TABLE "{prefix}jobs";
