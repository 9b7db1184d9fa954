INSERT INTO $chunks VALUES ($table_name, $chunk, $row_count, $checksum)
