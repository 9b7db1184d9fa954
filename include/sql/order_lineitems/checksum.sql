-- A sum of a hash of every row, so the order of rows, of slices, of streams and of segments does not matter.
SELECT count(*) AS row_count, sum($row_hash) AS checksum
FROM $rows
