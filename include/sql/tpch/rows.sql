-- All tables, by DuckDB's generator.
CALL dbgen(sf = $scale_factor);
