SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE application_name = $driver AND usename = $login
