DROP VIEW [{schema}].[{prefix}batches_readable];
DROP TABLE [{schema}].[{prefix}batches];
