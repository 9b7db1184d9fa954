SELECT CAST(COLUMNS(*) AS varchar) FROM ($query)
