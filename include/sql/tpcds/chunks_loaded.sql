SELECT table_name, chunk, row_count, checksum FROM $chunks
