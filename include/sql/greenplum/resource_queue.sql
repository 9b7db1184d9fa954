-- The limits of a role's queue; superusers are in none.
SELECT limits.rsqname, limits.resname, limits.ressetting
FROM pg_resqueue_attributes AS limits
JOIN pg_resqueue ON pg_resqueue.rsqname = limits.rsqname
JOIN pg_roles ON pg_roles.rolresqueue = pg_resqueue.oid
WHERE pg_roles.rolname = $login AND NOT pg_roles.rolsuper
