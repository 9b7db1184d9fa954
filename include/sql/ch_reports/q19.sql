SELECT sum(ol_amount) AS revenue
FROM order_line
JOIN item ON ol_i_id = i_id
WHERE (i_data LIKE '%a' AND ol_quantity BETWEEN 1 AND 10 AND i_price BETWEEN 1 AND 400)
   OR (i_data LIKE '%b' AND ol_quantity BETWEEN 1 AND 10 AND i_price BETWEEN 1 AND 400)
   OR (i_data LIKE '%c' AND ol_quantity BETWEEN 1 AND 10 AND i_price BETWEEN 1 AND 400)
