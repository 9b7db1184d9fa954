-- 3000 of a district, each of another customer: a multiple that has no divisor with 3000 permutes them.
SELECT o_id,
       (district - 1) % 10 + 1 AS o_d_id,
       (district - 1) / 10 + 1 AS o_w_id,
       (o_id * (1009 + by_district % 50 * 30) + by_district / 50) % 3000 + 1 AS o_c_id,
       $loaded_at AS o_entry_d,
       CASE WHEN o_id <= 2100 THEN chance % 10 + 1 END AS o_carrier_id,
       chance / 10 % 11 + 5 AS o_ol_cnt,
       1 AS o_all_local
FROM (SELECT o_id, district, by_row * by_row % 2147483629 AS chance, by_district * by_district % 2147483587 AS by_district,
             random() AS unmerged
      FROM (SELECT (id - 1) % 3000 + 1 AS o_id, (id - 1) / 3000 + 1 AS district,
                   (id * 314159269 + $offset) % 2147483647 AS by_row,
                   ((id - 1) / 3000 * 742938285 + $offset) % 2147483647 AS by_district, random() AS unmerged
            FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded) AS mixed
