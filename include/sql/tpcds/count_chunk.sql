-- For DuckDB's program, whose standard input is a load file: its rows and their checksum. One thread: as many chunks are
-- made at once as processors are there.
SET threads = 1;
SET memory_limit = $memory_limit;
SET enable_progress_bar = false;
SELECT count(*), CAST(coalesce(sum($row_hash), 0) AS varchar)
FROM read_csv('/dev/stdin', auto_detect = false, delim = '|', header = false, quote = '', escape = '', nullstr = '', columns = {$columns})
