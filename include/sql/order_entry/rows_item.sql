-- A tenth of them, and of the stock, has "ORIGINAL" somewhere in its data.
SELECT id AS i_id,
       chance % 10000 + 1 AS i_im_id,
       substr(($words)[chance / 10000 % 32 + 1], 1, CAST(14 + chance / 320000 % 11 AS integer)) AS i_name,
       (other % 9901 + 100) * 0.01 AS i_price,
       CASE WHEN other / 1000 % 10 = 0
            THEN substr(data, 1, CAST(other / 25 % (length(data) - 7) AS integer)) || 'ORIGINAL'
                 || substr(data, CAST(other / 25 % (length(data) - 7) + 9 AS integer))
            ELSE data END AS i_data
FROM (SELECT id, chance, other, substr(($texts)[chance % 32 + 1], 1, CAST(26 + other % 25 AS integer)) AS data,
             random() AS unmerged
      FROM (SELECT id, by_row * by_row % 2147483629 AS chance, (by_row + 104729) * (by_row + 104729) % 2147483587 AS other,
                   random() AS unmerged
            FROM (SELECT id, (id * 314159269 + $offset) % 2147483647 AS by_row, random() AS unmerged
                  FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded) AS mixed) AS cut
