-- The first scan: every rule that one row can break, counted by partition and segment.
SELECT CAST(CAST(tableoid AS regclass) AS varchar) AS leaf,
       $segment AS segment,
       count(*) AS row_count,
       sum($row_hash) AS checksum,
       min(order_datetime) AS first_ordered,
       max(order_datetime) AS last_ordered,
       sum(CASE WHEN product_category_id = product_id % 24 + 1
                 AND product_category_name = ($category_names)[product_category_id]
                 AND CAST(product_name AS varchar) LIKE '%, model ' || product_id * 37
                THEN 0 ELSE 1 END) AS wrong_products,
       sum(CASE WHEN ship_customer_email_address = 'customer.' || customer_id || '@example.com' THEN 0 ELSE 1 END)
           AS wrong_customers,
       sum(CASE WHEN order_item_id / 10 = order_id AND order_item_id % 10 BETWEEN 1 AND $lines_max THEN 0 ELSE 1 END)
           AS wrong_lines,
       sum(CASE WHEN order_id BETWEEN 1000000000 AND 1000000000 + $orders - 1
                 AND customer_id BETWEEN 1 AND $customers AND product_id BETWEEN 1 AND $products
                 AND item_quantity BETWEEN 1 AND 10 AND item_price BETWEEN 0.99 AND 500
                 AND tax_amount >= 0 AND discount_amount >= 0 AND coupon_amount >= 0
                 AND ship_datetime > order_datetime
                 AND (item_return_datetime IS NULL OR item_return_datetime > ship_datetime)
                 AND (item_refund_datetime IS NULL OR item_refund_datetime > item_return_datetime)
                THEN 0 ELSE 1 END) AS out_of_range,
       sum(CASE WHEN (item_return_datetime IS NULL) <> (item_refund_datetime IS NULL)
                  OR (item_return_datetime IS NULL) <> (item_shipment_status_code <> 'RETURNED')
                  OR (coupon_code IS NULL) <> (coupon_amount = 0)
                THEN 1 ELSE 0 END) AS wrong_nulls
FROM $table
GROUP BY tableoid, segment
