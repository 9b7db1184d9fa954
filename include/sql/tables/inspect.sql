-- One scan of a table: rows and checksum, by segment, and rows that refer to a row that is not there.
SELECT segment, count(*) AS row_count, sum($row_hash) AS checksum, sum($orphan) AS orphans
FROM (SELECT *, $segment AS segment FROM $table) AS t
$joins
GROUP BY segment
