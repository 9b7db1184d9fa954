-- The rows of the tables are functions of their numbers, $ids, and of the seed, which is in $offset: the same text runs on
-- every engine, and on DuckDB, which checks the rows. Whole numbers only, so that every engine gets the same; a square
-- modulo a prime is the source of chance. Texts are cut from constants: making them anew took most of the time.
-- random() is never used: it keeps planners from merging the levels, which would compute each number many times over.
-- Ranges are those of TPC-C 5.11, clause 4.3.3.1.
SELECT id AS w_id,
       substr(($words)[chance % 32 + 1], 1, CAST(6 + chance / 32 % 5 AS integer)) AS w_name,
       substr(($words)[chance / 160 % 32 + 1], 1, CAST(10 + chance / 5120 % 11 AS integer)) AS w_street_1,
       substr(($words)[chance / 56320 % 32 + 1], 1, CAST(10 + chance / 1802240 % 11 AS integer)) AS w_street_2,
       substr(($words)[other % 32 + 1], 1, CAST(10 + other / 32 % 11 AS integer)) AS w_city,
       ($states)[other / 352 % 32 + 1] AS w_state,
       substr(CAST(10000 + other / 11264 % 10000 AS varchar), 2) || '11111' AS w_zip,
       other % 2001 * 0.0001 AS w_tax,
       300000.00 AS w_ytd
FROM (SELECT id, by_row * by_row % 2147483629 AS chance, (by_row + 104729) * (by_row + 104729) % 2147483587 AS other,
             random() AS unmerged
      FROM (SELECT id, (id * 314159269 + $offset) % 2147483647 AS by_row, random() AS unmerged
            FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS seeded) AS mixed
