SELECT $label AS table_name, count(*) AS row_count, CAST(sum($row_hash) AS varchar) AS checksum FROM $table
