-- The tables that hold the rows of partitioned ones.
SELECT nspname AS schema, parent.relname AS relation, leaf.relname AS leaf
FROM pg_inherits
JOIN pg_class AS parent ON parent.oid = inhparent
JOIN pg_class AS leaf ON leaf.oid = inhrelid
JOIN pg_namespace ON pg_namespace.oid = leaf.relnamespace
WHERE inhparent IN ($relations)
ORDER BY leaf.relname
