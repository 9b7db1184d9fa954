-- The statements of anybody but clusterbench that took most of the server's time in this database, since statistics were
-- reset. $time: the column of the version; $schema: the extension's.
SELECT min(query) AS query, sum(calls) AS calls, sum($time) AS time_ms, sum(rows) AS row_count
FROM $schema.pg_stat_statements
WHERE queryid IS NOT NULL
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND query !~* '^\s*(begin|commit|rollback|set|show|explain|copy|create|alter|drop|vacuum|analyze|grant|revoke|fetch|close|declare|reset|discard|deallocate|checkpoint)\M'
    AND query !~* '(answered\.value|\mCAST\(ARRAY\[)'
    AND query !~* '(pg_catalog|information_schema|pg_stat_|clusterbench|\m(from|join)\s+(pg_|gp_segment_|gp_dist_random))'
GROUP BY queryid
ORDER BY time_ms DESC
LIMIT $statements_max
