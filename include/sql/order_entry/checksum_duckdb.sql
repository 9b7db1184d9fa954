-- The checksum of a table's rows, made anew by an independent engine and never stored.
SELECT sum($row_hash) AS checksum FROM ($rows) AS made
