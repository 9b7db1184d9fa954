-- The group of a role. Its limits have other names in generation 6 and 7, so all of them are asked for.
SELECT config.* FROM gp_toolkit.gp_resgroup_config AS config JOIN pg_roles ON pg_roles.rolresgroup = config.groupid
WHERE pg_roles.rolname = $login
