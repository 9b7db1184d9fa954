-- Clause 2.5.1.
\set warehouse random(1, :warehouses)
\set district random(1, 10)
\set is_remote random(1, 100) > 85 AND :warehouses > 1
\set customer_warehouse CASE WHEN :is_remote THEN (:warehouse - 1 + random(1, :warehouses - 1)) % :warehouses + 1 ELSE :warehouse END
\set customer_district CASE WHEN :is_remote THEN random(1, 10) ELSE :district END
\set by_name random(1, 100) <= 60
\set customer CASE WHEN :by_name THEN 0 ELSE ((random(0, 1023) | random(1, 3000)) + :c_customer) % 3000 + 1 END
\set name CASE WHEN :by_name THEN ((random(0, 255) | random(0, 999)) + :c_name) % 1000 ELSE 0 END
\set cents random(100, 500000)
SELECT * FROM payment(
    :warehouse, :district, :customer_warehouse, :customer_district, :customer, :name, :cents / 100.0
);
