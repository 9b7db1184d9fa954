-- One scan of a table, or of a part of it: rows and checksum, by segment, rows out of their ranges, and those that are to
-- be a tenth of all.
SELECT $segment AS segment, count(*) AS row_count, sum($row_hash) AS checksum,
       sum(CASE WHEN $holds THEN 0 ELSE 1 END) AS out_of_range, sum(CASE WHEN $tenth THEN 1 ELSE 0 END) AS tenth,
       $lines AS lines
FROM $table
WHERE $part
GROUP BY 1
