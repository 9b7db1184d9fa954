-- Clause 2.6.1.
\set warehouse random(1, :warehouses)
\set district random(1, 10)
\set by_name random(1, 100) <= 60
\set customer CASE WHEN :by_name THEN 0 ELSE ((random(0, 1023) | random(1, 3000)) + :c_customer) % 3000 + 1 END
\set name CASE WHEN :by_name THEN ((random(0, 255) | random(0, 999)) + :c_name) % 1000 ELSE 0 END
SELECT * FROM order_status(:warehouse, :district, :customer, :name);
