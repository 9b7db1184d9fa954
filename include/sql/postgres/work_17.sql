-- As work.sql: from version 17 on checkpoints are counted by a view of their own.
SELECT
    temp_bytes AS temporary_bytes,
    blks_read * CAST(current_setting('block_size') AS bigint) AS read_bytes,
    deadlocks,
    CAST(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bigint) AS wal_bytes,
    num_timed + num_requested AS checkpoints
FROM pg_stat_database CROSS JOIN pg_stat_checkpointer
WHERE datname = current_database()
