-- Coordinator, segments and mirrors; a standby coordinator takes no part.
SELECT content, role, preferred_role, mode, status, port, hostname, address, datadir
FROM gp_segment_configuration
WHERE NOT (content = -1 AND preferred_role = 'm')
ORDER BY content, preferred_role DESC
