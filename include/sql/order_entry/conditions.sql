-- The consistency conditions of TPC-C 5.11, clause 3.3.2, that hold after any transactions, for the warehouses that
-- $chosen has: one row a condition, with an example. Every large table is read once. What an order has is put together
-- first; districts and customers are sums of that. A remote customer pays in another warehouse: hence the two filters.
WITH lines AS (
    SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS line_count, count(ol_delivery_d) AS delivered_count,
           sum(CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE ol_amount END) AS delivered_amount
    FROM $order_line
    WHERE ol_w_id $chosen
    GROUP BY ol_w_id, ol_d_id, ol_o_id
), entered AS (
    SELECT COALESCE(o_w_id, ol_w_id) AS w_id, COALESCE(o_d_id, ol_d_id) AS d_id, COALESCE(o_id, ol_o_id) AS order_id,
           o_id, o_c_id, o_carrier_id, o_ol_cnt, line_count, delivered_count, delivered_amount
    FROM (SELECT * FROM $orders WHERE o_w_id $chosen) AS orders
    FULL JOIN lines ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
), by_order AS (
    SELECT COALESCE(w_id, no_w_id) AS w_id, COALESCE(d_id, no_d_id) AS d_id, o_id, no_o_id, o_c_id, o_carrier_id, o_ol_cnt,
           COALESCE(line_count, 0) AS line_count, delivered_count, delivered_amount
    FROM entered
    FULL JOIN (SELECT * FROM $new_order WHERE no_w_id $chosen) AS new_order
         ON no_w_id = w_id AND no_d_id = d_id AND no_o_id = order_id
), by_district AS (
    SELECT w_id, d_id, max(o_id) AS o_id_max, max(no_o_id) AS no_o_id_max, min(no_o_id) AS no_o_id_min,
           count(o_id) AS order_count, count(no_o_id) AS new_order_count,
           COALESCE(sum(o_ol_cnt), 0) AS ol_cnt_sum, sum(line_count) AS line_count
    FROM by_order
    GROUP BY w_id, d_id
), by_customer AS (
    SELECT w_id, d_id, o_c_id, sum(delivered_amount) AS delivered_amount
    FROM by_order
    WHERE delivered_amount <> 0
    GROUP BY w_id, d_id, o_c_id
), paid AS (
    SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount
    FROM $history
    WHERE h_w_id $chosen OR h_c_w_id $chosen
), customers AS (
    SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, COALESCE(delivered_amount, 0.00) AS delivered,
           COALESCE(amount, 0.00) AS paid
    FROM $customer
    LEFT JOIN by_customer ON w_id = c_w_id AND d_id = c_d_id AND o_c_id = c_id
    LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS amount FROM paid GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS paid
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
    WHERE c_w_id $chosen
), districts AS (
    SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM $district WHERE d_w_id $chosen
), warehouses AS (
    SELECT w_id, w_ytd FROM $warehouse WHERE w_id $chosen
)
SELECT 1 AS condition, count(*) AS violations,
       min('W_ID ' || w_id || ': W_YTD is ' || w_ytd || ', sum(D_YTD) is ' || COALESCE(CAST(total AS varchar), 'none'))
           AS example
FROM warehouses
LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM districts GROUP BY d_w_id) AS sums ON d_w_id = w_id
WHERE w_ytd IS DISTINCT FROM total
UNION ALL
SELECT 2, count(*),
       min('D_W_ID ' || d_w_id || ', D_ID ' || districts.d_id || ': D_NEXT_O_ID is ' || d_next_o_id || ', max(O_ID) is '
           || COALESCE(CAST(o_id_max AS varchar), 'none') || ', max(NO_O_ID) is '
           || COALESCE(CAST(no_o_id_max AS varchar), 'none'))
FROM districts
LEFT JOIN by_district ON w_id = d_w_id AND by_district.d_id = districts.d_id
WHERE o_id_max IS DISTINCT FROM d_next_o_id - 1 OR no_o_id_max <> d_next_o_id - 1
UNION ALL
SELECT 3, count(*),
       min('NO_W_ID ' || w_id || ', NO_D_ID ' || d_id || ': NO_O_ID is ' || no_o_id_min || ' to ' || no_o_id_max
           || ' in ' || new_order_count || ' rows')
FROM by_district
WHERE no_o_id_max - no_o_id_min + 1 <> new_order_count
UNION ALL
SELECT 4, count(*),
       min('O_W_ID ' || w_id || ', O_D_ID ' || d_id || ': sum(O_OL_CNT) is ' || ol_cnt_sum || ', rows of ORDER-LINE are '
           || line_count)
FROM by_district
WHERE ol_cnt_sum <> line_count
UNION ALL
SELECT 5, count(*),
       min('O_W_ID ' || w_id || ', O_D_ID ' || d_id || ', O_ID ' || o_id || ': O_CARRIER_ID is '
           || COALESCE(CAST(o_carrier_id AS varchar), 'null') || ', rows of NEW-ORDER are ' || CASE WHEN no_o_id IS NULL
           THEN 0 ELSE 1 END)
FROM by_order
WHERE o_id IS NOT NULL AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
UNION ALL
SELECT 6, count(*),
       min('O_W_ID ' || w_id || ', O_D_ID ' || d_id || ', O_ID ' || o_id || ': O_OL_CNT is ' || o_ol_cnt
           || ', rows of ORDER-LINE are ' || line_count)
FROM by_order
WHERE o_ol_cnt <> line_count
UNION ALL
SELECT 7, count(*),
       min('O_W_ID ' || w_id || ', O_D_ID ' || d_id || ', O_ID ' || o_id || ': O_CARRIER_ID is '
           || COALESCE(CAST(o_carrier_id AS varchar), 'null') || ', OL_DELIVERY_D is set in ' || delivered_count || ' of '
           || line_count || ' rows')
FROM by_order
WHERE o_id IS NOT NULL AND delivered_count <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE line_count END
UNION ALL
SELECT 8, count(*),
       min('W_ID ' || w_id || ': W_YTD is ' || w_ytd || ', sum(H_AMOUNT) is ' || COALESCE(CAST(total AS varchar), 'none'))
FROM warehouses
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS total FROM paid GROUP BY h_w_id) AS sums ON h_w_id = w_id
WHERE w_ytd IS DISTINCT FROM total
UNION ALL
SELECT 9, count(*),
       min('D_W_ID ' || d_w_id || ', D_ID ' || d_id || ': D_YTD is ' || d_ytd || ', sum(H_AMOUNT) is '
           || COALESCE(CAST(total AS varchar), 'none'))
FROM districts
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS total FROM paid GROUP BY h_w_id, h_d_id) AS sums
     ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd IS DISTINCT FROM total
UNION ALL
SELECT 10, count(*),
       min('C_W_ID ' || c_w_id || ', C_D_ID ' || c_d_id || ', C_ID ' || c_id || ': C_BALANCE is ' || c_balance
           || ', sum(OL_AMOUNT) of what was delivered less sum(H_AMOUNT) is ' || delivered - paid)
FROM customers
WHERE c_balance <> delivered - paid
UNION ALL
SELECT 12, count(*),
       min('C_W_ID ' || c_w_id || ', C_D_ID ' || c_d_id || ', C_ID ' || c_id || ': C_BALANCE + C_YTD_PAYMENT is '
           || c_balance + c_ytd_payment || ', sum(OL_AMOUNT) of what was delivered is ' || delivered)
FROM customers
WHERE c_balance + c_ytd_payment <> delivered
$fresh
