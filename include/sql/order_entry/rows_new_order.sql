-- The last 900 orders of a district.
SELECT (id - 1) % 900 + 2101 AS no_o_id,
       (id - 1) / 900 % 10 + 1 AS no_d_id,
       (id - 1) / 9000 + 1 AS no_w_id
FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids
