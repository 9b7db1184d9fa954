-- How the rows are spread; a segment without rows gives no line.
SELECT gp_segment_id AS content, count(*) AS row_count FROM $table GROUP BY gp_segment_id
