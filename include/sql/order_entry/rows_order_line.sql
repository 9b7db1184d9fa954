-- As many of an order as it says.
SELECT o_id AS ol_o_id,
       o_d_id AS ol_d_id,
       o_w_id AS ol_w_id,
       number AS ol_number,
       chance % 100000 + 1 AS ol_i_id,
       o_w_id AS ol_supply_w_id,
       CASE WHEN o_id <= 2100 THEN $loaded_at END AS ol_delivery_d,
       5 AS ol_quantity,
       CASE WHEN o_id <= 2100 THEN 0.00 ELSE (chance / 2147 % 999999 + 1) * 0.01 END AS ol_amount,
       ($words)[chance % 32 + 1] AS ol_dist_info
FROM (SELECT o_id, o_d_id, o_w_id, number, by_row * by_row % 2147483629 AS chance, random() AS unmerged
      FROM (SELECT o_id, o_d_id, o_w_id, number,
                   ((((o_w_id * 10 + o_d_id) * 3000 + o_id) * 15 + number) * 314159269 + $offset) % 2147483647 AS by_row,
                   random() AS unmerged
            FROM (SELECT o_id, o_d_id, o_w_id,
                         unnest((ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])[1:o_ol_cnt]) AS number
                  FROM ($orders) AS orders) AS lines) AS seeded) AS mixed
