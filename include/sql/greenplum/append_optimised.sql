SELECT (SELECT count(*) FROM pg_appendonly WHERE relid = CAST($relation AS regclass))
       + (SELECT count(*) FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam
          WHERE c.oid = CAST($relation AS regclass) AND a.amname = 'pax') AS found
