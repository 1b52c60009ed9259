SELECT min(x.tenant) FROM (SELECT j.tenant FROM "rowlock_jobs" AS j WHERE j.state = 0 AND j.queue = ? AND j.tenant <> '' AND j.tenant > ? ORDER BY j.tenant LIMIT 1) AS x
