-- The rows of the lines whose numbers $ids has. The same text runs on every engine, and on DuckDB, which checks the answers.
-- Whole numbers only, so that every engine gets the same; a square modulo a prime is the source of chance.
-- random() is never used: it keeps planners from merging the levels, which would compute each number many times over.
SELECT order_number + 1000000000 AS order_id,
       (order_number + 1000000000) * 10 + line AS order_item_id,
       product_id,
       (ARRAY['Classic', 'Compact', 'Deluxe', 'Essential', 'Advanced', 'Premium', 'Portable', 'Professional', 'Signature',
              'Smart', 'Studio', 'Travel', 'Ultra'])[product_id % 13 + 1]
           || ' ' || ($category_nouns)[product_category_id] || ', model ' || product_id * 37 AS product_name,
       customer_id,
       by_order % 400 + 1 AS store_id,
       CASE WHEN is_returned THEN 'RETURNED' WHEN by_line % 1000 < 25 THEN 'CANCELLED' ELSE 'DELIVERED' END
           AS item_shipment_status_code,
       ordered_at AS order_datetime,
       ordered_at + (3600 + by_line % 400000) * INTERVAL '1 second' AS ship_datetime,
       CASE WHEN is_returned THEN ordered_at + (600000 + by_line % 2000000) * INTERVAL '1 second' END AS item_return_datetime,
       CASE WHEN is_returned THEN ordered_at + (2700000 + by_line % 900000) * INTERVAL '1 second' END AS item_refund_datetime,
       product_category_id,
       ($category_names)[product_category_id] AS product_category_name,
       (ARRAY['CREDIT', 'CREDIT', 'CREDIT', 'CREDIT', 'DEBIT', 'DEBIT', 'PAYPAL', 'PAYPAL', 'GIFTCARD', 'INVOICE'])
           [by_order / 400 % 10 + 1] AS payment_method_code,
       price_cents * item_quantity * 8 / 100 * 0.01 AS tax_amount,
       item_quantity,
       price_cents * 0.01 AS item_price,
       CASE WHEN has_coupon THEN 0 ELSE price_cents * item_quantity * (by_line / 1000 % 4) / 40 END * 0.01 AS discount_amount,
       CASE WHEN has_coupon THEN 'SAVE' || by_line / 1000 % 30 + 5 END AS coupon_code,
       CASE WHEN has_coupon THEN price_cents * item_quantity * (by_line / 1000 % 30 + 5) / 100 ELSE 0 END * 0.01 AS coupon_amount,
       customer_id % 9899 + 1 || ' ' || (ARRAY['Oak', 'Maple', 'Chestnut', 'Washington', 'Jefferson', 'Lakeview', 'Meadow',
              'Sunset', 'Highland', 'Church', 'Mill', 'River', 'Prospect', 'Franklin', 'Lincoln', 'Cherry', 'Railroad'])
              [customer_id % 17 + 1] || ' Street' AS ship_address_line1,
       'Building ' || customer_id % 23 + 1 || ', floor ' || customer_id % 19 + 1 AS ship_address_line2,
       'Apartment ' || customer_id % 997 + 1 AS ship_address_line3,
       (ARRAY['Springfield', 'Franklin', 'Greenville', 'Bristol', 'Clinton', 'Fairview', 'Salem', 'Madison', 'Georgetown',
              'Arlington', 'Ashland', 'Dover', 'Oxford', 'Jackson', 'Burlington', 'Manchester', 'Milton', 'Newport',
              'Auburn'])[customer_id % 19 + 1] AS ship_address_city,
       (ARRAY['CA', 'TX', 'FL', 'NY', 'PA', 'IL', 'OH', 'GA', 'NC', 'MI', 'NJ', 'VA', 'WA', 'AZ', 'MA', 'TN', 'IN', 'MO', 'MD',
              'WI', 'CO', 'MN', 'SC'])[customer_id % 23 + 1] AS ship_address_state,
       10000 + customer_id % 89989 AS ship_address_postal_code,
       'United States' AS ship_address_country,
       '+1-' || 200 + customer_id % 797 || '-555-' || 1000 + customer_id % 8999 AS ship_phone_number,
       (ARRAY['James', 'Mary', 'Robert', 'Patricia', 'John', 'Jennifer', 'Michael', 'Linda', 'David', 'Elizabeth', 'William',
              'Barbara', 'Richard', 'Susan', 'Joseph', 'Jessica', 'Thomas', 'Sarah', 'Charles', 'Karen', 'Christopher',
              'Lisa', 'Daniel'])[customer_id % 23 + 1]
           || ' ' || (ARRAY['Smith', 'Johnson', 'Williams', 'Brown', 'Jones', 'Garcia', 'Miller', 'Davis', 'Rodriguez',
              'Martinez', 'Hernandez', 'Lopez', 'Gonzalez', 'Wilson', 'Anderson', 'Thomas', 'Taylor', 'Moore', 'Jackson',
              'Martin', 'Lee', 'Perez', 'Thompson', 'White', 'Harris', 'Sanchez', 'Clark', 'Ramirez', 'Lewis', 'Robinson',
              'Walker'])[customer_id % 31 + 1] AS ship_customer_name,
       'customer.' || customer_id || '@example.com' AS ship_customer_email_address,
       by_order || '-' || customer_id * 1009 + 7 || '-' || order_number * 31 + 1000000000000 AS ordering_session_id,
       'https://shop.example.com/category/' || product_category_id || '/product/' || product_id || '?campaign='
           || by_order / 4000 % 500 || '&store=' || by_order % 400 + 1 AS website_url
FROM (SELECT order_number, line, by_order, by_line, ordered_at, customer_id, product_id,
             product_id % 24 + 1 AS product_category_id,
             99 + product_id * 7919 % 49900 AS price_cents,
             (ARRAY[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6, 10])[by_line % 20 + 1] AS item_quantity,
             by_line / 20 % 100 < 4 AS is_returned,
             by_line / 2000 % 100 < 12 AS has_coupon,
             random() AS unmerged
      FROM (SELECT order_number, line, by_order, by_line,
                   TIMESTAMP '2006-01-01 00:00:00'
                       + order_number * $seconds / $orders * INTERVAL '1 second'
                       + order_number * $seconds % $orders * 1000000 / $orders * INTERVAL '1 microsecond' AS ordered_at,
                   (customer_chance * customer_chance / 2147483648) * $customers / 2147483648 + 1 AS customer_id,
                   (product_chance * product_chance / 2147483648) * $products / 2147483648 + 1 AS product_id,
                   random() AS unmerged
            FROM (SELECT order_number, line,
                         by_order * by_order % 2147483629 AS customer_chance,
                         by_line * by_line % 2147483629 AS product_chance,
                         (by_order + 104729) * (by_order + 104729) % 2147483587 AS by_order,
                         (by_line + 104729) * (by_line + 104729) % 2147483587 AS by_line,
                         random() AS unmerged
                  FROM (SELECT order_number, line,
                               (order_number * 742938285 + $order_offset) % 2147483647 AS by_order,
                               (id * 742938285 + $line_offset) % 2147483647 AS by_line,
                               random() AS unmerged
                        FROM (SELECT id,
                                     (id - 1) / $lines_per_block * $orders_per_block
                                         + ($order_in_block)[(id - 1) % $lines_per_block + 1] AS order_number,
                                     ($line_in_order)[(id - 1) % $lines_per_block + 1] AS line,
                                     random() AS unmerged
                              FROM (SELECT CAST(id AS bigint) AS id FROM $ids AS ids(id)) AS ids) AS numbered
                       ) AS seeded) AS mixed) AS chosen) AS described
