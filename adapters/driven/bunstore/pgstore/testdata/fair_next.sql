SELECT min(x.tenant) FROM (SELECT j.tenant FROM "public"."rowlock_jobs" AS j WHERE j.state = 0 AND j.queue = $1 AND j.tenant <> '' AND j.tenant > $2 ORDER BY j.tenant LIMIT 1) AS x
