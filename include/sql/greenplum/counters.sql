-- Transactions that the segments have ended: one for a lookup that goes to one segment and needs nothing else.
SELECT CAST(sum(xact_commit + xact_rollback) AS bigint) AS segment_transactions
FROM gp_dist_random('pg_stat_database')
WHERE datname = current_database()
