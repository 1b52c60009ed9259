(SELECT j.id, j.blocked_on, j.queue FROM `app`.`rowlock_jobs` AS j FORCE INDEX (blocked) WHERE j.state = 2 AND j.blocked_on = ? ORDER BY j.priority, j.run_at, j.id LIMIT ?)
