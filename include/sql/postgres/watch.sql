-- What each session of the drivers waits for: so many of a statement for one event. A statement is called by the comment
-- that it begins with, or by the function that it calls. The last line is of the look itself, also where nobody is active.
SELECT
    round(CAST(extract(epoch FROM clock_timestamp()) AS numeric), 3), coalesce(wait_event_type, 'CPU'),
    coalesce(wait_event, '-'),
    coalesce(substring(query FROM '/\* ([^*]+) \*/'), substring(query FROM 'FROM ([a-z_]+)\('), '-'), count(*)
FROM pg_stat_activity
WHERE application_name = $driver AND state = 'active' AND pid <> pg_backend_pid()
GROUP BY 2, 3, 4
UNION ALL
SELECT round(CAST(extract(epoch FROM clock_timestamp()) AS numeric), 3), 'look', '-', '-', 0
