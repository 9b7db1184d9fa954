-- For people who write SQL: the same content by names instead of numbers. docs/history.md has questions to begin with.

CREATE VIEW results_over_time AS
SELECT
    series.experiment, series.scale, series.platform, series.sweep, results.label, series.levels,
    measurement, unit, better, runs.run_id, runs.started_at, median, low_95, high_95, best, coalesce(n, 0) AS n,
    results.planned, runs.is_valid, is_plotted, "values"
FROM runs
JOIN results USING (run)
JOIN series USING (series)
LEFT JOIN result_measurements USING (run, series);
COMMENT ON VIEW results_over_time IS
    'Every result of every run: of a cell and a measurement the median of n of planned repetitions, with its 95 % '
    'interval. A cell of which nothing completed has one line without a measurement.';

CREATE VIEW latest_runs AS
SELECT DISTINCT ON (experiment, scale)
    experiment, scale, run_id, title, is_valid, started_at, ended_at, planned, completed,
    ARRAY(SELECT platform FROM run_platforms WHERE run_platforms.run = runs.run ORDER BY position) AS platforms,
    opened -> 'choices' AS choices, opened -> 'started_by' AS started_by, clusterbench, url
FROM runs
ORDER BY experiment, scale, started_at DESC, run_id DESC;
COMMENT ON VIEW latest_runs IS 'The newest run of every experiment at every scale; the first platform is the reference.';

CREATE VIEW latest_results AS
SELECT results_over_time.*
FROM results_over_time
JOIN latest_runs USING (experiment, scale, run_id);
COMMENT ON VIEW latest_results IS 'results_over_time, of the newest run of every experiment at every scale.';

CREATE VIEW failed_cells AS
SELECT
    series.experiment, series.scale, series.platform, series.sweep, label, series.levels, run_id, started_at,
    results.completed, results.planned, outcomes, reasons
FROM runs
JOIN results USING (run)
JOIN series USING (series)
WHERE results.completed < results.planned;
COMMENT ON VIEW failed_cells IS
    'Cells of which not every repetition completed: outcomes, each with how often it came, and the reasons.';

CREATE VIEW trial_measurements AS
SELECT
    experiment, scale, run_id, runs.started_at AS run_started_at, platform, sweep, cell, label, repetition, levels,
    outcome, trials.started_at, key AS measurement, value::double precision AS value
FROM runs
JOIN trials USING (run)
CROSS JOIN LATERAL jsonb_each_text(measurements);
COMMENT ON VIEW trial_measurements IS 'What each trial measured, a line a measurement. Ask for some runs or cells only.';

CREATE VIEW trial_telemetry AS
SELECT
    experiment, scale, run_id, platform, sweep, cell, label, repetition, role.key AS role,
    (role.value ->> 'hosts')::integer AS hosts, metric.key AS metric, metric.value::double precision AS mean,
    coalesce(role.value -> 'highest' ->> metric.key, metric.value)::double precision AS highest
FROM runs
JOIN trials USING (run)
CROSS JOIN LATERAL jsonb_each(telemetry) AS role
CROSS JOIN LATERAL jsonb_each_text(role.value -> 'mean') AS metric;
COMMENT ON VIEW trial_telemetry IS
    'What the hosts of a role did while a trial measured: the mean over them of each one''s mean, and the highest.';

CREATE VIEW facts AS
SELECT experiment, scale, run_id, started_at, platform, host, fact, value
FROM (
    SELECT fact_set, 'engine' AS host, key AS fact, value
    FROM fact_sets
    CROSS JOIN LATERAL json_each_text(facts -> 'engine')
    UNION ALL
    SELECT fact_set, host.value ->> 0, fact.key, fact.value
    FROM fact_sets
    CROSS JOIN LATERAL json_array_elements(facts -> 'kinds') WITH ORDINALITY AS kind (value, number)
    CROSS JOIN LATERAL json_each_text(kind.value -> 'facts') AS fact
    JOIN LATERAL json_array_elements(facts -> 'hosts') AS host ON (host.value ->> 1)::integer = kind.number - 1
) AS known
JOIN run_platforms USING (fact_set)
JOIN runs USING (run);
COMMENT ON VIEW facts IS
    'What platforms ran on, a line a fact of each host and of the engine ("engine" in place of a host), as they are '
    'compared: without what a host has for itself, such as its boot id.';

CREATE VIEW ratios_to_published AS
WITH ours AS (
    SELECT run, series, experiment, scale, platform, sweep, levels, measurement, unit, median
    FROM result_measurements JOIN series USING (series)
)
SELECT
    ours.experiment, ours.scale, run_id, started_at, is_valid, ours.platform, ours.sweep, results.label,
    ours.measurement, ours.median / coalesce(under.median, 1) AS ours, published.value AS published, published.unit,
    published.qualifier, published.ratio_to,
    ours.median / coalesce(under.median, 1) / nullif(published.value, 0) AS ratio, published.source
FROM published_values AS published
JOIN ours ON ours.experiment = published.experiment
    AND ours.sweep = published.sweep
    AND ours.measurement = published.measurement
    AND ours.levels @> published.levels
    AND coalesce(published.platform, ours.platform) = ours.platform
    AND (published.ratio_to IS NOT NULL OR published.unit = ours.unit)
JOIN results USING (run, series)
JOIN runs USING (run)
LEFT JOIN ours AS under ON under.run = ours.run
    AND under.platform = published.ratio_to
    AND under.sweep = ours.sweep
    AND under.levels = ours.levels
    AND under.measurement = ours.measurement
WHERE published.ratio_to IS NULL OR under.median <> 0;
COMMENT ON VIEW ratios_to_published IS
    'Our medians beside the papers'' numbers of the same cell, and ours / published. Where ratio_to names a platform, '
    'both are ratios to it.';

CREATE VIEW weekly_changes AS
SELECT
    weeks.run_id AS week, weeks.started_at, changes.state, series.experiment, series.scale, series.platform,
    series.sweep, series.levels, measurement, change -> 'change' ->> 'says' AS says
FROM weeks
JOIN changes USING (week)
JOIN series USING (series);
COMMENT ON VIEW weekly_changes IS 'What each weekly run said of each series: regression, improvement, no change, …';
