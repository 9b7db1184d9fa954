-- Each segment reads its part of the relation into its own cache.
SELECT sum(pg_prewarm(CAST($relation AS regclass), 'buffer')) AS pages FROM gp_dist_random('gp_id')
