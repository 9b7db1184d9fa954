-- The rows of all tables, by DuckDB's generator, which has one fixed seed. A text without letters is no value: the
-- specification's own generator writes nothing there, which every loader reads as NULL.
CALL dsdgen(sf => $scale_factor);
UPDATE customer SET c_login = NULL WHERE c_login = '';
UPDATE time_dim SET t_meal_time = NULL WHERE t_meal_time = ''
