SELECT to_regclass($relation) IS NOT NULL AS is_there,
       obj_description(CAST(to_regclass($relation) AS oid), 'pg_class') AS mark
