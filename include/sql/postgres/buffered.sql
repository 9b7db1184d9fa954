-- Bytes of each file in the database's cache, on every instance that has rows.
SELECT $content AS content,
       CAST(relfilenode AS bigint) AS filenode,
       count(*) * CAST(current_setting('block_size') AS bigint) AS bytes
FROM $pg_buffercache
WHERE relfilenode IN (SELECT unnest(CAST($filenodes AS bigint[]))) AND reldatabase = $database_oid AND relforknumber = 0
GROUP BY 1, 2
