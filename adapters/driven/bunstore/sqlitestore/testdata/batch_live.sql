SELECT 1 FROM "rowlock_jobs" AS j WHERE j.batch_id = ? AND j.batch_id IS NOT NULL AND j.state < 4 LIMIT 1
