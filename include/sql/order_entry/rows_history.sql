-- One of a customer.
SELECT (id - 1) % 3000 + 1 AS h_c_id,
       (id - 1) / 3000 % 10 + 1 AS h_c_d_id,
       (id - 1) / 30000 + 1 AS h_c_w_id,
       (id - 1) / 3000 % 10 + 1 AS h_d_id,
       (id - 1) / 30000 + 1 AS h_w_id,
       $loaded_at AS h_date,
       10.00 AS h_amount,
       substr(($words)[by_row % 32 + 1], 1, CAST(12 + by_row / 32 % 13 AS integer)) AS h_data
FROM (SELECT id, (id * 314159269 + $offset) % 2147483647 AS by_row, random() AS unmerged
      FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded
