-- Bytes of the database in its cache, on every instance that has rows, but for catalogs: they are numbered below 16384.
SELECT count(*) * CAST(current_setting('block_size') AS bigint) AS bytes
FROM $pg_buffercache
WHERE reldatabase = $database_oid AND relfilenode >= 16384
