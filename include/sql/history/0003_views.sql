CREATE VIEW withdrawals AS
SELECT experiment, run_id, platform, cell, text, said_by, said_at
FROM (
    SELECT DISTINCT ON (experiment, run_id, platform, cell) *
    FROM remarks
    WHERE kind IN ('withdrawn', 'put_back')
    ORDER BY experiment, run_id, platform, cell, said_at DESC, object DESC
) AS last_word
WHERE kind = 'withdrawn';
COMMENT ON VIEW withdrawals IS
    'Runs, platforms of a run and cells of one that people withdrew and did not put back. An empty platform or cell: all.';

CREATE VIEW withdrawn_results AS
SELECT runs.run, results.series, withdrawals.text, withdrawals.said_by, withdrawals.said_at
FROM withdrawals
JOIN runs USING (experiment, run_id)
JOIN results USING (run)
JOIN series USING (series)
WHERE withdrawals.platform IN ('', series.platform) AND withdrawals.cell IN ('', results.cell);
COMMENT ON VIEW withdrawn_results IS
    'Results that nothing is judged by, because they, their platform or their run were withdrawn.';
