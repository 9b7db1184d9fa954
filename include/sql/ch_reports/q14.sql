SELECT 100.00 * sum(CASE WHEN i_data LIKE 'a%' THEN ol_amount ELSE 0 END) / (1 + sum(ol_amount)) AS promo_revenue
FROM order_line
JOIN item ON ol_i_id = i_id
WHERE ol_delivery_d >= CAST('2007-01-02' AS timestamp)
