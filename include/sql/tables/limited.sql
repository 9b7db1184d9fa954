SELECT * FROM ($query) AS answer LIMIT $rows_max
