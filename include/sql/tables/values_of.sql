-- Values of a column, from all over those that are looked at, and the same each time.
SELECT $column
FROM (SELECT DISTINCT $column FROM (SELECT $column FROM $table WHERE $column IS NOT NULL LIMIT $looked_at) AS looked_at) AS each_value
ORDER BY md5(CAST($column AS text))
LIMIT $values_max
