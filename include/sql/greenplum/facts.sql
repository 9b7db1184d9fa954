-- What a coordinator tells of itself, in words that generation 6 (PostgreSQL 9.4) knows too.
SELECT version() AS version,
       CAST(current_setting('server_version_num') AS integer) AS version_number,
       current_setting('data_directory') AS data_directory,
       (SELECT CAST(oid AS bigint) FROM pg_database WHERE datname = current_database()) AS database_oid,
       current_setting('gp_interconnect_type') AS interconnect,
       (SELECT setting FROM pg_settings WHERE name = 'gp_enable_global_deadlock_detector') AS global_deadlock_detector,
       (SELECT string_agg(CAST(compname AS text), ', ' ORDER BY compname) FROM pg_compression) AS compresstypes,
       (SELECT string_agg(CAST(amname AS text), ', ' ORDER BY amname) FROM pg_am
        WHERE amname IN ('ao_row', 'ao_column', 'pax')) AS access_methods,
       (SELECT count(*) > 0 FROM pg_am WHERE amname = 'pax') AS has_pax,
       current_setting('gp_resource_manager') AS resource_manager,
       gp_opt_version() AS orca
