SELECT j.id FROM (SELECT unhex(value ->> 0) AS id FROM json_each(?)) AS o, "rowlock_jobs" AS j WHERE j.id = o.id AND j.state + 0 < 4
