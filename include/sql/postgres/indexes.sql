SELECT CAST(CAST(indexrelid AS regclass) AS varchar) AS name FROM pg_index WHERE indrelid IN ($relations) ORDER BY 1
