-- For people who write SQL: see docs/history.md.
SELECT;
