SELECT j.id, j.callback_job FROM "rowlock_batches" AS j WHERE j.ends_at > 0 AND j.ends_at <= coalesce(?, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) ORDER BY j.ends_at LIMIT ? + 0
