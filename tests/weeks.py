"""Made-up weeks, as realistic as they get: for the tests of the weekly report, and for its picture in the README."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from statistics import median

from clusterbench.base.run_ids import run_started_by
from clusterbench.history.change_test import Change, State
from clusterbench.history.changes import ReportedChange
from clusterbench.history.model import Point, Series, WeekRun
from clusterbench.history.series_changes import SeriesChange
from clusterbench.report.week.page import text_of_week
from clusterbench.report.week.papers import Beside, PaperLine
from clusterbench.report.week.week import Before, ExperimentRun, SeriesVerdict, Week
from clusterbench.results.facts_compared import Difference
from clusterbench.run import weekly_mail
from clusterbench.run.weekly_mail import Message

SATURDAY = datetime(2026, 11, 21, 20, tzinfo=UTC)
KERNEL = Difference("kernel", "client, database", "6.1.0-25-amd64", "6.1.0-28-amd64", True)
BUFFERS = Difference("engine.settings.shared_buffers", "engine", "4GB", "1GB", True)


def run_id(weeks_ago: int, experiment: str = "") -> str:
    return f"{SATURDAY - timedelta(weeks=weeks_ago):%Y%m%dT%H%M%SZ}-{sum(map(ord, experiment)) % 4096:03x}abc"


def points(
    level: float, *, runs: int = 30, noise: float = 0.012, step: float = 0.0, since: int = 2, seed: int = 1
) -> tuple[Point, ...]:
    """``runs`` weeks; in the last ``since`` the level is higher by the share ``step``, and so the facts are others."""
    chance = random.Random(seed)
    made = []
    for ago in range(runs - 1, -1, -1):
        is_new = ago < since
        values = [level * (1 + step * is_new) * chance.gauss(1, noise) for _ in range(5)]
        facts = "c" if is_new and step else "b" if ago < runs / 2 else "a"
        when = SATURDAY - timedelta(weeks=ago)
        low_high = (min(values), max(values))
        made.append(Point(run_id(ago), when, ago != 11, 5, 5, median(values), low_high, facts))
    return tuple(made)


def judged(
    label: str = "concurrency: 50 clients, warm",
    *,
    state: State = "regression",
    step: float = -0.08,
    experiment: str = "key_value",
    platform: str = "lab_db1",
    measurement: str = "throughput_per_s",
    title: str = "Throughput",
    unit: str = "1/s",
    level: float = 14200.0,
    since: int = 3,
    p: float | None = 0.00031,
    facts: tuple[Difference, ...] = (KERNEL,),
    says: str = "",
    seed: int = 1,
) -> SeriesVerdict:
    better = "higher" if unit.endswith("/s") else "lower"
    series = Series(
        seed, experiment, "laptop", platform, label.split(":", maxsplit=1)[0], label, {}, measurement, unit, better
    )
    if state in ("no_change", "too_few", "no_number"):
        return SeriesVerdict(series, title, Change(state, says))
    drawn = points(level, step=step, since=since, seed=seed)
    before = median(point.median or 0 for point in drawn[:-since])
    after = median(point.median or 0 for point in drawn[-since:])
    percent = (after / before - 1) * 100
    change = Change(
        state, says, percent, (percent - 1.6, percent + 1.8), p, run_id(since - 1), before, after, 30 - since, since
    )
    return SeriesVerdict(series, title, change, facts, points=drawn, since_dag_run_id=f"scheduled__{run_id(since - 1)}")


def ran(experiment: str, title: str, **more: object) -> ExperimentRun:
    known = {
        "is_valid": True, "platforms": ("lab_db1",), "planned": 75, "completed": 75, "took_s": 760.0,
        "before": Before(run_id(1), 75, 75, 748.0), "reason": "", "run_id": run_id(0, experiment),
    }  # fmt: skip
    return ExperimentRun(experiment, title, f"weekly__2026-11-21T20:00:00+00:00__{experiment}", **{**known, **more})  # type: ignore[arg-type]


def usual(**more: object) -> Week:
    """A kernel was updated, somebody changed a setting, and the Hadoop lab did not come up."""
    worse = judged(seed=4)
    slow = judged(
        "full scan: 1 stream, cold", experiment="retail", platform="lab_db2", measurement="response_time_s",
        title="Response time", unit="s", level=18.4, step=0.13, since=2, p=0.0042, facts=(BUFFERS,), seed=5,
    )  # fmt: skip
    fast = judged(
        "data load: 1M rows", state="improvement", experiment="retail", measurement="response_time_s",
        title="Response time", unit="s", level=9.2, step=-0.052, since=4, p=0.0008, facts=(KERNEL,), seed=6,
    )  # fmt: skip
    gone = judged(
        "concurrency: 50 clients, cold", state="no_number", seed=8,
        says="0 of 3 completed: the server ran out of connections (FATAL: sorry, too many clients already)",
    )  # fmt: skip
    still = [judged(f"table size: {n}k rows", state="no_change", seed=20 + n) for n in range(96)]
    few = [
        judged(f"isolation: level {n}", state="too_few", experiment="order_entry", seed=200 + n,
               says="too few for a verdict: 3 of 10 valid runs with a number.") for n in range(6)
    ]  # fmt: skip
    runs = [
        ran("key_value", "Key-value lookups of JSON documents", completed=72),
        ran("order_entry", "Order-Entry: OLTP throughput, native against virtual", before=None,
            platforms=("lab_native", "lab_vm64"), planned=48, completed=48, took_s=2210.0),
        ran("retail", "Retail analytics and bulk loading", platforms=("lab_db1", "lab_db2"), planned=54, completed=54,
            took_s=1430.0, before=Before(run_id(1), 54, 54, 1290.0)),
        ran("smoke", "Smoke test of the pipeline", planned=10, completed=8, took_s=41.0,
            before=Before(run_id(1), 8, 10, 40.0)),
        ran("terasort", "TeraSort suite on Hadoop", platforms=("lab_hadoop1", "lab_hadoop2"), is_valid=None, planned=30,
            completed=0, took_s=None, before=Before(run_id(1), 30, 30, 2640.0),
            reason="lab_hadoop1, set up cluster: 127.0.7.12: the NameNode did not leave safe mode within 120 s"),
        ran("tpcds_density", "TPC-DS by concurrency and VM density", is_valid=False, planned=60, completed=60,
            platforms=("lab_ideal", "lab_base", "lab_oversubscribed"), took_s=3300.0,
            before=Before(run_id(1), 60, 60, 3240.0),
            reason="check failed: The caches were in the state that each trial names (58 of 60 as expected)"),
    ]  # fmt: skip
    papers = [
        Beside("key_value", "Key-value lookups of JSON documents", "Greenplum 5 on a DellEMC quarter rack DCAv2", (
            PaperLine("optimizer: planner: mean latency", "0.131 ms (0.129 – 0.134)", "≈ 1.379 ms",
                      "0.095× (0.093 – 0.097)"),
            PaperLine("concurrency: 200 clients, warm: throughput", "13 070 1/s (12 900 – 13 200)", "≈ 14 000 1/s",
                      "not compared: 1M rows here, 1000M rows there"),
        )),
        Beside("retail", "Retail analytics and bulk loading", "Greenplum 4.2.2 on four segment hosts", (
            PaperLine("full scan, cold: response time, lab_db2 / lab_db1", "1.14× (1.11 – 1.18)",
                      "vm1 / native ≈\u202f1.055; vm2 / native ≈\u202f0.89"),
            PaperLine("data load: response time, lab_db2 / lab_db1", "1.02× (0.97 – 1.06), no difference shown",
                      "vm1 / native ≈\u202f1.055; vm2 / native ≈\u202f0.96"),
        )),
    ]  # fmt: skip
    worse = replace(worse, is_known=True)
    known = {
        "ran": runs, "judged": [worse, slow, fast, gone, *still, *few], "beside": papers,
        "airflow_url": "http://airflow.example:8080",
    }  # fmt: skip
    return week(**{**known, **more})


def week(**more: object) -> Week:
    known = {
        "run_id": run_id(0, "weekly"), "dag_run_id": "scheduled__2026-11-21T20:00:00+00:00", "scale": "laptop",
        "started_at": SATURDAY, "url": f"s3://clusterbench/weekly/{run_id(0, 'weekly')}/", "ran": [], "judged": [],
    }  # fmt: skip
    return Week(**{**known, **more})  # type: ignore[arg-type]


def mail(one: Week) -> Message:
    """As the task ``tell`` makes it of the week's archive."""
    runs = [
        WeekRun(ran.experiment, ran.dag_run_id, ran.run_id, "success" if ran.is_valid else "failed", ran.reason)
        for ran in one.ran
    ]
    week = {"started_at": one.started_at.isoformat(), "runs": [asdict(run) for run in runs]}
    entries = [SeriesChange(each.series, each.change, each.facts, each.change.at_run_id) for each in one.judged]
    found = [ReportedChange.of(entry.as_json()) for entry in entries]
    url = one.link("weekly", one.dag_run_id)
    asked = one.link("baselines", run_started_by(one.dag_run_id))
    return weekly_mail.of_week(week, found, text=text_of_week(one), report=None, url=url, ask=asked)


def many() -> Week:
    """A bad week: four hundred results changed, and every reason is a long one."""
    long = "FATAL: the server said a great deal about it, and all of it was written into the archive; " * 20
    worse = [
        judged(f"concurrency: {n} clients, warm", step=-0.05 - n / 2000, since=2, seed=n, p=1e-7 * (n + 1))
        for n in range(300)
    ]
    nicer = [judged(f"storage: {n}k rows", state="improvement", step=0.05 + n / 1000, seed=400 + n) for n in range(100)]
    gone = [judged(f"pooling: {n}", state="no_number", seed=600 + n, says=long) for n in range(60)]
    runs = [ran(f"experiment_{n}", f"Experiment {n} of many", is_valid=None, reason=long) for n in range(12)]
    return week(judged=[*worse, *nicer, *gone], ran=runs, airflow_url="http://airflow.example:8080")


def first() -> Week:
    """Nothing was measured before."""
    says = "too few for a verdict: 1 of 10 valid runs with a number."
    few = [judged(f"table size: {n}k rows", state="too_few", says=says, seed=n) for n in range(97)]
    return usual(judged=few, ran=[replace(one, before=None, is_valid=True, reason="") for one in usual().ran])


def all_failed() -> Week:
    reason = "lab_db1, take cluster: 127.0.1.11: could not be reached over SSH: connection refused"
    failed = [replace(one, is_valid=None, run_id=None, completed=0, planned=0, took_s=None, platforms=(), reason=reason)
              for one in usual().ran]  # fmt: skip
    return usual(judged=[], beside=[], ran=failed)


def quiet() -> Week:
    still = [judged(f"table size: {n}k rows", state="no_change", seed=n) for n in range(97)]
    return usual(judged=still, ran=[replace(one, is_valid=True, reason="") for one in usual().ran])


if __name__ == "__main__":  # the example of docs/journeys/mail.md
    told = mail(usual())
    print(f"Subject: {told.subject}\n\n{told.text}")
