-- The tables that hold the rows of partitioned ones, however deep these are divided.
WITH RECURSIVE below AS (
    SELECT inhparent AS root, inhrelid AS part FROM pg_inherits WHERE inhparent IN ($relations)
    UNION ALL
    SELECT root, inhrelid FROM below JOIN pg_inherits ON inhparent = part
)
SELECT nspname AS schema, parent.relname AS relation, leaf.relname AS leaf
FROM below
JOIN pg_class AS parent ON parent.oid = root
JOIN pg_class AS leaf ON leaf.oid = part
JOIN pg_namespace ON pg_namespace.oid = leaf.relnamespace
WHERE NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = part)
ORDER BY leaf.relname
