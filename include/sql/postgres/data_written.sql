-- What went to the files of tables and indexes, of the whole server: from version 16 on.
SELECT
    CAST(coalesce(sum(coalesce(writes, 0) * op_bytes + coalesce(extends, 0) * op_bytes), 0) AS bigint) AS data_written_bytes,
    CAST(coalesce(sum(coalesce(writes, 0) * op_bytes) FILTER (WHERE backend_type = 'client backend'), 0) AS bigint)
        AS data_written_by_sessions_bytes
FROM pg_stat_io WHERE object = 'relation'
