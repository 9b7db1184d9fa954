-- Clause 2.8.1. The district is drawn, too: no terminal has one of its own here.
\set warehouse random(1, :warehouses)
\set district random(1, 10)
\set threshold random(10, 20)
SELECT * FROM stock_level(:warehouse, :district, :threshold);
