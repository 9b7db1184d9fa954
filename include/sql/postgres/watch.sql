-- What each session of the drivers waits for: so many of a statement for one event. A statement is called by the comment
-- that it begins with, or by the function that it calls. Then who holds the lock that the one of them waits for that has
-- waited longest: of one alone, because the server hands out no locks while it looks. The last line is of the look itself,
-- also where nobody is active.
WITH sessions AS (
    SELECT pid, application_name, state, wait_event_type, wait_event, query, query_start FROM pg_stat_activity
), waiter AS (
    SELECT pid FROM sessions
    WHERE application_name = $driver AND state = 'active' AND wait_event_type = 'Lock'
    ORDER BY query_start LIMIT 1
), looked AS (
    SELECT round(CAST(extract(epoch FROM clock_timestamp()) AS numeric), 3) AS at
)
SELECT
    (SELECT at FROM looked), coalesce(wait_event_type, 'CPU'), coalesce(wait_event, '-'),
    coalesce(substring(query FROM '/\* ([^*]+) \*/'), substring(query FROM 'FROM ([a-z_]+)\('), '-'), count(*)
FROM sessions
WHERE application_name = $driver AND state = 'active' AND pid <> pg_backend_pid()
GROUP BY 2, 3, 4
UNION ALL
SELECT
    (SELECT at FROM looked), 'held', coalesce(nullif(holder.application_name, ''), '-'),
    coalesce(left(regexp_replace(holder.query, '[[:space:]]+', ' ', 'g'), 100), '-'), 1
FROM waiter CROSS JOIN LATERAL unnest(pg_blocking_pids(waiter.pid)) AS blocking (pid)
JOIN sessions AS holder ON holder.pid = blocking.pid
UNION ALL
SELECT (SELECT at FROM looked), 'look', '-', '-', 0
