"""What looks worse is measured again, and what that makes of the week's verdicts: made-up weeks in a real database."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from clusterbench.history import again, database, read, series_changes
from clusterbench.history.again import MeasuredAgain, Medians, Regarded, Suspicions
from clusterbench.history.change_test import Change
from clusterbench.history.series_changes import SeriesChange
from tests.history.conftest import SYNTHETIC, WEEKS, History

SLOW_WEEK = WEEKS * 3 // 4
"""From which on two clients are 8 % slower."""
KEY_VALUE = 0
SLOW, CALM = 2, 1
"""Clients."""


@pytest.fixture
def db(weeks_db: database.Database) -> database.Database:
    return weeks_db


def run_id(week: int) -> str:
    return SYNTHETIC.run_id(week, KEY_VALUE)


def regarded(db: database.Database, weeks: History, week: int = SLOW_WEEK) -> list[Regarded]:
    return series_changes.regarded_of_week(db, weeks.catalog, {"key_value": run_id(week)})


def chosen(db: database.Database, weeks: History, week: int = SLOW_WEEK, hours: float = 3) -> Suspicions:
    return again.choose(regarded(db, weeks, week), read.costs(db, "key_value", run_id(week)), hours, "seed")


def medians_like(found: list[Regarded], slow_times: float) -> Medians:
    """All as their level was, but for what two clients measure."""
    values = {}
    for one in found:
        level = 2.718281828 ** (one.worse * float(one.level.mean()))
        times = slow_times**one.worse if one.series.levels["clients"] == SLOW else 1.0
        values[one.key] = [level * times * (1 + noise / 1000) for noise in (-8, 5, -3, 8, 2, -4)]
    return values


def judged(db: database.Database, weeks: History, slow_times: float, week: int = SLOW_WEEK) -> list[SeriesChange]:
    found = MeasuredAgain(chosen(db, weeks, week), medians_like(regarded(db, weeks, week), slow_times))
    return series_changes.of_week(db, weeks.catalog, {"key_value": run_id(week)}, found)


def slow_of(found: list[SeriesChange], measurement: str = "latency_ms_mean") -> SeriesChange:
    return next(
        one
        for one in found
        if (one.series.platform, one.series.levels["clients"], one.series.measurement) == ("lab_db1", SLOW, measurement)
    )


def test_what_looks_worse_is_asked_for_with_others_that_do_not(db: database.Database, weeks: History) -> None:
    suspicions = chosen(db, weeks)
    place = next(one for one in suspicions.asked if one.platform == "lab_db1")
    assert any(f"'clients', '{SLOW}'" in cell for _, _, cell, _ in place.suspects)
    assert not {cell for _, _, cell, _ in place.suspects} & {cell for _, _, cell, _ in place.others}
    known = {result.cell for result in read.results(db, "key_value", run_id(SLOW_WEEK))}
    assert set(place.cells) <= known
    assert place.seconds > 0
    assert Suspicions.of(json.loads(json.dumps(suspicions.as_json()))) == suspicions


def test_what_there_is_no_time_for_is_counted(db: database.Database, weeks: History) -> None:
    every = sum(len(one.suspects) for one in chosen(db, weeks).asked)
    none = chosen(db, weeks, hours=0)
    assert (none.asked, none.left_out) == ((), every)
    assert none.summary.endswith(f"for {every} others there is no time")
    assert 0 < len(none.unmeasured) <= 5 and none.unmeasured[0].startswith("key_value on lab_")
    assert re.fullmatch(r".*, \w+: [+−-][\d.,]+\s%", none.unmeasured[0]), none.unmeasured[0]


def test_where_time_is_short_there_are_fewer_rounds_of_all(db: database.Database, weeks: History) -> None:
    every = chosen(db, weeks)
    seconds = sum(one.seconds for one in every.asked)
    assert every.rounds == 6
    short = chosen(db, weeks, hours=4.01 * seconds / 3600)
    assert (short.rounds, short.left_out) == (4, 0)
    shorter = chosen(db, weeks, hours=2.9 * seconds / 3600)
    assert shorter.rounds == 3 and 0 < shorter.left_out < len(every.asked[0].suspects) + shorter.left_out


def test_a_slowdown_is_told_in_the_week_in_which_it_happens(db: database.Database, weeks: History) -> None:
    alone = slow_of(series_changes.of_week(db, weeks.catalog, {"key_value": run_id(SLOW_WEEK)}))
    assert alone.change.state == "no_change"
    found = slow_of(judged(db, weeks, 1.08))
    assert found.confirmation is not None and found.confirmation.word == "confirmed"
    assert found.change.state == "regression"
    assert found.change.change_percent == pytest.approx(8, abs=3)
    assert (found.change.at_run_id, found.change.runs_after) == (run_id(SLOW_WEEK), 1)
    assert found.change.says.startswith("worse since this week, confirmed: measured again in 6 runs at once, +")
    assert SeriesChange.from_json(json.loads(json.dumps(found.as_json()))) == found
    throughput = slow_of(judged(db, weeks, 1.08), "throughput_per_s")
    if throughput.confirmation is not None:
        assert throughput.change.change_percent == pytest.approx(-7.4, abs=3)


def test_what_is_not_there_when_measured_again_is_no_regression(db: database.Database, weeks: History) -> None:
    late = SLOW_WEEK + 2
    alone = slow_of(series_changes.of_week(db, weeks.catalog, {"key_value": run_id(late)}))
    assert alone.change.state == "regression"
    found = slow_of(judged(db, weeks, 1.0, late))
    assert found.change.state == "no_change"
    assert found.change.says.startswith("no change: not confirmed: measured again in 6 runs at once")


def test_runs_that_are_missing_change_no_verdict(db: database.Database, weeks: History) -> None:
    found = MeasuredAgain(chosen(db, weeks), {})
    one = slow_of(series_changes.of_week(db, weeks.catalog, {"key_value": run_id(SLOW_WEEK)}, found))
    assert one.confirmation is not None and one.confirmation.word == "not enough"
    assert one.change.state == "no_change"


def told_in(db: database.Database, found: SeriesChange, week: int) -> None:
    """A weekly run that has said that."""
    run = read.run(db, "key_value", run_id(week))
    assert run is not None
    db.execute("DELETE FROM weeks")
    db.execute(
        "INSERT INTO weeks (run_id, scale, started_at, dag_run_id, url, manifest_sha256) "
        "VALUES (%s, %s, %s, '', '', '')",
        [run_id(week), run.scale, run.started_at],
    )
    entry = [found.series.id, found.series.measurement, found.change.state, json.dumps(found.as_json())]
    db.execute("INSERT INTO changes SELECT week, 0, %s, %s, %s, %s FROM weeks", entry)


def test_what_was_confirmed_stands_until_runs_can_tell_by_themselves(db: database.Database, weeks: History) -> None:
    """Of a result of which later runs show nothing by themselves."""

    def calm(week: int) -> SeriesChange:
        found = series_changes.of_week(db, weeks.catalog, {"key_value": run_id(week)})
        wanted = ("lab_db1", CALM, "latency_ms_mean")
        return next(
            one
            for one in found
            if (one.series.platform, one.series.levels["clients"], one.series.measurement) == wanted
        )

    first = calm(SLOW_WEEK)
    said = Change("regression", "worse since this week, confirmed.", 8.0, at_run_id=run_id(SLOW_WEEK), runs_after=1)
    confirmed = slow_of(judged(db, weeks, 1.08)).confirmation
    told_in(db, replace(first, change=said, confirmation=confirmed), SLOW_WEEK)
    next_week = calm(SLOW_WEEK + 1)
    assert next_week.change.state == "regression"
    assert next_week.change.says.endswith(": worse since this week, confirmed.")
    assert next_week.change.says.startswith("still as it was found on ")
    assert calm(SLOW_WEEK + 10).change.state == "no_change"


def test_what_was_confirmed_is_measured_again_only_where_it_looks_mended(db: database.Database, weeks: History) -> None:
    stands = Change("regression", "worse since this week", at_run_id="x")
    found = [one for one in regarded(db, weeks) if one.change.state == "no_change"]
    assert {replace(one, stands=stands).is_suspect for one in found if one.is_suspect} == {False}
    assert {replace(one, stands=stands).is_suspect for one in found if not one.is_suspect} == {True}
