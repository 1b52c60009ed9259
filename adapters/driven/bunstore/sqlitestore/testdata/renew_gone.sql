SELECT j.id, o.token FROM (SELECT unhex(value ->> 0) AS id, unhex(value ->> 1) AS token FROM json_each(?)) AS o, "rowlock_jobs" AS j WHERE j.id = o.id AND j.state + 0 = 6
