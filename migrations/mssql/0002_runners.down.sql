DROP TABLE [{schema}].[{prefix}runners];
