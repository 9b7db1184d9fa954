-- Columns of tables and views, where a name without a schema is found by the search path.
-- $tables has each one's to_regclass() of a literal: that of Greenplum 6 takes no text from a row.
SELECT CAST(named.name AS varchar) AS table_name, attname AS column_name, format_type(atttypid, NULL) AS column_type
FROM (VALUES $tables) AS named(name, relation)
JOIN pg_attribute ON attrelid = CAST(relation AS oid)
WHERE attnum > 0 AND NOT attisdropped
ORDER BY 1, attnum
