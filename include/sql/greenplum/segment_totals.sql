-- Of this database, since statistics were reset, by segment.
SELECT
    gp_execution_segment() AS segment, temp_bytes AS temporary_bytes,
    blks_read * CAST(current_setting('block_size') AS bigint) AS read_bytes
FROM gp_dist_random('pg_stat_database')
WHERE datname = current_database()
