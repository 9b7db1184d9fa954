-- The second scan: rules of whole orders. Lines are numbered 1, 2, 3 in their order, so one too many or one too few shows.
SELECT sum(CASE WHEN line_count > line_max THEN line_count - line_max ELSE 0 END) AS duplicate_lines,
       sum(CASE WHEN line_count < line_max OR line_sum <> line_count * (line_count + 1) / 2 AND line_count = line_max
                THEN 1 ELSE 0 END) AS orders_with_missing_lines,
       sum(CASE WHEN customer_min = customer_max AND ordered_min = ordered_max THEN 0 ELSE 1 END)
           AS orders_of_several_customers_or_times
FROM (SELECT count(*) AS line_count, max(order_item_id % 10) AS line_max, sum(order_item_id % 10) AS line_sum,
             min(customer_id) AS customer_min, max(customer_id) AS customer_max,
             min(order_datetime) AS ordered_min, max(order_datetime) AS ordered_max
      FROM $table
      GROUP BY order_id) AS orders
