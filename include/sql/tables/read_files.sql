-- For DuckDB.
SELECT $columns FROM $files
