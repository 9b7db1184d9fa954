-- Settings that were changed from their defaults, as the coordinator (-1) and every segment have them.
SELECT -1 AS content, name, setting AS value
FROM pg_settings
WHERE source NOT IN ('default', 'client', 'override', 'session')
UNION ALL
SELECT gp_execution_segment() AS content, name, setting AS value
FROM gp_dist_random('pg_settings')
WHERE source NOT IN ('default', 'client', 'override', 'session')
ORDER BY name, content
