-- Totals since statistics were reset, of this database; of checkpoints and write-ahead log, of the server.
SELECT
    temp_bytes AS temporary_bytes,
    blks_read * CAST(current_setting('block_size') AS bigint) AS read_bytes,
    deadlocks,
    CAST(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bigint) AS wal_bytes,
    checkpoints_timed + checkpoints_req AS checkpoints
FROM pg_stat_database CROSS JOIN pg_stat_bgwriter
WHERE datname = current_database()
