SELECT DISTINCT j.blocked_on FROM `app`.`rowlock_jobs` AS j FORCE INDEX (blocked) WHERE j.blocked_on > ? ORDER BY j.blocked_on LIMIT ?
