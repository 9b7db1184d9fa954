-- For DuckDB: one of its settings.
SET $setting = $value
