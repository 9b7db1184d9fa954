-- The statements of these numbers. $schema: the extension's.
SELECT CAST(queryid AS text) AS id, min(query) AS query
FROM $schema.pg_stat_statements
WHERE queryid = ANY(%s)
GROUP BY queryid
