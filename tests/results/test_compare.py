"""Two archived runs side by side: from captured real results, and the facts of captured hosts."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.errors import ArchiveError
from clusterbench.cli import compare as compare_command
from clusterbench.cli import main
from clusterbench.hosts.conformance import AS_DECLARED, Row
from clusterbench.report import compare_shown
from clusterbench.report.run.page import render_report
from clusterbench.results import compare_cells
from clusterbench.results.between_runs import Spread
from clusterbench.results.compare import Comparison, compare, compare_platforms
from clusterbench.results.compare_cells import Histories, at_once, cell_key
from clusterbench.results.compare_published import PublishedCell, compare_published
from clusterbench.results.gather import read_run
from clusterbench.results.judgement import RUNS_NEEDED
from clusterbench.results.statistics import interval_95, ratio, summarise
from clusterbench.spec import Published
from tests.report.test_report import CAPTURED, CATALOG, Folder, edit, text_of
from tests.results.test_facts_compared import ENGINE, GUEST, facts_of

Change = Callable[[Path], object]


def put_facts(
    folder: Path, platform: str, host: str = "db", declared: dict[str, str] | None = None, **changed: Any
) -> None:
    below = folder / "platforms" / platform
    below.mkdir(parents=True, exist_ok=True)
    hosts = {"client": facts_of(1, GUEST), host: facts_of(2, GUEST, **changed)}
    (below / "facts.json").write_text(json.dumps({"hosts": hosts, "engine": ENGINE}))
    settings = {"work_mem": "8MB", **(declared or {})}
    rows = [Row(each, what, value, value, AS_DECLARED) for each in hosts for what, value in settings.items()]
    (below / "conformance.json").write_text(json.dumps({"rows": [row.as_json() for row in rows]}))
    (below / "platform.yaml").write_text(
        f"{{platform: {platform}, title: T, engine: postgres, cluster: c, hosts: "
        f"{{client: {{ssh: c, roles: [client]}}, {host}: {{ssh: d, roles: [coordinator]}}}}}}"
    )


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of the same results and facts, to be changed."""
    for run in ("l1", "l2"):
        shutil.copytree(CAPTURED / "retail" / "l1", tmp_path / "retail" / run)
        for platform in ("lab_db1", "lab_db2"):
            put_facts(tmp_path / "retail" / run, platform)
    return tmp_path / "retail" / "l1", tmp_path / "retail" / "l2"


def archive_in(folder: Path) -> RunArchive:
    return RunArchive(cast(Store, Folder(folder.parents[1])), "retail", folder.name)


class Steady(dict[tuple[str, str, str], Spread]):
    """Histories of series that hardly differ from run to run: intervals are those of the repetitions."""

    def get(self, *_: Any) -> Any:
        return Spread(1e-8, 30, 20)

    def __bool__(self) -> bool:
        return True


def compared(runs: tuple[Path, Path], *asked: str, histories: Histories | None = None) -> Comparison:
    a, b = (read_run(archive_in(folder)) for folder in runs)
    return compare([a], [b], asked, Steady() if histories is None else histories)


def printed(runs: tuple[Path, Path], output: pytest.CaptureFixture[str], monkeypatch: Any, *arguments: str) -> str:
    """What ``clusterbench compare`` prints."""
    monkeypatch.setattr(compare_command, "archive_of", lambda run: archive_in(runs[0].parent / run))
    assert main.main(["compare", "l1", "l2", *arguments]) == 0
    return output.readouterr().out


def results(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the results of ``lab_db1``."""

    def each(data: dict[str, Any]) -> None:
        for result in data["results"]:
            if result["platform"] == "lab_db1":
                change(result)

    edit(folder, "results.json", each)


def test_same_facts_are_said_to_be_the_same_with_their_number(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = printed(runs, capsys, monkeypatch, "--platform", "lab_db1")
    (facts,) = (pair.facts for pair in compared(runs, "lab_db1").pairs)
    assert f"The facts are the same: {facts} facts of 2 hosts." in said
    assert "hard to compare" not in said
    assert "lab_db2" not in said


def test_facts_that_differ_are_said_before_any_result(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_facts(runs[1], "lab_db1", "other_name", {"work_mem": "4MB"}, cpu_model="Other", version={"bash": "4.4"})
    said = printed(runs, capsys, monkeypatch, "--platform", "lab_db1")
    places = [said.index(word) for word in ("hard to compare", "cpu_model", "version.bash", "work_mem", "B / A")]
    assert places == sorted(places)
    assert "The facts are the same" not in said


def test_ratio_is_that_of_the_values_with_its_interval(runs: tuple[Path, Path]) -> None:
    def slower(result: dict[str, Any]) -> None:
        for summary in result["measurements"].values():
            summary["values"] = [2 * value for value in summary["values"]]
            summary["median"] *= 2

    results(runs[1], slower)
    cells = [cell for pair in compared(runs).pairs if pair.a == "lab_db1" for cell in pair.cells]
    assert cells
    for cell in cells:
        assert cell.a and cell.b and cell.ratio
        assert cell.ratio == ratio(cell.b.values, cell.a.values)
        assert cell.ratio[0] == pytest.approx(2) and cell.ratio[1] and cell.ratio[1][0] <= 2 <= cell.ratio[1][1]


def rehearsed(folder: Path, by: int) -> None:
    edit(folder, "run.json", lambda opened: opened["choices"].update({"scale": "full", "rehearse": by}))


def test_a_rehearsal_is_compared_with_none_but_its_like(runs: tuple[Path, Path]) -> None:
    edit(runs[0], "run.json", lambda opened: opened["choices"].update({"scale": "full"}))
    rehearsed(runs[1], 1000)
    found = compared(runs)
    cells = [cell for pair in found.pairs for cell in pair.cells]
    assert cells and all(cell.judgement.word == "not comparable" for cell in cells)
    assert "other data, scale full in A and rehearsal_1000 in B" in cells[0].judgement.says
    assert [(one.what, one.a, one.b) for one in found.run_differences] == [("scale", "full", "rehearsal_1000")]
    rehearsed(runs[0], 1000)
    assert not [cell for pair in compared(runs).pairs for cell in pair.cells if "other data" in cell.judgement.says]


def test_no_published_value_stands_beside_a_rehearsal(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsed(runs[0], 1000)
    monkeypatch.setattr(compare_command, "archive_of", lambda run: archive_in(runs[0].parent / run))
    assert main.main(["compare", "l1", "--published"]) == 1
    assert "l1: A rehearsal: full scale with every size divided by 1,000." in capsys.readouterr().err


def test_cell_that_only_one_has_or_completed_is_shown_as_such(runs: tuple[Path, Path]) -> None:
    def fail(result: dict[str, Any]) -> None:
        if result["sweep"] == "data_load":
            result |= {"completed": 0, "measurements": {}, "outcomes": {"failed": 3}, "reasons": ["disk full"]}

    results(runs[1], fail)
    edit(runs[0], "results.json", lambda data: data["results"].remove(_last_of_lab_db1(data)))
    (pair,) = compared(runs, "lab_db1").pairs
    (load,) = (cell for cell in pair.cells if cell.measurement == "response_time_s" and "data load" in cell.label)
    assert load.a and load.b is None and load.ratio is None
    assert load.said_b == "0 of 3 completed: disk full"
    assert {cell.said_a for cell in pair.cells if cell.a is None} == {"not run here"}


def _last_of_lab_db1(data: dict[str, Any]) -> Any:
    return [result for result in data["results"] if result["platform"] == "lab_db1"][-1]


def test_cells_of_another_size_are_not_the_same_though_their_name_is(runs: tuple[Path, Path]) -> None:
    results(runs[1], lambda result: result["levels"].update(rows=5))
    (pair,) = compared(runs, "lab_db1").pairs
    assert all(cell.ratio is None for cell in pair.cells)
    assert any("rows 5" in cell.label for cell in pair.cells)


def test_other_choices_and_platforms_of_one_run_only_are_told(runs: tuple[Path, Path]) -> None:
    edit(runs[1], "run.json", lambda data: data["choices"].update(seed=1))
    edit(runs[1], "results.json", lambda data: data.update(results=[_last_of_lab_db1(data)]))
    found = compared(runs)
    assert [(one.what, one.b, one.decides) for one in found.run_differences] == [("seed", "1", True)]
    assert [(pair.a, pair.b) for pair in found.pairs] == [("lab_db1", "lab_db1")]
    assert found.alone == (["lab_db2"], [])


def test_platforms_of_other_names_can_be_asked_for(runs: tuple[Path, Path]) -> None:
    assert [(pair.a, pair.b) for pair in compared(runs, "lab_db1=lab_db2").pairs] == [("lab_db1", "lab_db2")]
    with pytest.raises(ArchiveError, match=r"run retail/l2 has no platform 'lab_db3'; did you mean 'lab_db2'\?"):
        compared(runs, "lab_db1=lab_db3")


def test_run_without_facts_is_said_to_have_none(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(runs[1] / "platforms")
    said = printed(runs, capsys, monkeypatch)
    assert "No facts of hosts were read in B: nobody knows whether the two can be compared." in said
    assert "The facts are the same" not in said


def test_json_has_everything(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_facts(runs[1], "lab_db1", cpus=1)
    said = json.loads(printed(runs, capsys, monkeypatch, "--json"))
    (first, _) = said["platforms"]
    assert [one["what"] for one in first["differences"]] == ["cpus"]
    assert first["cells"][0]["ratio"][0] == 1


def test_json_can_be_of_one_measurement_which_must_be_there(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = json.loads(printed(runs, capsys, monkeypatch, "--json", "--measurement", "response_time_s"))
    assert {cell["measurement"] for pair in said["platforms"] for cell in pair["cells"]} == {"response_time_s"}
    assert main.main(["compare", "l1", "l2", "--measurement", "response_time"]) == 1
    assert "no cell has a measurement 'response_time'; did you mean 'response_time_s'?" in capsys.readouterr().err


# Verdicts.

NOT_DURABLE = {"platforms": {"lab_db1": "not durable: fsync off"}}


def _keep_two(summary: dict[str, Any]) -> None:
    summary["values"] = summary["values"][:2]


def scaled(folder: Path, factor: float, name: str) -> None:
    """One measurement of ``lab_db1``, with little noise: three repetitions each."""

    def change(result: dict[str, Any]) -> None:
        summary = result["measurements"].get(name)
        if summary:
            values = [factor * value for value in (1.0, 1.01, 0.99)]
            summary |= {"values": values, "median": factor, "n": 3, "interval_95": [0.99 * factor, 1.01 * factor]}

    results(folder, change)


def verdicts(found: Comparison, name: str) -> set[tuple[str, str]]:
    cells = [cell for pair in found.pairs if pair.b == "lab_db1" for cell in pair.cells if cell.measurement == name]
    return {(cell.judgement.word, cell.judgement.says) for cell in cells}


@pytest.mark.parametrize(
    ("name", "factor", "word", "begins"),
    [
        ("response_time_s", 1.12, "slower", "12 % slower ("),
        ("response_time_s", 0.88, "faster", "12 % faster ("),
        ("response_time_s", 3.1, "slower", "slower: 3.1 times as long ("),
        ("throughput_rows_per_s", 0.88, "slower", "12 % slower ("),
        ("throughput_rows_per_s", 1.12, "faster", "12 % faster ("),
        ("driver_cpu_share", 1.12, "higher", "12 % higher ("),
        ("response_time_s", 1.0, "no difference shown", "no difference shown (2.2 % faster to 2.3 % slower)"),
    ],
)
def test_verdict_is_a_word_and_a_sentence(
    runs: tuple[Path, Path], name: str, factor: float, word: str, begins: str
) -> None:
    scaled(runs[0], 1.0, name)
    scaled(runs[1], factor, name)
    ((said, sentence),) = verdicts(compared(runs), name)
    assert said == word
    assert sentence.startswith(begins)


def test_measurement_that_no_workload_has_any_longer_is_neither_better_nor_worse(runs: tuple[Path, Path]) -> None:
    for folder, factor in zip(runs, (1.0, 1.2), strict=True):
        scaled(folder, factor, "response_time_s")
        results(folder, lambda result: result["measurements"].update(gone_s=result["measurements"]["response_time_s"]))
    assert {word for word, _ in verdicts(compared(runs), "gone_s")} == {"higher"}


def test_facts_that_decide_are_said_with_the_verdict_and_refuse_nothing(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_facts(runs[1], "lab_db1", cpu_model="Other", cpus=4)
    scaled(runs[0], 1.0, "response_time_s")
    scaled(runs[1], 1.12, "response_time_s")
    said = printed(runs, capsys, monkeypatch, "--platform", "lab_db1")
    assert "2 important differences: cpu model, cpus" in said
    assert said.index("cpu_model") < said.index("12 % higher in")
    assert "may be gone in a third" in " ".join(said.split()), "nobody knows how far apart equal runs lie"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda folder: edit(folder, "run.json", lambda data: data["choices"].update(scale="full")),
            "other data, scale laptop in A and full in B",
        ),
        (
            lambda folder: edit(folder, "run.json", lambda data: data["choices"].update(seed=1)),
            "other data, seed 20060101 in A and 1 in B",
        ),
        (
            lambda folder: results(folder, lambda result: result["levels"].update(rows=5)),
            "B: not run with these levels",
        ),
        (
            lambda folder: edit(
                folder,
                "results.json",
                lambda data: data.update(durability={"platforms": {"lab_db1": "not durable: x"}}),
            ),
            "B is not durable: x",
        ),
        (
            lambda folder: results(
                folder,
                lambda result: result.update(
                    completed=1, measurements={}, outcomes={"completed": 1, "failed": 2}, reasons=["disk full"]
                ),
            ),
            "B: 1 of 3 completed",
        ),
        (
            lambda folder: results(
                folder,
                lambda result: [each.update(values=each["values"][:2]) for each in result["measurements"].values()],
            ),
            "an interval needs 3 repetitions, B has 2",
        ),
        (
            lambda folder: results(
                folder, lambda result: [each.update(unit="h") for each in result["measurements"].values()]
            ),
            "one is in h, the other in s",
        ),
    ],
)
def test_what_cannot_be_compared_is_not_and_says_why(runs: tuple[Path, Path], change: Change, why: str) -> None:
    change(runs[1])
    said = verdicts(compared(runs, histories={}), "response_time_s")
    assert ("not comparable", f"not comparable: {why}") in said
    if "levels" not in why:
        assert {word for word, _ in said} == {"not comparable"}


@pytest.mark.parametrize(("percent", "word"), [(57.1, "slower"), (56.9, "not comparable")])
def test_utilisations_that_lie_apart_are_refused(runs: tuple[Path, Path], percent: float, word: str) -> None:
    for folder, factor, busy in zip(runs, (1.0, 1.2), (60.0, percent), strict=True):
        scaled(folder, factor, "response_time_s")
        summary = {"unit": "%", "n": 3, "median": busy, "best": busy, "interval_95": None, "values": [busy] * 3}
        results(folder, lambda result, s=summary: result["measurements"].update(cpu_percent=s))  # type: ignore[misc]
        results(folder, lambda result: result["levels"].update(cpu_percent=60))
    ((found, said),) = verdicts(compared(runs), "response_time_s")
    assert found == word
    if word == "not comparable":
        assert "the CPU utilisations, 56.9 % on B and 60.0 % on A, are more than 3 points apart" in said


def test_ratio_and_verdict_are_made_only_when_asked_for(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of 400 cells has 4,800 of them, of which few are shown."""
    asked: list[str] = []
    monkeypatch.setattr(compare_cells, "compare_runs", lambda *_, **__: asked.append("") or (None, None))
    found = compared(runs)
    assert not asked
    assert [found.pairs[0].cells[0].ratio, found.pairs[0].cells[0].judgement] == [None, None]
    assert len(asked) == 1


def test_long_table_leaves_out_what_shows_no_difference_and_says_how_much(
    runs: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scaled(runs[1], 5.0, "throughput_mb_per_s")
    monkeypatch.setattr(compare_shown, "LINES_MAX", 3)
    said = printed(runs, capsys, monkeypatch, "--platform", "lab_db1")
    assert "Left out: 5 lines of 6 that show no difference; --all prints them." in said
    assert "throughput_mb_per_s" in said and "response_time_s" not in said
    assert "Left out" not in printed(runs, capsys, monkeypatch, "--platform", "lab_db1", "--all")


# Runs, and what differs from one to the next.


def test_two_runs_of_which_nothing_else_is_known_differ_in_these_runs_only(runs: tuple[Path, Path]) -> None:
    scaled(runs[0], 1.0, "response_time_s")
    scaled(runs[1], 1.12, "response_time_s")
    found = compared(runs, histories={})
    ((word, says),) = verdicts(found, "response_time_s")
    assert word == "higher in these runs"
    assert re.fullmatch(r"12 % higher in these two runs \([\d.]+ to [\d.]+ %\)", says)
    assert "may be gone in a third" in found.caution
    assert not compared(runs).caution


def test_history_tells_whether_a_difference_is_more_than_runs_differ_by(runs: tuple[Path, Path]) -> None:
    scaled(runs[0], 1.0, "response_time_s")
    scaled(runs[1], 1.12, "response_time_s")
    cell = next(one for one in compared(runs, "lab_db1").pairs[0].cells if one.measurement == "response_time_s")
    key = cell_key(cell.sweep, read_run(archive_in(runs[0])).results_on("lab_db1")[0].levels)
    of_noise = {
        percent: {("lab_db1", key, "response_time_s"): Spread((percent / 100) ** 2, 10, 15)} for percent in (1, 8)
    }
    said = {
        percent: {word for word, _ in verdicts(compared(runs, "lab_db1", histories=known), "response_time_s")}
        for percent, known in of_noise.items()
    }
    assert said == {1: {"slower", "higher in these runs"}, 8: {"no difference shown", "higher in these runs"}}


def test_groups_of_runs_are_compared_by_their_medians(runs: tuple[Path, Path]) -> None:
    sides = []
    for side, factor in (("a", 1.0), ("b", 1.05)):
        folders = [runs[0].parent / f"{side}{number}" for number in (1, 2, 3)]
        for number, folder in enumerate(folders):
            shutil.copytree(runs[0], folder)
            scaled(folder, factor * (1 + number / 200), "response_time_s")
        sides.append([read_run(archive_in(folder)) for folder in folders])
    found = compare(sides[0], sides[1], ["lab_db1"])
    assert found.runs == ("retail/a1, retail/a2, retail/a3", "retail/b1, retail/b2, retail/b3")
    cell = next(one for one in found.pairs[0].cells if one.measurement == "response_time_s")
    assert cell.a and cell.a.n == 3 and cell.a.values == [1.0, 1.005, 1.01]
    assert cell.ratio and cell.ratio[0] == pytest.approx(1.05)
    # Student's t of 4 degrees of freedom over the medians' logarithms, whose standard deviation is 0.005.
    assert cell.ratio[1] == pytest.approx((1.05 * math.exp(-0.0113), 1.05 * math.exp(0.0113)), abs=2e-4)
    assert cell.judgement.says.startswith("5 % slower (3.8 to 6.2 %)")
    few = compare(sides[0][:2], sides[1][:1], ["lab_db1"]).pairs[0].cells
    assert {one.judgement.says for one in few} >= {f"not comparable: {RUNS_NEEDED}"}


def test_what_differs_within_a_group_is_told(runs: tuple[Path, Path]) -> None:
    third = runs[0].parent / "l3"
    shutil.copytree(runs[0], third)
    put_facts(third, "lab_db1", cpu_model="Other")
    first, second, other = (read_run(archive_in(folder)) for folder in (*runs, third))
    found = compare([first, other], [second])
    assert [(one.where, one.what) for one in found.run_differences] == [("within A, retail/l3, lab_db1", "cpu_model")]
    with pytest.raises(ArchiveError, match="run retail/l1 is named twice"):
        compare([first], [second, first])


def test_of_many_results_some_differ_by_chance(runs: tuple[Path, Path]) -> None:
    cell = next(one for one in compared(runs, "lab_db1").pairs[0].cells if one.measurement == "response_time_s")
    sides = {f"of_{side}": (summarise([level] * 3, "s", "lower"),) for side, level in (("a", 1.0), ("b", 1.02))}
    doubtful = replace(cell, **sides, history=Spread(0.008**2 / 2, 30, 20))  # type: ignore[arg-type]
    assert doubtful.judgement.word == "slower" and 0.01 < (doubtful.p_value or 0) < 0.05
    equal = [replace(doubtful, of_b=doubtful.of_a) for _ in range(40)]
    first, *others = at_once([doubtful, *equal])
    assert first.judgement.word == "no difference shown"
    assert first.judgement.says.endswith("but of 41 results some look like this by chance")
    assert {one.judgement.word for one in others} == {"no difference shown"} and {one.among for one in others} == {0}
    assert at_once([doubtful])[0].judgement.word == "slower"


def test_trials_of_two_runs_are_no_neighbours(runs: tuple[Path, Path]) -> None:
    """Though those of both runs were measured in turns, and are trials of the same platform."""
    cell = next(one for one in compared(runs, "lab_db1").pairs[0].cells if one.measurement == "response_time_s")
    keys = ["a", "b", "c"]
    of_a, of_b = (summarise(values, "s", "lower", paired_by=keys) for values in ([1.0, 2.0, 3.0], [1.1, 2.2, 3.3]))
    runs_cell = replace(cell, of_a=(of_a,), of_b=(of_b,))
    assert runs_cell.ratio == ratio(of_b.values, of_a.values) and not runs_cell.is_paired
    platforms = replace(runs_cell, is_of_runs=False)
    assert platforms.ratio and platforms.ratio[0] == pytest.approx(1.1) and platforms.as_json()["paired"]
    assert platforms.ratio[1] == pytest.approx((1.1, 1.1))


# Platforms of one run.


def test_platforms_of_a_run_stand_beside_its_first(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_facts(runs[0], "lab_db2", cpu_model="Other")
    monkeypatch.setattr(compare_command, "archive_of", lambda run: archive_in(runs[0].parent / run))
    assert main.main(["compare", "l1"]) == 0
    said = capsys.readouterr().out
    places = [said.index(word) for word in ("lab_db2 beside lab_db1", "cpu_model", "lab_db2 / lab_db1", "lab_db2 is")]
    assert places == sorted(places)
    assert "may be gone in a third" not in " ".join(said.split())
    run = read_run(archive_in(runs[0]))
    (pair,) = compare_platforms(run).pairs
    cell = next(cell for cell in pair.cells if cell.ratio)
    assert cell.a and cell.b and cell.ratio == ratio(cell.b.values, cell.a.values)
    assert [(pair.a, pair.b) for pair in compare_platforms(run, ["lab_db2=lab_db1"]).pairs] == [("lab_db2", "lab_db1")]


@pytest.mark.parametrize(
    ("in_turns", "said"),
    [
        (
            ["lab_db1", "lab_db2"],
            "Measured in turns: a ratio is the median of those of trials that are neighbours",
        ),
        (["lab_db2"], "Measured one after the other: what changed in between is in the ratios, too."),
    ],
)
def test_platforms_of_a_run_say_whether_they_were_measured_in_turns(
    runs: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    in_turns: list[str],
    said: str,
) -> None:
    edit(runs[0], "run.json", lambda data: data.update(platforms_in_turns=in_turns))
    monkeypatch.setattr(compare_command, "archive_of", lambda run: archive_in(runs[0].parent / run))
    assert main.main(["compare", "l1"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    (pair,) = compare_platforms(read_run(archive_in(runs[0]))).pairs
    assert pair.in_turns is pair.as_json()["in_turns"] is (len(in_turns) == 2)


def test_first_platform_is_the_first_that_was_chosen(runs: tuple[Path, Path]) -> None:
    edit(runs[0], "run.json", lambda data: data["choices"].update(platforms=["lab_db2", "lab_db1"]))
    assert [(pair.a, pair.b) for pair in compare_platforms(read_run(archive_in(runs[0]))).pairs] == [
        ("lab_db2", "lab_db1")
    ]


def test_run_of_one_platform_needs_another_run(runs: tuple[Path, Path]) -> None:
    edit(runs[0], "results.json", lambda data: data.update(results=[_last_of_lab_db1(data)]))
    with pytest.raises(ArchiveError, match="run retail/l1 has one platform, lab_db1: name a second run to compare it"):
        compare_platforms(read_run(archive_in(runs[0])))


# Beside the paper.


def paper_of(**value: Any) -> Published:
    """One value, of the cell that is scanned by one stream, cold."""
    cell = {"sweep": "full_scan", "measurement": "response_time_s", "levels": {"cache": "cold"}, "unit": "s"}
    said = {"published": "p", "title": "T", "authors": "A", "cluster": "Theirs"}
    return Published.model_validate({**said, "values": [{**cell, "source": "Table 1", **value}]})


def of_one(runs: tuple[Path, Path], **value: Any) -> PublishedCell:
    """Of ``lab_db1``, whose median is 1 s."""
    scaled(runs[0], 1.0, "response_time_s")
    found = compare_published(read_run(archive_in(runs[0])), paper_of(**value), ["lab_db1"])
    (cell,) = found.cells
    return cell


def test_ours_over_the_papers_has_the_interval_of_ours_alone(runs: tuple[Path, Path]) -> None:
    cell = of_one(runs, value=2)
    assert cell.ratio and cell.ratio[1] and cell.ratio[0] == pytest.approx(0.5)
    low, high = interval_95([0.99, 1.0, 1.01]) or (0, 0)
    assert cell.ratio[1] == pytest.approx((low / 2, high / 2))
    assert cell.judgement.word == "faster"
    assert of_one(runs, value=1.02).judgement.word == "no difference shown"


@pytest.mark.parametrize(
    ("qualifier", "value", "word"),
    [
        ("less_than", 2, "not comparable"),
        ("less_than", 0.5, "slower"),
        ("at_least", 2, "faster"),
        ("at_least", 0.5, "not comparable"),
        ("about", 0.5, "slower"),
    ],
)
def test_bound_in_a_paper_tells_one_way_only(runs: tuple[Path, Path], qualifier: str, value: float, word: str) -> None:
    judgement = of_one(runs, value=value, qualifier=qualifier).judgement
    assert judgement.word == word
    assert ("the paper gives a bound only" in judgement.says) == (word == "not comparable")


def test_value_of_another_cell_platform_or_unit_is_not_compared(runs: tuple[Path, Path]) -> None:
    run = read_run(archive_in(runs[0]))
    for other in ({"levels": {"cache": "cold", "rows": 10**9}}, {"platform": "vm1"}):
        found = compare_published(run, paper_of(value=931, **other))
        assert found.cells == [] and "931 s (full_scan" in found.without[0]
    assert of_one(runs, value=2, unit="ms").judgement.says == "not comparable: ours is in s, the paper's in ms"


def test_ratio_of_a_paper_stands_beside_a_ratio_of_ours(runs: tuple[Path, Path]) -> None:
    run = read_run(archive_in(runs[0]))
    found = compare_published(run, paper_of(value=0.5, unit="1", platform="vm1", ratio_to="native"))
    (cell,) = found.cells
    (ours,) = (
        each
        for pair in compare_platforms(run).pairs
        for each in pair.cells
        if (each.label, each.measurement) == (cell.label, "response_time_s")
    )
    assert cell.platform == "lab_db2 / lab_db1" and cell.is_of_other_platforms
    assert ours.ratio and cell.ratio and cell.ratio[0] == pytest.approx(ours.ratio[0] / 0.5)
    same = paper_of(value=0.5, unit="1", platform="lab_db1", ratio_to="lab_db2")
    (cell,) = compare_published(run, same).cells
    assert cell.platform == "lab_db1 / lab_db2" and not cell.is_of_other_platforms
    assert cell.judgement.word in {"higher", "lower", "no difference shown"}


def test_ratio_of_another_size_says_so_and_seconds_are_left_out(runs: tuple[Path, Path]) -> None:
    run, other = read_run(archive_in(runs[0])), {"cache": "cold", "rows": 8_400_000_000}
    assert compare_published(run, paper_of(value=991, levels=other)).cells == []
    ratio = paper_of(value=0.84, unit="1", platform="vm2", ratio_to="vm1", levels=other)
    (cell, *_) = compare_published(run, ratio).cells
    assert cell.paper == "0.84 (vm2 / vm1, of 8400M rows)"
    elsewhere = paper_of(value=0.84, unit="1", platform="vm2", ratio_to="vm1", levels={**other, "cache": "hot"})
    assert compare_published(run, elsewhere).cells == [], "any size will do, and no other level"


def test_ratio_of_cells_at_two_levels_is_made_of_those(runs: tuple[Path, Path]) -> None:
    """Warm on the one platform over cold on the other."""
    run = read_run(archive_in(runs[0]))
    first, second = (
        next(
            each
            for each in run.results
            if (each.sweep, each.platform, each.levels.get("cache")) == ("full_scan", platform, cache)
        )
        for platform, cache in (("lab_db1", "cold"), ("lab_db2", "warm"))
    )
    said = {"value": 1, "unit": "1", "platform": "vm1", "ratio_to": "native", "levels": {"cache": "warm"}}
    (cell,) = compare_published(run, paper_of(**said, ratio_to_levels={"cache": "cold"})).cells
    over, under = (each.measurements["response_time_s"].median for each in (second, first))
    assert cell.platform == "lab_db2 / lab_db1"
    assert cell.ours and cell.ours[0] == pytest.approx(over / under)
    assert compare_published(run, paper_of(**said, ratio_to_levels={"cache": "hot"})).cells == []


def test_the_papers_cluster_is_said_before_its_numbers(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_command, "archive_of", lambda run: archive_in(runs[0].parent / run))
    assert main.main(["compare", "l1", "--published"]) == 0
    said = capsys.readouterr().out
    heads = ("ours, lab_db1: 2 hosts", "the paper's: Greenplum 4.2.2", "has no repetitions", "ours / paper")
    assert [said.index(word) for word in heads] == sorted(said.index(word) for word in heads)
    assert main.main(["compare", "l1", "--published", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"ratio", "verdict", "says", "source"} <= set(found["cells"][0])
    assert main.main(["compare", "l1", "l2", "--published"]) == 1
    assert "give a second run or --published, not both" in capsys.readouterr().err


# In the report of a run with several platforms.


def test_report_says_what_the_platforms_are_made_of_before_their_ratios(runs: tuple[Path, Path]) -> None:
    put_facts(runs[0], "lab_db2", cpu_model="Other", cpus=4)
    page = text_of(render_report(archive_in(runs[0]), CATALOG))
    assert "lab_db2 beside lab_db1: 2 facts differ; a ratio holds what this does, too: cpu model, cpus." in page
    assert page.index("2 facts differ") < page.index("ratio to lab_db1")


def test_report_says_that_platforms_are_alike_or_that_nobody_knows(runs: tuple[Path, Path]) -> None:
    assert "facts are the same" in text_of(render_report(archive_in(runs[0]), CATALOG))
    shutil.rmtree(runs[0] / "platforms" / "lab_db2")
    assert "no facts were read of the hosts of lab_db2" in text_of(render_report(archive_in(runs[0]), CATALOG))


def test_a_difference_is_told_by_the_statements_that_it_is_made_of(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    def with_queries(times: Mapping[str, float]) -> Callable[[dict[str, Any]], object]:
        def change(result: dict[str, Any]) -> None:
            factor = sum(times.values()) / len(times)
            for whole in result["measurements"].values():
                whole["values"] = [factor * value for value in whole["values"]]
                whole["median"] *= factor
            for name, value in times.items():
                values = [value, 1.01 * value, 0.99 * value]
                summary = {"unit": "s", "n": 3, "median": value, "best": value, "interval_95": None, "values": values}
                result["measurements"][name] = summary

        return change

    results(runs[0], with_queries({"q01_s": 1.0, "q02_s": 1.0, "q03_s": 1.0}))
    results(runs[1], with_queries({"q01_s": 1.0, "q02_s": 4.0, "q03_s": 1.6}))
    (pair, *_) = compared(runs).pairs
    assert set(pair.made_of.values()) == {"query 2 is 83\u202f% of the difference"}
    assert pair.as_json()["made_of"] == dict(pair.made_of)
    said = printed(runs, capsys, monkeypatch)
    assert "query 2 is 83\u202f% of the difference" in said
    assert "q02_s" not in said, "each statement is in the JSON, and with --all"
