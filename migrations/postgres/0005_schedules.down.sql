DROP TABLE "{schema}"."{prefix}schedules";
