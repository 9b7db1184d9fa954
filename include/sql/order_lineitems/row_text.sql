-- Every column of a row, as one text that is the same on every engine; fixed widths lose their blanks.
concat_ws('|',
    order_id, order_item_id, product_id, CAST(product_name AS varchar), customer_id, store_id,
    CAST(item_shipment_status_code AS varchar), order_datetime, ship_datetime, COALESCE(CAST(item_return_datetime AS
    varchar), ''), COALESCE(CAST(item_refund_datetime AS varchar), ''), product_category_id, product_category_name,
    CAST(payment_method_code AS varchar), tax_amount, item_quantity, item_price, discount_amount,
    COALESCE(CAST(coupon_code AS varchar), ''), coupon_amount, CAST(ship_address_line1 AS varchar),
    CAST(ship_address_line2 AS varchar), CAST(ship_address_line3 AS varchar), CAST(ship_address_city AS varchar),
    CAST(ship_address_state AS varchar), ship_address_postal_code, CAST(ship_address_country AS varchar),
    CAST(ship_phone_number AS varchar), CAST(ship_customer_name AS varchar), CAST(ship_customer_email_address AS
    varchar), ordering_session_id, website_url)
