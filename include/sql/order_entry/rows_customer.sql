-- 3000 of a district. The first 1000 have the last names 0 to 999, the others NURand(255, 0, 999) with its constant C.
SELECT c_id,
       (id - 1) / 3000 % 10 + 1 AS c_d_id,
       (id - 1) / 30000 + 1 AS c_w_id,
       substr(($words)[chance % 32 + 1], 1, CAST(8 + chance / 32 % 9 AS integer)) AS c_first,
       'OE' AS c_middle,
       ($syllables)[last_name / 100 + 1] || ($syllables)[last_name / 10 % 10 + 1] || ($syllables)[last_name % 10 + 1]
           AS c_last,
       substr(($words)[chance / 288 % 32 + 1], 1, CAST(10 + chance / 9216 % 11 AS integer)) AS c_street_1,
       substr(($words)[chance / 101376 % 32 + 1], 1, CAST(10 + chance / 3244032 % 11 AS integer)) AS c_street_2,
       substr(($words)[other % 32 + 1], 1, CAST(10 + other / 32 % 11 AS integer)) AS c_city,
       ($states)[other / 352 % 32 + 1] AS c_state,
       substr(CAST(10000 + other / 11264 % 10000 AS varchar), 2) || '11111' AS c_zip,
       substr(CAST(10000000000000000 + chance * 4656613 AS varchar), 2) AS c_phone,
       $loaded_at AS c_since,
       CASE WHEN other % 10 = 0 THEN 'BC' ELSE 'GC' END AS c_credit,
       50000.00 AS c_credit_lim,
       chance % 5001 * 0.0001 AS c_discount,
       -10.00 AS c_balance,
       10.00 AS c_ytd_payment,
       1 AS c_payment_cnt,
       0 AS c_delivery_cnt,
       substr($pad, CAST(other % 100 + 1 AS integer), CAST(300 + chance % 201 AS integer)) AS c_data
FROM (SELECT id, c_id, chance, other,
             CASE WHEN c_id <= 1000 THEN c_id - 1 ELSE (((chance % 256) | (other % 1000)) + $c_last) % 1000 END AS last_name,
             random() AS unmerged
      FROM (SELECT id, (id - 1) % 3000 + 1 AS c_id, by_row * by_row % 2147483629 AS chance,
                   (by_row + 104729) * (by_row + 104729) % 2147483587 AS other, random() AS unmerged
            FROM (SELECT id, (id * 314159269 + $offset) % 2147483647 AS by_row, random() AS unmerged
                  FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded) AS mixed) AS named
