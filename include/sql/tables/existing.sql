-- Of a table that is there: whether drivers may read it, and about how many rows the server takes it to have, partitions
-- included.
SELECT to_regclass($relation) IS NOT NULL AS is_there,
       has_table_privilege($login, CAST(to_regclass($relation) AS oid), 'SELECT') AS is_readable,
       (SELECT sum(greatest(reltuples, 0))
        FROM pg_class
        WHERE relkind IN ('r', 'p')
          AND (oid = CAST(to_regclass($relation) AS oid)
               OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = CAST(to_regclass($relation) AS oid)))
       ) AS row_count
