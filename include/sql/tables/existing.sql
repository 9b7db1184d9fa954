-- Of a table that is there: whether drivers may read it, its schema where they may not use that, and about how many rows
-- the server takes it to have, partitions included.
WITH RECURSIVE parts AS (
    SELECT CAST(to_regclass($relation) AS oid) AS part
    UNION ALL
    SELECT inhrelid FROM parts JOIN pg_inherits ON inhparent = part
)
SELECT to_regclass($relation) IS NOT NULL AS is_there,
       has_table_privilege($login, CAST(to_regclass($relation) AS oid), 'SELECT') AS is_readable,
       (SELECT nspname
        FROM pg_class
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE pg_class.oid = CAST(to_regclass($relation) AS oid)
          AND NOT has_schema_privilege($login, relnamespace, 'USAGE')
       ) AS closed_schema,
       (SELECT sum(greatest(reltuples, 0)) FROM pg_class JOIN parts ON pg_class.oid = part WHERE relkind = 'r') AS row_count
