-- Clause 4.3.2.3: a customer's last name by its number, 0 to 999, in three syllables. It has no string of its own in
-- pgbench's scripts, which know numbers only.
CREATE OR REPLACE FUNCTION last_name(number integer) RETURNS character varying LANGUAGE sql IMMUTABLE AS $$
    SELECT (said[number / 100 + 1] || said[number / 10 % 10 + 1] || said[number % 10 + 1])::character varying
    FROM (
        SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS said
    ) AS syllables
$$;
