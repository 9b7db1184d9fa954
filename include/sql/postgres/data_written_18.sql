-- As data_written.sql: from version 18 on one access may be of many pages, and bytes are counted.
SELECT
    CAST(coalesce(sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)), 0) AS bigint) AS data_written_bytes,
    CAST(coalesce(sum(coalesce(write_bytes, 0)) FILTER (WHERE backend_type = 'client backend'), 0) AS bigint)
        AS data_written_by_sessions_bytes
FROM pg_stat_io WHERE object = 'relation'
