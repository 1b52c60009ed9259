SELECT j.id FROM "rowlock_jobs" AS j WHERE j.state = 4 AND j.state > 0 AND j.wake_at > 0 AND j.wake_at <= coalesce(?, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) ORDER BY j.wake_at LIMIT ?
