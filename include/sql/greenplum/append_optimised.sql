SELECT count(*) AS found FROM pg_appendonly WHERE relid = CAST($relation AS regclass)
