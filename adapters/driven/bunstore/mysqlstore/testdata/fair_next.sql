SELECT min(x.tenant) FROM (SELECT j.tenant FROM `app`.`rowlock_jobs` AS j FORCE INDEX (fair) WHERE j.fair = ? AND j.tenant > ? ORDER BY j.tenant LIMIT 1) AS x
