SELECT j.id, j.kind FROM "public"."rowlock_jobs" AS j WHERE j.state = 0 AND j.queue = $1 AND j.tenant <> '' AND j.tenant = $2 ORDER BY j.priority, j.run_at, j.id LIMIT $3
