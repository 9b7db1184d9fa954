-- Every other session of this login: those of drivers that were ended.
SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()
