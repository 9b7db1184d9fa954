-- For DuckDB: an answer, in a file of its own, which is attached.
CREATE TABLE $table AS $query
