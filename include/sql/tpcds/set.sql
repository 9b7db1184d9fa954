-- For DuckDB: one of its settings.
SET $name = $value
