SELECT 1 FROM "public"."rowlock_jobs" AS j WHERE j.batch_id = $1 AND j.batch_id IS NOT NULL AND j.state < 4 LIMIT 1
