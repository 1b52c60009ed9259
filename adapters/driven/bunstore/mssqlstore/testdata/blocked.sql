SELECT TOP (1) j.blocked_on FROM [dbo].[rowlock_jobs] AS j WITH (READPAST, READCOMMITTEDLOCK) WHERE j.state = 2 AND j.blocked_on > @p1 ORDER BY j.blocked_on
