-- For DuckDB: all tables, by its own generator.
LOAD $extension;
$rows
