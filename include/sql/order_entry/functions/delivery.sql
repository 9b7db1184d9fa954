-- Clause 2.7, Delivery: the oldest undelivered order of each of the ten districts, in one transaction. A district
-- without one is skipped: its order_id stays NULL.
-- The oldest of each is looked for district by district, in the key's order: min() over the warehouse would read all
-- of its 9,000 undelivered orders. Everything else is one statement for all districts;
-- these are written out, because every planner can count them: Greenplum takes generate_series for 1000 rows, and reads
-- all order lines of the warehouse.
DROP FUNCTION IF EXISTS delivery(integer, integer);
CREATE FUNCTION delivery(warehouse_id integer, carrier_id integer, OUT order_ids integer[])
LANGUAGE plpgsql AS $$
DECLARE
    delivered_at timestamp := localtimestamp;
    oldest integer;
    customers integer[] := array_fill(NULL::integer, ARRAY[10]);
    amounts numeric[] := array_fill(0::numeric, ARRAY[10]);
    line record;
BEGIN
    order_ids := array_fill(NULL::integer, ARRAY[10]);
    FOR district_id IN 1..10 LOOP
        LOOP
            SELECT no_o_id INTO oldest FROM new_order
            WHERE no_w_id = warehouse_id AND no_d_id = district_id
            ORDER BY no_o_id LIMIT 1;
            EXIT WHEN NOT FOUND;
            DELETE FROM new_order
            WHERE no_w_id = warehouse_id AND no_d_id = district_id AND no_o_id = oldest;
            IF FOUND THEN
                order_ids[district_id] := oldest;
                EXIT;
            END IF;  -- read committed only: another delivery took it meanwhile, and the next one is looked for
        END LOOP;
    END LOOP;
    FOR line IN
        UPDATE orders SET o_carrier_id = carrier_id
        FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS districts (district_id)
        WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_id = order_ids[district_id]
        RETURNING o_d_id, o_c_id
    LOOP
        customers[line.o_d_id] := line.o_c_id;
    END LOOP;
    FOR line IN
        UPDATE order_line SET ol_delivery_d = delivered_at
        FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS districts (district_id)
        WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_ids[district_id]
        RETURNING ol_d_id, ol_amount
    LOOP
        amounts[line.ol_d_id] := amounts[line.ol_d_id] + line.ol_amount;
    END LOOP;
    UPDATE customer SET c_balance = c_balance + amounts[district_id], c_delivery_cnt = c_delivery_cnt + 1
    FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS districts (district_id)
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customers[district_id];
END
$$;
