-- Sessions have a client's address or socket; the server's own processes have neither, in every version.
SELECT usename AS login, COALESCE(datname, 'no database') AS database, count(*) AS sessions
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND client_port IS NOT NULL AND usename IS NOT NULL
  AND application_name NOT IN ($driver, $own)
GROUP BY usename, datname
ORDER BY usename, datname
