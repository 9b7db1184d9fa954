-- Clauses 2.5.2.2 and 2.6.2.2: of the customers of that last name the one in the middle by first name, rounded up.
CREATE OR REPLACE FUNCTION middle_customer(warehouse_id integer, district_id integer, name_number integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    name character varying := last_name(name_number);
    ids integer[];
BEGIN
    SELECT array_agg(c_id ORDER BY c_first, c_id) INTO ids
    FROM customer
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = name;
    RETURN ids[(array_length(ids, 1) + 1) / 2];
END
$$;
