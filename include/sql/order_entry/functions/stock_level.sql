-- Clause 2.8, Stock-Level: how many items of the district's last 20 orders are low in stock. It only reads.
DROP FUNCTION IF EXISTS stock_level(integer, integer, integer);
CREATE FUNCTION stock_level(warehouse_id integer, district_id integer, threshold integer, OUT low_stock bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    next_order integer;
BEGIN
    SELECT d_next_o_id INTO STRICT next_order FROM district WHERE d_w_id = warehouse_id AND d_id = district_id;
    SELECT count(DISTINCT s_i_id) INTO low_stock
    FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id
        AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
        AND s_quantity < threshold;
END
$$;
