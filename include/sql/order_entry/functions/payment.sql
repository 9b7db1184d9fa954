-- Clause 2.5, Payment. The warehouse comes first: it is what others wait for, so who must fail fails early.
-- customer_number 0: the customer of that last name who is in the middle by first name, rounded up (clause 2.5.2.2).
DROP FUNCTION IF EXISTS payment(integer, integer, integer, integer, integer, integer, numeric);
CREATE FUNCTION payment(
    warehouse_id integer,
    district_id integer,
    customer_warehouse integer,
    customer_district integer,
    customer_number integer,
    name_number integer,
    amount numeric,
    OUT paid_at timestamp,
    OUT warehouse_street_1 character varying,
    OUT warehouse_street_2 character varying,
    OUT warehouse_city character varying,
    OUT warehouse_state character,
    OUT warehouse_zip character,
    OUT district_street_1 character varying,
    OUT district_street_2 character varying,
    OUT district_city character varying,
    OUT district_state character,
    OUT district_zip character,
    OUT customer_id integer,
    OUT first_name character varying,
    OUT middle_name character,
    OUT family_name character varying,
    OUT street_1 character varying,
    OUT street_2 character varying,
    OUT city character varying,
    OUT state character,
    OUT zip character,
    OUT phone character,
    OUT since timestamp,
    OUT credit character,
    OUT credit_limit numeric,
    OUT discount numeric,
    OUT balance numeric,
    OUT data character varying
) LANGUAGE plpgsql AS $$
DECLARE
    warehouse_name character varying;
    district_name character varying;
BEGIN
    paid_at := localtimestamp;
    UPDATE warehouse SET w_ytd = w_ytd + amount
    WHERE w_id = warehouse_id
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO STRICT
        warehouse_name, warehouse_street_1, warehouse_street_2, warehouse_city, warehouse_state, warehouse_zip;
    UPDATE district SET d_ytd = d_ytd + amount
    WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO STRICT district_name, district_street_1, district_street_2, district_city, district_state, district_zip;
    customer_id := customer_number;
    IF customer_number = 0 THEN
        customer_id := middle_customer(customer_warehouse, customer_district, name_number);
    END IF;
    UPDATE customer SET
        c_balance = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE
            WHEN c_credit = 'BC' THEN left(
                concat_ws(' ', c_id, c_d_id, c_w_id, district_id, warehouse_id, amount) || '|' || c_data, 500
            )
            ELSE c_data
        END
    WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_id
    RETURNING
        c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
        c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END
    INTO STRICT
        first_name, middle_name, family_name, street_1, street_2, city, state, zip, phone, since, credit,
        credit_limit, discount, balance, data;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (
        customer_id, customer_district, customer_warehouse, district_id, warehouse_id, paid_at, amount,
        warehouse_name || '    ' || district_name
    );
END
$$;
