SELECT 1 FROM `app`.`rowlock_jobs` AS j FORCE INDEX (batch) WHERE j.batch_id = ? AND j.batch_id IS NOT NULL AND j.state < 4 LIMIT 1
