-- What a table takes with its indexes, or a schema with all that is in it.
SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0) AS bytes
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND (n.nspname = $table OR c.relname = $table)
