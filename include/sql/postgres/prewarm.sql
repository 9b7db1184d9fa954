SELECT pg_prewarm(CAST($relation AS regclass), $cache) AS pages
