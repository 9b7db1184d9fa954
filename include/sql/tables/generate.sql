-- For DuckDB's program on the ETL host. What does not fit into memory goes to the disk.
.bail on
$loads
SET memory_limit = $memory_limit;
SET preserve_insertion_order = true;
$rows;
CREATE TABLE made AS
$made;
