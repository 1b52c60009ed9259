SELECT o.bound, (SELECT j.job FROM "rowlock_job_keys" AS j WHERE j.bound = o.bound AND j.place IS NOT NULL ORDER BY j.place, j.job LIMIT 1) FROM (SELECT value ->> 0 AS bound FROM json_each(?)) AS o
