SELECT j.id, j.tenant, j.sealed_at FROM (SELECT unhex(value ->> 0) AS id FROM json_each(?)) AS o, "rowlock_batches" AS j WHERE j.id = o.id
