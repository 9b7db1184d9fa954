-- The tables that hold the rows of partitioned ones.
SELECT parent.relname AS relation, leaf.relname AS leaf
FROM pg_inherits
JOIN pg_class AS parent ON parent.oid = inhparent
JOIN pg_class AS leaf ON leaf.oid = inhrelid
WHERE inhparent IN ($relations)
ORDER BY leaf.relname
