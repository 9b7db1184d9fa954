-- Every segment makes its part of the numbers; gp_id has one row on each.
(SELECT generate_series($first + gp_execution_segment() * CAST($step AS bigint), $last, $segments * CAST($step AS bigint)) AS id
 FROM gp_dist_random('gp_id'))
