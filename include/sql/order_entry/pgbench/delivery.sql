-- Clause 2.7.1.
\set warehouse random(1, :warehouses)
\set carrier random(1, 10)
SELECT * FROM delivery(:warehouse, :carrier);
