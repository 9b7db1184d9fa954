"""``clusterbench list``: runs as a person finds them, from an archive in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import Store, find_run, runs_in
from clusterbench.base.errors import ArchiveError
from clusterbench.cli import list_runs
from clusterbench.cli.main import main
from clusterbench.results.run_list import newest_runs
from tests.report.test_report import Folder

Output = pytest.CaptureFixture[str]
BUTTON = {"dag_run_id": "manual__2026-11-20", "how": "manual"}


class Counting(Folder):
    """Knows which objects were read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: list[str] = []

    def get(self, key: str) -> bytes | None:
        self.read.append(key)
        return super().get(key)


def put(root: Path, run: str, opened: dict[str, Any] | None, **objects: dict[str, Any]) -> None:
    """A run of that name; without ``opened`` it ended before it had one."""
    for name, content in {**({"run": opened} if opened else {}), **objects}.items():
        path = root / run / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


def opened(*platforms: str, scale: str = "laptop", **started_by: str) -> dict[str, Any]:
    choices = {"scale": scale, **({"platforms": list(platforms)} if platforms else {})}
    return {"choices": choices, "started_by": started_by or BUTTON}


def sealed(valid: bool, *more: str) -> dict[str, Any]:
    return {"valid": valid, "objects": {key: {} for key in ["run.json", *more]}}


def verdicts(*passed: bool) -> dict[str, Any]:
    return {"valid": True, "verdicts": [{"critical": False, "passed": each} for each in passed]}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Seven runs of each kind, in an order that is neither that of their names nor that of their times."""
    put(
        tmp_path, "retail/20261119T100000Z-aaaaaa", opened("db1", "db2"), manifest=sealed(True), verdicts=verdicts(True)
    )
    put(tmp_path, "smoke/20261121T100000Z-bbbbbb", opened("db1"), manifest=sealed(True), verdicts=verdicts(True, False))
    put(tmp_path, "smoke/20261120T100000Z-cccccc", opened("db2", by="hand"), manifest=sealed(False))
    put(tmp_path, "smoke/20261122T100000Z-dddddd", opened("db1", scale="smoke"), verdicts=verdicts(True))
    put(tmp_path, "smoke/20261118T100000Z-eeeeee", opened("db1"), manifest=sealed(True, "errors/db1/trials/1.json"))
    put(tmp_path, "tpcds/20261121T100001Z-ffffff", None, **{"errors/run/open_run/1": {}})
    scheduled = opened(dag_run_id="scheduled__2026", how="scheduled")
    put(tmp_path, "weekly/20261122T000000Z-999999", scheduled, manifest=sealed(True))
    (tmp_path / "_baselines").mkdir()
    made = Counting(tmp_path)
    monkeypatch.setattr(list_runs, "store", lambda: cast(Store, made))
    return made


def listed(output: Output, *arguments: str) -> list[dict[str, Any]]:
    assert main(["list", *arguments, "--json"]) == 0
    return list(json.loads(output.readouterr().out))


def test_newest_is_first_with_what_a_person_asks_of_it(store: Counting, capsys: Output) -> None:
    found = listed(capsys)
    button = "Trigger in Airflow, or the command line (manual__2026-11-20)"
    assert [(one["run"], one["platforms"], one["scale"], one["validity"], one["started_by"]) for one in found] == [
        ("smoke/20261122T100000Z-dddddd", ["db1"], "smoke", "did not complete (yet)", button),
        ("weekly/20261122T000000Z-999999", [], "laptop", "valid", "the calendar (scheduled__2026)"),
        ("tpcds/20261121T100001Z-ffffff", [], None, "did not complete (yet)", "not recorded"),
        ("smoke/20261121T100000Z-bbbbbb", ["db1"], "laptop", "valid with warnings", button),
        ("smoke/20261120T100000Z-cccccc", ["db2"], "laptop", "not valid", "hand"),
        ("retail/20261119T100000Z-aaaaaa", ["db1", "db2"], "laptop", "valid", button),
        ("smoke/20261118T100000Z-eeeeee", ["db1"], "laptop", "valid with warnings", button),
    ]
    assert {f"{one['experiment']}/{one['run_id']}" == one["run"] for one in found} == {True}


def test_table_has_a_line_a_run_that_can_be_pasted(
    store: Counting, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    for run in runs_in(cast(Store, store)):
        (line,) = (line for line in said.splitlines() if run.name in line)
        assert f"│ {run.name} " in line
        assert find_run(cast(Store, store), run.name).prefix == f"{run.name}/"


def test_only_an_experiment_only_a_platform_only_so_many(store: Counting, capsys: Output) -> None:
    letters = [one["run_id"][-6] for one in listed(capsys, "smoke")]
    assert letters == ["d", "b", "c", "e"]
    assert [one["run_id"][-6] for one in listed(capsys, "--platform", "db2")] == ["c", "a"]
    assert [one["run_id"][-6] for one in listed(capsys, "smoke", "--platform", "db1", "--limit", "2")] == ["d", "b"]
    assert [one["experiment"] for one in listed(capsys, "weekly")] == ["weekly"]
    assert main(["list", "--limit", "3"]) == 0
    assert capsys.readouterr().out.endswith("the newest 3 of 7 runs; --limit N shows more\n")


def test_where_there_is_nothing_that_is_said(store: Counting, capsys: Output) -> None:
    assert main(["list", "order_entry"]) == 0
    assert capsys.readouterr().out == "no run of order_entry in s3://clusterbench/\n"
    assert main(["list", "smoke", "--platform", "db3"]) == 0
    assert capsys.readouterr().out == "no run of smoke on db3 in s3://clusterbench/\n"
    assert listed(capsys, "order_entry") == []


def test_unknown_experiment_is_told_with_those_there_are(store: Counting, capsys: Output) -> None:
    assert main(["list", "smok"]) == 1
    assert "unknown experiment 'smok'; did you mean 'smoke'? Allowed: " in capsys.readouterr().err


def test_of_many_runs_only_the_newest_are_read(tmp_path: Path) -> None:
    for minute in range(50):
        put(tmp_path, f"smoke/20261122T10{minute:02d}00Z-aaaaaa", opened("db1" if minute % 2 else "db2"))
    store = Counting(tmp_path)
    runs = runs_in(cast(Store, store))
    assert (len(runs), store.read) == (50, [])
    found = newest_runs(runs, 3)
    assert [one.run_id[11:13] for one in found] == ["49", "48", "47"]
    assert {key.split("/")[1] for key in store.read} == {one.run_id for one in found}
    store.read.clear()
    assert [one.run_id[11:13] for one in newest_runs(runs, 3, "db2")] == ["48", "46", "44"]
    assert len({key.split("/")[1] for key in store.read}) == 16, "one round of requests, not all fifty"


def test_run_id_without_a_time_is_behind_those_that_have_one(tmp_path: Path) -> None:
    for run_id in ("20261122T100000Z-aaaaaa", "test-1", "20261121T100000Z-aaaaaa"):
        put(tmp_path, f"smoke/{run_id}", opened("db1"))
    found = [run.run_id for run in runs_in(cast(Store, Folder(tmp_path)))]
    assert found == ["20261122T100000Z-aaaaaa", "20261121T100000Z-aaaaaa", "test-1"]


def test_run_that_is_not_there_is_told_with_the_newest_and_the_command_that_lists_them(store: Counting) -> None:
    with pytest.raises(ArchiveError) as caught:
        find_run(cast(Store, store), "smoke/x")
    said = str(caught.value)
    assert "no run 'smoke/x' in the archive; the newest are: smoke/20261122T100000Z-dddddd, weekly/2026" in said
    assert said.endswith("; 'clusterbench list' shows more")


def test_a_rehearsal_has_a_scale_of_its_own(tmp_path: Path, store: Counting) -> None:
    run = "retail/20261125T100000Z-bbbbbb"
    put(tmp_path, run, {**(said := opened("db1", scale="full")), "choices": {**said["choices"], "rehearse": 4000}})
    (line,) = (one for one in newest_runs(runs_in(store, "retail"), 20) if one.run == run)
    assert line.scale == "rehearsal_4000"


def test_a_week_in_which_something_got_worse_is_not_called_not_valid(tmp_path: Path, store: Counting) -> None:
    """Its runs are valid. If one of them is not, so is the week."""

    def said(*words: str, state: str = "success") -> str:
        week = {"runs": [{"experiment": "retail", "state": state, "validity": word} for word in words]}
        put(tmp_path, "weekly/20261129T000000Z-888888", opened(), manifest=sealed(False), week=week, changes={})
        return newest_runs(runs_in(store, "weekly"), 1)[0].validity

    assert said("valid", "valid with warnings") == "valid, something got worse"
    assert said("valid", "not valid") == "not valid"
    assert said("valid", state="failed") == "not valid"
    assert said("") == "not valid", "a week of before runs said it"
