DROP TABLE IF EXISTS "{prefix}schedules";
