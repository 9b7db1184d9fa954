-- Ten of a warehouse.
SELECT (id - 1) % 10 + 1 AS d_id,
       (id - 1) / 10 + 1 AS d_w_id,
       substr(($words)[chance % 32 + 1], 1, CAST(6 + chance / 32 % 5 AS integer)) AS d_name,
       substr(($words)[chance / 160 % 32 + 1], 1, CAST(10 + chance / 5120 % 11 AS integer)) AS d_street_1,
       substr(($words)[chance / 56320 % 32 + 1], 1, CAST(10 + chance / 1802240 % 11 AS integer)) AS d_street_2,
       substr(($words)[other % 32 + 1], 1, CAST(10 + other / 32 % 11 AS integer)) AS d_city,
       ($states)[other / 352 % 32 + 1] AS d_state,
       substr(CAST(10000 + other / 11264 % 10000 AS varchar), 2) || '11111' AS d_zip,
       other % 2001 * 0.0001 AS d_tax,
       30000.00 AS d_ytd,
       3001 AS d_next_o_id
FROM (SELECT id, by_row * by_row % 2147483629 AS chance, (by_row + 104729) * (by_row + 104729) % 2147483587 AS other,
             random() AS unmerged
      FROM (SELECT id, (id * 314159269 + $offset) % 2147483647 AS by_row, random() AS unmerged
            FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded) AS mixed
