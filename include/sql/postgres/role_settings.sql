SELECT unnest(setconfig) AS setting
FROM pg_db_role_setting
JOIN pg_database ON pg_database.oid = setdatabase
JOIN pg_roles ON pg_roles.oid = setrole
WHERE rolname = $role AND datname = $database
