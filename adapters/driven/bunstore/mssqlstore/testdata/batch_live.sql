SELECT TOP (1) 1 FROM [dbo].[rowlock_jobs] AS j WHERE j.batch_id = @p1 AND j.batch_id IS NOT NULL AND j.state < 4
