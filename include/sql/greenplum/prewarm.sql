-- Each segment reads its part of the relation, into the file system's cache or into its own.
SELECT sum(pg_prewarm(CAST($relation AS regclass), $cache)) AS pages FROM gp_dist_random('gp_id')
