SELECT j.id, j.kind FROM "rowlock_jobs" AS j WHERE j.state = 0 AND j.queue = ? AND j.tenant <> '' AND j.tenant = ? ORDER BY j.priority, j.run_at, j.id LIMIT ? + 0
