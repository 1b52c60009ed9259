SELECT j.next_at FROM "rowlock_schedules" AS j WHERE j.idle = 0 AND j.kind = ? AND j.next_at > coalesce(?, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) ORDER BY j.next_at LIMIT 1
