CREATE VIEW plans_over_time AS
SELECT
    series.experiment, series.scale, series.platform, series.sweep, results.label, series.levels, runs.run_id,
    runs.started_at, one.key AS statement, one.value AS fingerprint, plans.plan
FROM runs
JOIN results USING (run)
JOIN series USING (series)
JOIN plan_sets USING (plan_set)
CROSS JOIN LATERAL json_each_text(fingerprints) AS one
LEFT JOIN plans ON plans.fingerprint = one.value;
COMMENT ON VIEW plans_over_time IS
    'The plan of every statement of every cell in every run. Equal fingerprints: the same plan but for estimates and '
    'parameters; its text is that of the run that had it first.';
