-- Of this database on all segments, since statistics were reset. Transactions that they have ended: one for a lookup that
-- goes to one segment and needs nothing else. Temporary files: of statements that did not fit into their memory.
SELECT
    CAST(sum(xact_commit + xact_rollback) AS bigint) AS segment_transactions,
    CAST(sum(temp_bytes) AS bigint) AS temporary_bytes,
    CAST(sum(blks_read) AS bigint) * CAST(current_setting('block_size') AS bigint) AS read_bytes,
    CAST(sum(deadlocks) AS bigint) AS deadlocks
FROM gp_dist_random('pg_stat_database')
WHERE datname = current_database()
