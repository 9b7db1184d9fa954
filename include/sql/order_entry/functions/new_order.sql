-- Clause 2.4, New-Order. The district comes first: it is what others wait for, so who must fail fails early. Stock is
-- worked on in the order of (supply warehouse, item), the same for everybody, so that no two wait for each other. Tables
-- come in Delivery's order, new_order before orders: a Greenplum without its deadlock detector locks whole tables.
-- An order may name an item twice from one warehouse: then each copy is an update of its own, which sees the one before.
-- One statement for the lines' stock and not one a line: on Greenplum the coordinator dispatches each. The lines are
-- counted by a constant, so that PostgreSQL takes a plan without values for as cheap as one with, and plans once a session.
-- An item that does not exist gives is_valid = false, after the work on all others, and the caller rolls back.
DROP FUNCTION IF EXISTS new_order(integer, integer, integer, integer, integer[], integer[], integer[]);
CREATE FUNCTION new_order(
    warehouse_id integer,
    district_id integer,
    customer_id integer,
    lines integer,  -- how many of the arrays' elements are used
    items integer[],
    supply_warehouses integer[],
    quantities integer[],
    OUT is_valid boolean,
    OUT order_id integer,
    OUT entry_date timestamp,
    OUT warehouse_tax numeric,
    OUT district_tax numeric,
    OUT discount numeric,
    OUT family_name character varying,
    OUT credit character,
    OUT item_names character varying[],
    OUT stock_quantities integer[],
    OUT brands character[],
    OUT prices numeric[],
    OUT amounts numeric[],
    OUT total_amount numeric
) LANGUAGE plpgsql AS $$
DECLARE
    line record;
    copy integer := 1;
    found_lines integer := 0;
    information text[];
BEGIN
    entry_date := localtimestamp;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_next_o_id - 1, d_tax INTO STRICT order_id, district_tax;
    SELECT w_tax, c_discount, c_last, c_credit INTO STRICT warehouse_tax, discount, family_name, credit
    FROM warehouse JOIN customer ON c_w_id = w_id
    WHERE w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, district_id, warehouse_id);
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (
        order_id, district_id, warehouse_id, customer_id, entry_date, NULL, lines,
        CASE WHEN warehouse_id = ALL (supply_warehouses[1:lines]) THEN 1 ELSE 0 END
    );
    LOOP
        FOR line IN
            UPDATE stock SET
                s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN supply_warehouse <> warehouse_id THEN 1 ELSE 0 END
            FROM (
                SELECT number, supply_warehouse, item_id, quantities[number] AS quantity, i_price, i_name, i_data
                FROM (
                    SELECT
                        number,
                        supply_warehouses[number] AS supply_warehouse,
                        items[number] AS item_id,
                        row_number() OVER (PARTITION BY supply_warehouses[number], items[number] ORDER BY number)
                            AS copy_number
                    FROM unnest('{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}'::integer[]) AS number
                    WHERE number <= lines
                ) AS numbered
                JOIN item ON i_id = item_id
                WHERE copy_number = copy
                ORDER BY supply_warehouse, item_id
            ) AS ordered
            WHERE s_w_id = supply_warehouse AND s_i_id = item_id
            RETURNING
                number, s_quantity, i_price, i_name, quantity * i_price AS amount,
                CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand,
                CASE district_id
                    WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10
                END AS district_information
        LOOP
            found_lines := found_lines + 1;
            item_names[line.number] := line.i_name;
            stock_quantities[line.number] := line.s_quantity;
            brands[line.number] := line.brand;
            prices[line.number] := line.i_price;
            amounts[line.number] := line.amount;
            information[line.number] := line.district_information;
        END LOOP;
        EXIT WHEN found_lines = lines OR NOT FOUND;
        copy := copy + 1;
    END LOOP;
    is_valid := found_lines = lines;
    IF NOT is_valid THEN
        RETURN;
    END IF;
    INSERT INTO order_line (
        ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount,
        ol_dist_info
    )
    SELECT
        order_id, district_id, warehouse_id, number, items[number], supply_warehouses[number], NULL,
        quantities[number], amounts[number], information[number]
    FROM unnest('{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}'::integer[]) AS number
    WHERE number <= lines;
    total_amount := (SELECT sum(amount) FROM unnest(amounts) AS amount);
    total_amount := round(total_amount * (1 - discount) * (1 + warehouse_tax + district_tax), 2);
END
$$;
