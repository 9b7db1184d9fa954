-- Every segment makes the numbers that leave its own remainder; gp_id has one row on each.
(SELECT generate_series($first + gp_execution_segment(), $last, $segments) AS id FROM gp_dist_random('gp_id'))
