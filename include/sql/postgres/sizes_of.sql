-- About how many rows tables have, with all their parts, and whether a sample of their pages can be taken.
-- $tables: as for columns_of.
WITH RECURSIVE parts(table_name, part) AS (
    SELECT CAST(named.name AS text), CAST(relation AS oid) FROM (VALUES $tables) AS named(name, relation)
    UNION ALL
    SELECT table_name, inhrelid FROM parts JOIN pg_inherits ON inhparent = part
)
SELECT table_name,
    sum(CASE WHEN relkind = 'p' OR reltuples < 0 THEN 0 ELSE reltuples END) AS row_count,
    bool_and(relkind IN ('r', 'p', 'm')) AS can_be_sampled
FROM parts JOIN pg_class ON pg_class.oid = part
GROUP BY table_name
