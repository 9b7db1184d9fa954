-- Orders that were ever entered: the number of a district's next one tells.
SELECT count(*) AS districts, sum(d_next_o_id - 1) AS entered FROM $district
