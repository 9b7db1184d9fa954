-- Values of columns, each row's together: of rows from all over those that are looked at, and the same each time.
-- What is frequent there is drawn as frequently. $sample: of a large table a part of its pages.
SELECT $columns
FROM (
    SELECT $columns, md5(CAST(clusterbench_row AS text)) AS clusterbench_place
    FROM $table AS clusterbench_row $sample
    WHERE $present
    LIMIT $looked_at
) AS looked_at
ORDER BY clusterbench_place
LIMIT $values_max
