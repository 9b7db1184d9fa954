-- What a table takes with its indexes and partitions, or a schema with all that is in it.
SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0) AS bytes
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r'
  AND (n.nspname = $table OR c.relname = $table
       OR c.oid IN (SELECT i.inhrelid FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
                    WHERE p.relname = $table))
