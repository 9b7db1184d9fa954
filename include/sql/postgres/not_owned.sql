-- Tables that clusterbench has made, as their comments say, and that another role owns.
SELECT CASE WHEN nspname = 'public' THEN relname ELSE nspname || '.' || relname END AS relation
FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace
JOIN pg_roles ON pg_roles.oid = relowner
WHERE obj_description(pg_class.oid, 'pg_class') LIKE $made AND rolname <> $login
ORDER BY relation
