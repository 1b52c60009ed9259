SELECT j.wake_at, coalesce(?, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) FROM "rowlock_jobs" AS j WHERE j.state = 1 AND j.state > 0 AND j.wake_at > 0 ORDER BY j.wake_at LIMIT 1
