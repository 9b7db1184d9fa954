-- For DuckDB: an answer, in a file of its own.
ATTACH 'rows.duckdb' AS rows (READ_ONLY);
ATTACH $file AS found;
USE rows;
CREATE TABLE found.answer AS $query
