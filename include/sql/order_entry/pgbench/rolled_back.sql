-- Clause 2.4.1.4: the one New-Order in a hundred whose last item does not exist. A script of its own, so that the log
-- tells these from the others.
\set warehouse random(1, :warehouses)
\set district random(1, 10)
\set customer ((random(0, 1023) | random(1, 3000)) + :c_customer) % 3000 + 1
\set lines random(5, 15)
\set item1 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity1 random(1, 10)
\set supply1 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item2 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity2 random(1, 10)
\set supply2 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item3 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity3 random(1, 10)
\set supply3 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item4 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity4 random(1, 10)
\set supply4 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item5 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity5 random(1, 10)
\set supply5 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item6 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity6 random(1, 10)
\set supply6 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item7 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity7 random(1, 10)
\set supply7 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item8 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity8 random(1, 10)
\set supply8 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item9 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity9 random(1, 10)
\set supply9 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item10 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity10 random(1, 10)
\set supply10 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item11 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity11 random(1, 10)
\set supply11 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item12 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity12 random(1, 10)
\set supply12 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item13 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity13 random(1, 10)
\set supply13 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item14 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity14 random(1, 10)
\set supply14 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item15 ((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1
\set quantity15 random(1, 10)
\set supply15 CASE WHEN random(1, 100) = 1 AND :warehouses > 1 THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set item5 CASE WHEN :lines = 5 THEN 100001 ELSE :item5 END
\set item6 CASE WHEN :lines = 6 THEN 100001 ELSE :item6 END
\set item7 CASE WHEN :lines = 7 THEN 100001 ELSE :item7 END
\set item8 CASE WHEN :lines = 8 THEN 100001 ELSE :item8 END
\set item9 CASE WHEN :lines = 9 THEN 100001 ELSE :item9 END
\set item10 CASE WHEN :lines = 10 THEN 100001 ELSE :item10 END
\set item11 CASE WHEN :lines = 11 THEN 100001 ELSE :item11 END
\set item12 CASE WHEN :lines = 12 THEN 100001 ELSE :item12 END
\set item13 CASE WHEN :lines = 13 THEN 100001 ELSE :item13 END
\set item14 CASE WHEN :lines = 14 THEN 100001 ELSE :item14 END
\set item15 CASE WHEN :lines = 15 THEN 100001 ELSE :item15 END
BEGIN;
SELECT * FROM new_order(
    :warehouse, :district, :customer, :lines,
    ARRAY[:item1, :item2, :item3, :item4, :item5, :item6, :item7, :item8, :item9, :item10, :item11, :item12, :item13, :item14, :item15]::integer[],
    ARRAY[:supply1, :supply2, :supply3, :supply4, :supply5, :supply6, :supply7, :supply8, :supply9, :supply10, :supply11, :supply12, :supply13, :supply14, :supply15]::integer[],
    ARRAY[:quantity1, :quantity2, :quantity3, :quantity4, :quantity5, :quantity6, :quantity7, :quantity8, :quantity9, :quantity10, :quantity11, :quantity12, :quantity13, :quantity14, :quantity15]::integer[]
);
ROLLBACK;
