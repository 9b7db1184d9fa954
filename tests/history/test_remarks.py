"""What people say, through archive and history: pages, verdicts and comparisons honour it. Real servers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from clusterbench.airflow.ui import over_time, template
from clusterbench.base import remark_store
from clusterbench.base.errors import RemarkError
from clusterbench.base.remarks import Kind, Remark, folder_of
from clusterbench.history import database, load, read, series_changes
from clusterbench.history.changes import ReportedChange
from clusterbench.history.model import Series
from clusterbench.history.rebuild import rebuild
from clusterbench.history.series_changes import SeriesChange
from clusterbench.report.week.gather import verdict_of
from clusterbench.report.week.why import why
from clusterbench.results.compare import compare
from clusterbench.results.gather import read_run
from clusterbench.results.run_list import WITHDRAWN, newest_runs
from clusterbench.run import remarks
from clusterbench_lab import Lab
from tests.history.conftest import SYNTHETIC, WEEKS, History, made

OLDER, NEWEST = "20261103T000000Z-dddddd", "20261103T000001Z-eeeeee"


@pytest.fixture(scope="module")
def two(lab: Lab) -> History:
    """Two equal runs."""
    found = made(lab, "remarks_tests")
    for run_id in (NEWEST, OLDER):
        assert found.loaded(found.put_sealed("key_value", run_id, "key_value/s1"))
    return found


@pytest.fixture
def db(weeks_db: database.Database) -> database.Database:
    return weeks_db


def say(two: History, kind: Kind, text: str, **place: str) -> Remark:
    said = remarks.remark_of_run(two.archive("key_value", NEWEST), kind, text, "ann", **place)  # type: ignore[arg-type]
    remarks.keep(two.connections, said)
    return said


def has_number(db: database.Database, one: Series) -> bool:
    return read.points(db, one.id, one.measurement)[-1].median is not None


def compared(two: History) -> tuple[list[str], list[str]]:
    """What comparisons say of withdrawn cells, of the archive and of the history; they agree."""
    in_archive = compare(*([read_run(two.archive("key_value", run))] for run in (OLDER, NEWEST)))
    with database.opened(two.connection) as db:
        in_history = compare(*([read.one_run(db, "key_value", run)] for run in (OLDER, NEWEST)))
    return tuple(  # type: ignore[return-value]
        sorted({cell.refused for pair in one.pairs for cell in pair.cells if "withdrawn" in cell.refused})
        for one in (in_archive, in_history)
    )


def test_a_withdrawn_run_is_told_everywhere_and_put_back(two: History) -> None:
    before = compared(two)
    assert before == ([], [])
    say(two, "withdrawn", "the disk was full")
    words = f"withdrawn by ann on {datetime.now(UTC):%-d %b %Y}: the disk was full"
    assert compared(two) == ([f"B: {words}"], [f"B: {words}"])
    listed = {
        one.run_id: one.validity for one in newest_runs([two.archive("key_value", r) for r in (OLDER, NEWEST)], 9)
    }
    assert listed[NEWEST] == WITHDRAWN
    assert listed[OLDER] != WITHDRAWN
    with database.opened(two.connection) as db:
        run = read.run(db, "key_value", NEWEST)
        assert run is not None and run.withdrawn == words
        series = next(one for one in read.series(db, "key_value", run_id=NEWEST) if has_number(db, one))
        points = read.points(db, series.id, series.measurement)
        assert [point.withdrawn for point in points] == ["", words]
        assert not points[1].counts
    say(two, "put_back", "it was another disk")
    assert compared(two) == before
    with database.opened(two.connection) as db:
        assert not any(point.withdrawn for point in read.points(db, series.id, series.measurement))


def test_one_cell_alone_is_withdrawn_and_a_rebuilt_history_knows_it(two: History) -> None:
    cell = next(one for one in read_run(two.archive("key_value", NEWEST)).results if one.measurements)
    say(two, "withdrawn", "a neighbour", platform=cell.platform, cell=cell.label)  # as mail and pages call it
    rebuild(two.connection, two.store, two.catalog)
    with database.opened(two.connection) as db:
        run = read.run(db, "key_value", NEWEST)
        assert run is not None and not run.withdrawn
        withdrawn = {
            one.label: read.points(db, one.id, one.measurement)[-1].withdrawn
            for one in read.series(db, "key_value", run_id=NEWEST)
            if has_number(db, one)
        }
    assert [label for label, why in withdrawn.items() if why] == [cell.label]
    say(two, "put_back", "it was idle", platform=cell.platform, cell=cell.cell)


def test_the_archive_of_the_run_stays_as_it_is(two: History) -> None:
    archive = two.archive("key_value", NEWEST)
    say(two, "note", "before the upgrade")
    assert archive.verify() == []
    assert remark_store.read(two.store, folder_of("key_value", NEWEST))[-1].text == "before the upgrade"


@pytest.mark.parametrize(
    ("kind", "text", "place", "says"),
    [
        ("note", "  ", {}, "a note needs words"),
        ("withdrawn", "", {}, "give a reason"),
        ("note", "x", {"platform": "lab_db1"}, "a note is of a whole run"),
        ("withdrawn", "x", {"cell": "lookups-1"}, "name the platform as well"),
        ("withdrawn", "x", {"platform": "lab_bd1"}, "has no results on 'lab_bd1'; did you mean 'lab_db1'?"),
        ("withdrawn", "x", {"platform": "lab_db1", "cell": "nothing"}, "has no cell 'nothing' on lab_db1"),
        ("put_back", "x", {}, "is not withdrawn, so it cannot be put back; withdrawn of that run: nothing"),
    ],
)
def test_what_cannot_be_said_is_refused_with_what_can(
    two: History, kind: Kind, text: str, place: dict[str, str], says: str
) -> None:
    with pytest.raises(RemarkError, match=says.replace("?", r"\?")):
        say(two, kind, text, **place)


def test_an_event_is_of_what_is_there_and_has_happened(two: History) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(RemarkError, match="is in the future"):
        remarks.event(two.catalog, "moved", "ann", tomorrow)
    with pytest.raises(RemarkError, match="no platform 'lab_bd1'; did you mean 'lab_db1'"):
        remarks.event(two.catalog, "moved", "ann", None, platform="lab_bd1")
    with pytest.raises(RemarkError, match="no experiment 'key_valu'; did you mean 'key_value'"):
        remarks.event(two.catalog, "moved", "ann", None, experiment="key_valu")


# Sixty made-up weeks, in the last quarter of which something is slower.


def slower(db: database.Database, weeks: History) -> SeriesChange:
    newest = read.latest(db, ["key_value"])[0].run_id
    found = series_changes.of_week(db, weeks.catalog, {"key_value": newest})
    return next(one for one in found if one.change.state == "regression" and one.series.platform == "lab_db1")


def withdraw(db: database.Database, run_ids: list[str]) -> None:
    for run_id in run_ids:
        said = Remark("withdrawn", "x", "ann", datetime.now(UTC), "key_value", run_id)
        db.execute(load.ADD_REMARK, {"object": run_id, **vars(said), "tags": []})


def test_nothing_is_judged_by_what_was_withdrawn(db: database.Database, weeks: History) -> None:
    found = slower(db, weeks)
    points = read.points(db, found.series.id, found.series.measurement)
    at = next(number for number, point in enumerate(points) if point.run_id == found.change.at_run_id)
    withdraw(db, [point.run_id for point in points[at:]])
    newest = SYNTHETIC.run_id(WEEKS - 1, 0)
    judged = series_changes.of_week(db, weeks.catalog, {"key_value": newest})
    again = next(one for one in judged if one.series == found.series)
    assert again.change.state == "no_change"
    assert "The last run is not counted: withdrawn by ann" in again.change.says
    page = over_time.gather(db, found.series, 260)
    html = template.render("series.html.j2", "/bench", "", page=page, offered=over_time.RUNS)
    assert html.count("withdrawn by ann") >= len(points) - at


def test_facts_of_a_withdrawn_run_are_passed_over(db: database.Database, weeks: History) -> None:
    """A host was limited that day: beside that run the next one would look changed, or nothing would."""
    at = WEEKS // 2
    db.execute(
        "UPDATE run_platforms SET fact_set = later.fact_set "
        "FROM runs, run_platforms AS later JOIN runs AS later_runs USING (run) "
        "WHERE run_platforms.run = runs.run AND runs.run_id = %s AND later_runs.run_id = %s "
        "AND run_platforms.platform = 'lab_db2' AND later.platform = 'lab_db2'",
        [SYNTHETIC.run_id(at - 1, 0), SYNTHETIC.run_id(at, 0)],
    )
    withdraw(db, [SYNTHETIC.run_id(at - 1, 0)])
    judged = series_changes.of_week(db, weeks.catalog, {"key_value": SYNTHETIC.run_id(at + 3, 0)})
    faster = next(one for one in judged if one.change.state == "improvement")
    assert faster.facts_run_id == SYNTHETIC.run_id(at, 0)
    assert [one.what for one in faster.differences] == ["kernel"]


def test_an_event_before_the_first_slow_run_is_the_first_line_of_why(db: database.Database, weeks: History) -> None:
    found = slower(db, weeks)
    points = read.points(db, found.series.id, found.series.measurement)
    at = next(point.started_at for point in points if point.run_id == found.change.at_run_id)
    for number, (when, platform) in enumerate(
        [(at - timedelta(days=2), "lab_db1"), (at - timedelta(days=2), "lab_db2"), (at - timedelta(days=30), "")]
    ):
        said = Remark("event", f"event {number}", "ann", datetime.now(UTC), platform=platform, happened_at=when)
        db.execute(load.ADD_REMARK, {"object": str(number), **vars(said), "tags": []})
    told = slower(db, weeks)
    assert [one.text for one in told.events] == ["event 0"]
    assert SeriesChange.from_json(told.as_json()).events == told.events
    when = f"{at - timedelta(days=2):%-d %b %Y}"
    assert why(verdict_of(told, "Throughput"))[0] == f"On {when}, lab_db1: event 0 (said by ann)."
    assert "event 0 (said by ann)" in ReportedChange.of(told.as_json()).line
    page = over_time.gather(db, found.series, 260)
    assert [one.text for one in page.events] == ["event 2", "event 0"]
    html = template.render("series.html.j2", "/bench", "", page=page, offered=over_time.RUNS)
    assert html.count('class="told"') == 3  # two in the figure, and the legend
