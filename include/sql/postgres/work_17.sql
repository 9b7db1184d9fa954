-- As work_16.sql: from version 17 on checkpoints are counted by a view of their own.
SELECT
    temp_bytes AS temporary_bytes,
    blks_read * CAST(current_setting('block_size') AS bigint) AS read_bytes,
    deadlocks,
    CAST(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bigint) AS wal_bytes,
    num_timed + num_requested AS checkpoints,
    data_written_bytes,
    data_written_by_sessions_bytes
FROM pg_stat_database CROSS JOIN pg_stat_checkpointer CROSS JOIN (
    SELECT
        CAST(coalesce(sum(coalesce(writes, 0) * op_bytes + coalesce(extends, 0) * op_bytes), 0) AS bigint) AS data_written_bytes,
        CAST(coalesce(sum(coalesce(writes, 0) * op_bytes) FILTER (WHERE backend_type = 'client backend'), 0) AS bigint)
            AS data_written_by_sessions_bytes
    FROM pg_stat_io WHERE object = 'relation'
) AS io
WHERE datname = current_database()
