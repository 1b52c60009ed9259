SELECT j.id, j.kind FROM `app`.`rowlock_jobs` AS j FORCE INDEX (fair) WHERE j.fair = ? AND j.tenant = ? ORDER BY j.priority, j.run_at, j.id LIMIT ?
