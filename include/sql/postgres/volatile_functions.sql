-- Functions that are not the server's own, and may change something as far as it knows.
SELECT DISTINCT proname AS name
FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE provolatile = 'v' AND nspname NOT IN ('pg_catalog', 'information_schema')
