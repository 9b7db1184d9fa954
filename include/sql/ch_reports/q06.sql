SELECT sum(ol_amount) AS revenue
FROM order_line
WHERE ol_delivery_d >= CAST('1999-01-01' AS timestamp) AND ol_quantity BETWEEN 1 AND 100000
