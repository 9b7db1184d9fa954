-- What the server has counted of each statement of the drivers in this database, since statistics were reset.
-- Without texts, which are in a file of their own and long. $time: the column of the version; $schema: the extension's.
SELECT
    CAST(queryid AS text) AS id, sum(calls) AS calls, sum($time) AS time_ms, sum(rows) AS rows,
    sum(shared_blks_read) * CAST(current_setting('block_size') AS bigint) AS read_bytes,
    sum(temp_blks_written) * CAST(current_setting('block_size') AS bigint) AS temporary_bytes
FROM $schema.pg_stat_statements(false) AS counted
WHERE queryid IS NOT NULL
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND userid = (SELECT oid FROM pg_roles WHERE rolname = $login)
GROUP BY queryid
