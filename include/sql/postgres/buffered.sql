-- Bytes of each file in the database's cache, on every instance that has rows. Of all files: who asks picks out its own.
-- Greenplum may send rows elsewhere to join them to names, and whoever has them then would pass for whoever has the page.
SELECT $content AS content,
       CAST(relfilenode AS bigint) AS filenode,
       count(*) * CAST(current_setting('block_size') AS bigint) AS bytes
FROM $pg_buffercache
WHERE reldatabase = $database_oid AND relforknumber = 0
GROUP BY 1, 2
