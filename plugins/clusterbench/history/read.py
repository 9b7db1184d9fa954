"""What pages, comparison and regression ask of the history database: one or two indexed statements each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from clusterbench.base.errors import ArchiveError
from clusterbench.base.remarks import Remark, withdrawals, words_of_withdrawal
from clusterbench.history.database import Database
from clusterbench.history.model import STATE, Baseline, FailedTrial, Point, RunRow, Series, Week, WeekRow, WeekRun
from clusterbench.history.rows import side_of
from clusterbench.results.between_runs import HISTORY_MAX, HISTORY_MIN, Spread, spread_of
from clusterbench.results.compare import OneRun
from clusterbench.results.compare_cells import cell_key
from clusterbench.results.durability import Durability
from clusterbench.results.facts_compared import Side
from clusterbench.results.run_state import RunState
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.verdicts import Verdict
from clusterbench.trial.rehearsal import scale_of

SERIES_AT_ONCE = 100
"""Of ``points_of_many``: 260 points of each are in memory at a time."""

# Runs.

HAS_WARNINGS = f"""(
    EXISTS (SELECT FROM verdicts WHERE verdicts.run = runs.run AND NOT passed)
    OR coalesce(runs.opened->>'{STATE}' = '{RunState.WARNINGS}', false))"""
"""Of ``runs``: a check that only warns failed, or, as its archive has it, a step had an error."""
RUN = " ".join(["""
SELECT experiment, run_id, title, scale, is_valid, started_at, ended_at,
    ARRAY(SELECT platform FROM run_platforms WHERE run_platforms.run = runs.run ORDER BY position),
    planned, completed, dag_run_id, opened, url,
    ARRAY(SELECT to_jsonb(remarks) FROM remarks
        WHERE remarks.experiment = runs.experiment AND remarks.run_id = runs.run_id ORDER BY said_at, object),
    """, HAS_WARNINGS, "FROM runs"])  # fmt: skip
NEWEST = """
WHERE run IN (
    SELECT DISTINCT ON (experiment, scale) run FROM runs
    WHERE %(all)s OR experiment = ANY(%(experiments)s)
    ORDER BY experiment, scale, started_at DESC, run_id DESC
) ORDER BY experiment, scale"""


def _run_row(row: tuple[Any, ...]) -> RunRow:
    opened = row[11]
    said = [*row[:7], tuple(row[7]), *row[8:11], opened.get("started_by") or {}, opened.get("choices") or {}, row[12]]
    in_turns = tuple(opened.get("platforms_in_turns") or ())
    return RunRow(*[*said, tuple(map(Remark.of, row[13])), row[14], in_turns])


def latest(db: Database, experiments: Sequence[str] | None = None) -> list[RunRow]:
    """The newest run of every experiment at every scale."""
    given = {"all": experiments is None, "experiments": list(experiments or ())}
    return [_run_row(row) for row in db.execute(" ".join([RUN, NEWEST]), given)]


def runs(
    db: Database, experiment: str, scale: str | None = None, limit: int = 50, before: datetime | None = None
) -> list[RunRow]:
    """The newest first."""
    conditions = ["experiment = %(experiment)s"]
    conditions += ["scale = %(scale)s"] * (scale is not None) + ["started_at < %(before)s"] * (before is not None)
    newest = "ORDER BY started_at DESC, run_id DESC LIMIT %(limit)s"
    query = " ".join([RUN, "WHERE", " AND ".join(conditions), newest])
    given = {"experiment": experiment, "scale": scale, "before": before, "limit": limit}
    return [_run_row(row) for row in db.execute(query, given)]


def run(db: Database, experiment: str, run_id: str) -> RunRow | None:
    query = f"{RUN} WHERE experiment = %s AND run_id = %s"
    found = db.execute(query, [experiment, run_id]).fetchone()
    return _run_row(found) if found else None


def one_run(db: Database, experiment: str, run_id: str) -> OneRun:
    """As ``compare.read_run`` reads it from the archive. Raises ArchiveError for a run that is not here."""
    query = "SELECT run, opened, durability FROM runs WHERE experiment = %s AND run_id = %s"
    found = db.execute(query, [experiment, run_id]).fetchone()
    if found is None:
        raise ArchiveError(
            f"run {experiment}/{run_id} is not in the history database; if it is finished, load it with: "
            f"clusterbench history load {experiment}/{run_id}"
        )
    number, opened, durability = found
    opened.pop(STATE, None)  # it is no part of what was chosen
    if durability is None:
        raise ArchiveError(f"run {experiment}/{run_id} has no results: it ended before they were made")
    query = "SELECT platform, facts, declared FROM run_platforms JOIN fact_sets USING (fact_set) WHERE run = %s"
    platforms = {name: (side_of(facts), declared) for name, facts, declared in db.execute(query, [number])}
    listed = results(db, experiment, run_id)
    names = dict.fromkeys(result.platform for result in listed)
    sides, declared = {name: platforms[name][0] for name in names}, {name: platforms[name][1] for name in names}
    plans = plan_texts(db, {known for result in listed for known in result.plans.values()})
    kept, holding = Durability(**durability), tuple(withdrawals(remarks_of(db, experiment, run_id)))
    return OneRun(f"{experiment}/{run_id}", opened, sides, declared, listed, kept, plans, holding)


def results(db: Database, experiment: str, run_id: str) -> list[Result]:
    """In the order of ``results.json``, with durability in the labels."""
    given = {"experiment": experiment, "run_id": run_id}
    measured: dict[int, dict[str, Summary]] = {}
    query = """
        SELECT m.series, measurement, unit, n, median, best, low_95, high_95, "values"
        FROM runs JOIN result_measurements m USING (run)
        WHERE experiment = %(experiment)s AND run_id = %(run_id)s ORDER BY measurement"""
    for series, name, unit, n, median, best, low, high, values in db.execute(query, given):
        bounds = None if low is None else (low, high)
        measured.setdefault(series, {})[name] = Summary(unit, n, median, best, bounds, values)
    query = """
        SELECT series, platform, sweep, cell, label, levels, results.planned, results.completed, outcomes, reasons,
            coalesce(fingerprints, '{}')
        FROM runs JOIN results USING (run) JOIN series USING (series) LEFT JOIN plan_sets USING (plan_set)
        WHERE runs.experiment = %(experiment)s AND run_id = %(run_id)s ORDER BY position"""
    return [
        Result(
            *[*row[1:5], _in_order(row[5]), *row[6:8], _in_order(row[8]), row[9], measured.get(row[0], {}), "", row[10]]
        )
        for row in db.execute(query, given).fetchall()
    ]


def _in_order(found: Mapping[str, Any]) -> dict[str, Any]:
    """By name, as the archive has it: PostgreSQL keeps an order of its own."""
    return dict(sorted(found.items()))


def failed_trials(db: Database, experiment: str, run_id: str, limit: int = 200) -> list[FailedTrial]:
    """Those that neither completed nor were left out as not applicable, in their order."""
    query = """
        SELECT platform, trial, label, outcome, reason, map_index
        FROM runs JOIN trials USING (run) JOIN run_platforms USING (run, platform)
        WHERE experiment = %s AND run_id = %s AND outcome NOT IN ('completed', 'not_applicable', 'not_needed')
        ORDER BY position, map_index, trial LIMIT %s"""
    return [FailedTrial(*row) for row in db.execute(query, [experiment, run_id, limit])]


def remarks_of(db: Database, experiment: str, run_id: str) -> list[Remark]:
    """In the order in which they were said."""
    query = """
        SELECT to_jsonb(remarks) FROM remarks WHERE experiment = %s AND run_id = %s ORDER BY said_at, object"""
    return [Remark.of(said) for (said,) in db.execute(query, [experiment, run_id])]


def events(db: Database, experiment: str, platform: str, after: datetime, until: datetime) -> list[Remark]:
    """What people told of that happened to these results between two moments, in order of time."""
    query = """
        SELECT to_jsonb(remarks) FROM remarks
        WHERE kind = 'event' AND experiment IN ('', %s) AND platform IN ('', %s)
            AND happened_at > %s AND happened_at < %s
        ORDER BY happened_at, object"""
    return [Remark.of(said) for (said,) in db.execute(query, [experiment, platform, after, until])]


def verdicts(db: Database, experiment: str, run_id: str) -> list[Verdict]:
    query = """
        SELECT suite, check_number, says, passed, is_critical, found
        FROM runs JOIN verdicts USING (run) WHERE experiment = %s AND run_id = %s ORDER BY position"""
    return [Verdict(*row) for row in db.execute(query, [experiment, run_id])]


def plan_texts(db: Database, fingerprints: Collection[str]) -> dict[str, str]:
    """Fingerprint -> plan, as the run had it that had it first."""
    query = "SELECT fingerprint, plan FROM plans WHERE fingerprint = ANY(%s)"
    return dict(db.execute(query, [list(fingerprints)]).fetchall()) if fingerprints else {}


def plans_of_cell(db: Database, series_id: int) -> dict[str, dict[str, str]]:
    """Run id -> statement -> fingerprint, of every run that noted plans of the cell."""
    query = """
        SELECT run_id, fingerprints FROM results JOIN runs USING (run) JOIN plan_sets USING (plan_set)
        WHERE series = %s"""
    return dict(db.execute(query, [series_id]).fetchall())


def side(db: Database, fact_set: str) -> Side:
    """A platform as it was found, for ``facts_compared.differences``."""
    found = db.execute("SELECT facts FROM fact_sets WHERE fact_set = %s", [fact_set]).fetchone()
    if found is None:
        raise ArchiveError(f"the history database has no facts {fact_set!r}")
    return side_of(found[0])


# Over time.


MEDIANS = """
WITH compared AS (
    SELECT min(started_at) AS first, max(started_at) AS last FROM runs
    WHERE experiment = %(experiment)s AND run_id = ANY(%(without)s)
), newest AS (
    SELECT run, started_at, run_id FROM runs, compared
    WHERE experiment = %(experiment)s AND scale = %(scale)s AND is_valid AND run_id <> ALL(%(without)s)
        AND CASE WHEN %(after)s THEN started_at > last ELSE started_at < first END IS NOT FALSE
    ORDER BY started_at DESC, run_id DESC LIMIT %(limit)s
)
SELECT platform, sweep, levels, measurement, array_agg(median ORDER BY started_at, run_id)
FROM newest JOIN results USING (run) JOIN series USING (series) JOIN result_measurements m USING (run, series)
WHERE NOT EXISTS (SELECT FROM withdrawn_results w WHERE w.run = newest.run AND w.series = series.series)
GROUP BY platform, sweep, levels, measurement HAVING count(*) >= %(at_least)s"""


def spreads(db: Database, experiment: str, scale: str, without: Sequence[str]) -> dict[tuple[str, str, str], Spread]:
    """How far apart equal runs lie, of the newest valid runs before the first of those ``without`` whose ids are given.

    Where a series has too few of them, of those after the last. Runs in between are none of either: what changed
    between the runs that are compared would count as noise. By platform, ``compare_cells.cell_key`` and measurement; of
    series with fewer runs than tell, there is none.
    """
    given = {"experiment": experiment, "scale": scale, "without": list(without)}
    limits = {"limit": HISTORY_MAX, "at_least": HISTORY_MIN}
    found: dict[tuple[str, str, str], Spread] = {}
    for after in (False, True):
        for platform, sweep, levels, measurement, medians in db.execute(MEDIANS, {**given, **limits, "after": after}):
            if spread := spread_of(medians):
                found.setdefault((platform, cell_key(sweep, levels), measurement), spread)
    return found


def spreads_for(db: Database, runs: Sequence[OneRun]) -> dict[tuple[str, str, str], Spread]:
    """For a comparison of these runs; empty where they are not all of one experiment at one scale."""
    series = {(run.name.partition("/")[0], scale_of(run.choices)) for run in runs}
    if len(series) != 1:
        return {}
    ((experiment, scale),) = series
    return spreads(db, experiment, scale, [run.name.partition("/")[2] for run in runs])


SERIES = """
SELECT series, experiment, scale, platform, sweep, label, levels, measurement, unit, better
FROM series JOIN series_measurements USING (series)"""
IN_THEIR_ORDER = "ORDER BY experiment, scale, sweep, label, levels, platform, measurement"


def series(  # noqa: PLR0917  (each narrows down, and all are given by name)
    db: Database,
    experiment: str | None = None,
    scale: str | None = None,
    platform: str | None = None,
    run_id: str | None = None,
    plotted_only: bool = True,
) -> list[Series]:
    """What is followed; with ``run_id`` only cells of that run. In the order of sweep, cell and measurement."""
    given = {"experiment": experiment, "scale": scale, "platform": platform}
    conditions = [f"{name} = %({name})s" for name, value in given.items() if value is not None]
    if run_id is not None:
        of_run = "SELECT series FROM results JOIN runs USING (run) WHERE run_id = %(run_id)s"
        conditions.append(f"series IN ({of_run})")
    conditions += ["is_plotted"] * plotted_only
    query = " ".join([SERIES, "WHERE", " AND ".join(conditions) or "true", IN_THEIR_ORDER])
    found = db.execute(query, {**given, "run_id": run_id})
    return [Series(*[*row[:6], _in_order(row[6]), *row[7:]]) for row in found]


def measured_in(db: Database, series_id: int) -> list[Series]:
    """All that was ever measured in a cell, whether it is drawn or not."""
    query = " ".join([SERIES, "WHERE series = %s", IN_THEIR_ORDER])
    return [Series(*[*row[:6], _in_order(row[6]), *row[7:]]) for row in db.execute(query, [series_id])]


def points(db: Database, series_id: int, measurement: str, limit: int = 260) -> list[Point]:
    """The newest ``limit``, in order of time."""
    (found,) = _points(db, [(series_id, measurement)], {}, None, limit)
    return found


def points_of_many(
    db: Database, series: Sequence[Series], until: datetime | None = None, limit: int = 260
) -> Iterator[tuple[Series, list[Point]]]:
    """The same of each, up to and with the runs of that time; some at a time, so that memory stays flat."""
    runs: dict[tuple[int, str], _RunOnPlatform] = {}
    for first in range(0, len(series), SERIES_AT_ONCE):
        some = series[first : first + SERIES_AT_ONCE]
        yield from zip(some, _points(db, [(one.id, one.measurement) for one in some], runs, until, limit), strict=True)


_RunOnPlatform = tuple[str, datetime, bool, str, bool]
"""Run id, when, whether it is valid, and the platform's facts: the same for thousands of points."""

POINTS = """
SELECT number, results.run, platform, planned, coalesce(n, 0), median, low_95, high_95
FROM unnest(%(series)s::int[], %(measurements)s::text[]) WITH ORDINALITY AS asked (series, measurement, number)
JOIN series ON series.series = asked.series
JOIN results ON results.series = asked.series
LEFT JOIN LATERAL (
    SELECT run, n, median, low_95, high_95 FROM result_measurements AS m
    WHERE m.series = asked.series AND m.measurement = asked.measurement OFFSET 0
) AS found ON found.run = results.run"""
"""Read from two indexes alone. Runs are few, and looked up once instead of for every point."""


def _points(
    db: Database,
    asked: Sequence[tuple[int, str]],
    known: dict[tuple[int, str], _RunOnPlatform],
    until: datetime | None,
    limit: int,
) -> list[list[Point]]:
    """Of each of ``asked`` (series, measurement); ``known`` is filled with runs as they turn up."""
    names = {"series": [series for series, _ in asked], "measurements": [name for _, name in asked]}
    rows = db.execute(POINTS, names, binary=True).fetchall()
    _learn(db, {row[1] for row in rows} - {run for run, _ in known}, known)
    withdrawn = _withdrawn(db, [series for series, _ in asked])
    found: list[list[Point]] = [[] for _ in asked]
    for number, in_run, platform, planned, n, median, low, high in rows:
        run_id, at, is_valid, fact_set, has_warnings = known[in_run, platform]
        bounds = None if low is None else (low, high)
        if until is None or at <= until:
            why = withdrawn.get((in_run, asked[number - 1][0]), "")
            point = Point(run_id, at, is_valid, n, planned, median, bounds, fact_set, why, has_warnings)
            found[number - 1].append(point)
    return [sorted(of_one, key=lambda point: (point.started_at, point.run_id))[-limit:] for of_one in found]


def _withdrawn(db: Database, series: Sequence[int]) -> dict[tuple[int, int], str]:
    """(run, series) -> who withdrew the result, when and why."""
    query = "SELECT run, series, said_by, said_at, text FROM withdrawn_results WHERE series = ANY(%s)"
    rows = db.execute(query, [list(series)]).fetchall()
    return {(run, one): words_of_withdrawal(by, at, why) for run, one, by, at, why in rows}


OF_PLATFORMS = "FROM runs JOIN run_platforms USING (run) WHERE run = ANY(%s)"


def _learn(db: Database, unknown: set[int], known: dict[tuple[int, str], _RunOnPlatform]) -> None:
    query = " ".join(["SELECT run, platform, run_id, started_at, is_valid, fact_set,", HAS_WARNINGS, OF_PLATFORMS])
    for run_number, platform, *said in db.execute(query, [list(unknown)]).fetchall():
        known[run_number, platform] = (said[0], said[1], said[2], said[3], said[4])


def baselines(db: Database, series_id: int, measurement: str) -> list[Baseline]:
    """In the order of the runs that they begin with."""
    query = """
        SELECT from_run_id, accepted_by, accepted_at, note FROM baselines
        WHERE series = %s AND measurement = %s ORDER BY from_run_id"""
    return [Baseline(*row) for row in db.execute(query, [series_id, measurement])]


def baselines_of(db: Database, experiment: str) -> dict[tuple[int, str], list[Baseline]]:
    """All of an experiment, by series and measurement, in the order of the runs that they begin with."""
    query = """
        SELECT series, measurement, from_run_id, accepted_by, accepted_at, note
        FROM baselines JOIN series USING (series) WHERE experiment = %s ORDER BY from_run_id"""
    found: dict[tuple[int, str], list[Baseline]] = {}
    for series_id, measurement, *said in db.execute(query, [experiment]):
        found.setdefault((series_id, measurement), []).append(Baseline(*said))
    return found


def declared(db: Database, experiment: str, platform: str, run_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Run id -> what the platform's file said of each setting then."""
    query = """
        SELECT run_id, declared FROM runs JOIN run_platforms USING (run)
        WHERE experiment = %s AND platform = %s AND run_id = ANY(%s)"""
    return dict(db.execute(query, [experiment, platform, list(run_ids)]).fetchall())


COSTS = """
SELECT s.experiment, s.platform, s.series, r.cell,
    sum(coalesce(window_end_s - extract(epoch FROM t.started_at), %(unknown_s)s) + %(more_s)s)
FROM runs JOIN results r USING (run) JOIN series s USING (series)
JOIN trials t ON t.run = r.run AND t.platform = s.platform AND t.cell = r.cell
WHERE runs.experiment = %(experiment)s AND runs.run_id = %(run_id)s
GROUP BY 1, 2, 3, 4"""
TRIAL_UNKNOWN_S, TRIAL_MORE_S = 60, 2
"""Of a trial without a window, and for what comes after a window."""


def costs(db: Database, experiment: str, run_id: str) -> dict[tuple[str, str, int], tuple[str, float]]:
    """(experiment, platform, series) -> the cell's name in that run, and the seconds that all its trials took."""
    given = {"experiment": experiment, "run_id": run_id, "unknown_s": TRIAL_UNKNOWN_S, "more_s": TRIAL_MORE_S}
    return {(*row[:3],): (row[3], float(row[4])) for row in db.execute(COSTS, given)}


CONFIRMED = """
SELECT DISTINCT ON (series, measurement) series, measurement, weeks.started_at, change -> 'change',
    change -> 'confirmation' ->> 'word'
FROM changes JOIN weeks USING (week) JOIN series USING (series)
WHERE experiment = %(experiment)s AND weeks.started_at < %(until)s AND change ->> 'confirmation' IS NOT NULL
    AND weeks.week IN (SELECT week FROM weeks WHERE started_at < %(until)s ORDER BY started_at DESC LIMIT %(weeks)s)
ORDER BY series, measurement, weeks.started_at DESC"""


def confirmed(
    db: Database, experiment: str, until: datetime, weeks: int
) -> dict[tuple[int, str], tuple[datetime, Mapping[str, Any]]]:
    """What of an experiment's results was confirmed last, in so many weeks: series and measurement -> when, the change.

    What was not confirmed since is none.
    """
    rows = db.execute(CONFIRMED, {"experiment": experiment, "until": until, "weeks": weeks})
    return {(row[0], row[1]): (row[2], row[3]) for row in rows if row[4] == "confirmed"}


# Weekly runs.

WEEK = """
SELECT run_id, scale, started_at, dag_run_id, url,
    ARRAY(SELECT to_jsonb(r) - 'week' - 'position' FROM week_runs r WHERE r.week = weeks.week ORDER BY position),
    (SELECT coalesce(jsonb_object_agg(state, n), '{}')
     FROM (SELECT state, count(*) AS n FROM changes WHERE changes.week = weeks.week GROUP BY state) AS counted)
FROM weeks"""


def weeks(db: Database, limit: int = 52) -> list[WeekRow]:
    """The newest first."""
    return [_week_row(row) for row in db.execute(f"{WEEK} ORDER BY started_at DESC, run_id DESC LIMIT %s", [limit])]


def week(db: Database, run_id: str) -> Week | None:
    found = db.execute(f"{WEEK} WHERE run_id = %s", [run_id]).fetchone()
    if found is None:
        return None
    query = "SELECT change FROM changes JOIN weeks USING (week) WHERE run_id = %s ORDER BY position"
    return Week(_week_row(found), tuple(change for (change,) in db.execute(query, [run_id])))


def week_before(db: Database, scale: str, started_at: datetime) -> Week | None:
    """The last weekly run at that scale before that time."""
    query = "SELECT run_id FROM weeks WHERE scale = %s AND started_at < %s ORDER BY started_at DESC LIMIT 1"
    found = db.execute(query, [scale, started_at]).fetchone()
    return week(db, found[0]) if found else None


def _week_row(row: tuple[Any, ...]) -> WeekRow:
    return WeekRow(*[*row[:5], tuple(WeekRun(**one) for one in row[5]), row[6]])
