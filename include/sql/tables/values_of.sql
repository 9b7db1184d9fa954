SELECT DISTINCT $column
FROM (SELECT $column FROM $table WHERE $column IS NOT NULL LIMIT $looked_at) AS looked_at
ORDER BY 1
LIMIT $values_max
