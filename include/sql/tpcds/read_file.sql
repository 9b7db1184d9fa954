-- For DuckDB: one of the tables, from a file of dsdgen.
CREATE TABLE $table AS
SELECT * EXCLUDE ($line_end)
FROM read_csv($file, auto_detect = false, delim = '|', header = false, quote = '', escape = '', nullstr = '', columns = {$columns})
