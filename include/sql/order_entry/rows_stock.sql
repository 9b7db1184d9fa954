-- Every item in every warehouse.
SELECT (id - 1) % 100000 + 1 AS s_i_id,
       (id - 1) / 100000 + 1 AS s_w_id,
       chance % 91 + 10 AS s_quantity,
       ($words)[chance % 32 + 1] AS s_dist_01,
       ($words)[chance / 32 % 32 + 1] AS s_dist_02,
       ($words)[chance / 1024 % 32 + 1] AS s_dist_03,
       ($words)[chance / 32768 % 32 + 1] AS s_dist_04,
       ($words)[chance / 1048576 % 32 + 1] AS s_dist_05,
       ($words)[other % 32 + 1] AS s_dist_06,
       ($words)[other / 32 % 32 + 1] AS s_dist_07,
       ($words)[other / 1024 % 32 + 1] AS s_dist_08,
       ($words)[other / 32768 % 32 + 1] AS s_dist_09,
       ($words)[other / 1048576 % 32 + 1] AS s_dist_10,
       0 AS s_ytd,
       0 AS s_order_cnt,
       0 AS s_remote_cnt,
       CASE WHEN other / 1000 % 10 = 0
            THEN substr(data, 1, CAST(other / 25 % (length(data) - 7) AS integer)) || 'ORIGINAL'
                 || substr(data, CAST(other / 25 % (length(data) - 7) + 9 AS integer))
            ELSE data END AS s_data
FROM (SELECT id, chance, other, substr(($texts)[chance / 91 % 32 + 1], 1, CAST(26 + other % 25 AS integer)) AS data,
             random() AS unmerged
      FROM (SELECT id, by_row * by_row % 2147483629 AS chance, (by_row + 104729) * (by_row + 104729) % 2147483587 AS other,
                   random() AS unmerged
            FROM (SELECT id, (id * 314159269 + $offset) % 2147483647 AS by_row, random() AS unmerged
                  FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded) AS mixed) AS cut
