-- What the comments of a schema's tables say is in them.
SELECT relname AS table_name, obj_description(pg_class.oid, 'pg_class') AS mark
FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = $schema AND relname IN ($tables)
