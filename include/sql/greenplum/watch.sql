-- What each session of the drivers does: so many of a statement that are at work on the segments, or wait, there or at the
-- coordinator. Greenplum 6 does not tell a wait for disks, processors or the interconnect from work. A statement is called
-- by the comment that it begins with, or by the function that it calls. Then the work files of their statements: the bytes
-- that are on disk now, by segment and operation. The last line is of the look itself, and names what it can tell.
WITH sessions AS (
    SELECT
        sess_id, CASE WHEN waiting THEN waiting_reason END AS waits_for,
        coalesce(substring(query FROM '/\* ([^*]+) \*/'), substring(query FROM 'FROM ([a-z_]+)\('), '-') AS statement
    FROM pg_stat_activity
    WHERE application_name = $driver AND state = 'active' AND pid <> pg_backend_pid()
), on_segments AS (
    SELECT sess_id, min(waiting_reason) AS waits_for FROM gp_dist_random('pg_stat_activity') WHERE waiting GROUP BY sess_id
)
SELECT
    round(CAST(extract(epoch FROM now()) AS numeric), 3),
    initcap(coalesce(sessions.waits_for, on_segments.waits_for, 'work')),
    CASE WHEN sessions.waits_for IS NULL THEN 'on segments' ELSE '-' END, statement, count(*)
FROM sessions LEFT JOIN on_segments USING (sess_id)
GROUP BY 2, 3, 4
UNION ALL
SELECT
    round(CAST(extract(epoch FROM now()) AS numeric), 3), 'workfiles', segid || ' ' || optype, statement,
    CAST(sum(size) AS bigint)
FROM gp_toolkit.gp_workfile_entries JOIN sessions USING (sess_id)
GROUP BY 3, 4
UNION ALL
SELECT round(CAST(extract(epoch FROM now()) AS numeric), 3), 'look', 'Work,Lock,Replication,Resgroup', '-', 0
