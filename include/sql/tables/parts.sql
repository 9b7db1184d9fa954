-- One line a load file: its name, its table, its first and its last row.
SELECT printf('%s-%02d', table_name, number), table_name, number * part_rows, least((number + 1) * part_rows, row_count) - 1
FROM (SELECT *, CAST(ceil(row_count / parts) AS bigint) AS part_rows
      FROM (SELECT table_name, row_count, least($parts_max, greatest(1, ceil(row_count / $rows_of_part))) AS parts FROM made)),
     generate_series(0, $parts_max - 1) AS numbers(number)
WHERE number * part_rows < row_count OR number = 0
ORDER BY row_count DESC, 1
