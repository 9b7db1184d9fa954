-- Of data that no transaction has changed.
UNION ALL
SELECT 11, count(*),
       min('O_W_ID ' || w_id || ', O_D_ID ' || d_id || ': rows of ORDER are ' || order_count || ', of NEW-ORDER '
           || new_order_count)
FROM by_district
WHERE order_count - new_order_count <> $delivered
