-- Clause 2.6, Order-Status: a customer's last order. It only reads.
-- customer_number 0: the customer of that last name who is in the middle by first name, rounded up (clause 2.6.2.2).
DROP FUNCTION IF EXISTS order_status(integer, integer, integer, integer);
CREATE FUNCTION order_status(
    warehouse_id integer,
    district_id integer,
    customer_number integer,
    name_number integer,
    OUT customer_id integer,
    OUT first_name character varying,
    OUT middle_name character,
    OUT family_name character varying,
    OUT balance numeric,
    OUT order_id integer,
    OUT entry_date timestamp,
    OUT carrier_id integer,
    OUT supply_warehouses integer[],
    OUT items integer[],
    OUT quantities integer[],
    OUT amounts numeric[],
    OUT delivery_dates timestamp[]
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    customer_id := customer_number;
    IF customer_number = 0 THEN
        customer_id := middle_customer(warehouse_id, district_id, name_number);
    END IF;
    SELECT c_first, c_middle, c_last, c_balance INTO STRICT first_name, middle_name, family_name, balance
    FROM customer
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
    SELECT o_id, o_entry_d, o_carrier_id INTO STRICT order_id, entry_date, carrier_id
    FROM orders
    WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = customer_id
    ORDER BY o_id DESC
    LIMIT 1;
    SELECT array_agg(ol_supply_w_id), array_agg(ol_i_id), array_agg(ol_quantity), array_agg(ol_amount),
        array_agg(ol_delivery_d)
    INTO supply_warehouses, items, quantities, amounts, delivery_dates
    FROM order_line
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
END
$$;
