"""A plan of what has run: its times are those of the archive, and it says how far off it was."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from clusterbench.base.connections import Connections, from_file
from clusterbench.base.paths import project_root
from clusterbench.base.run_ids import asked_at
from clusterbench.cli.common import store
from clusterbench.cli.main import main
from clusterbench.results.measured import read_measured
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.estimate import estimate
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench_lab import Lab
from tests.integration.helpers import archive_of, dataset, measured_whole, new_run, on_testbed

pytestmark = pytest.mark.long
CATALOG = Catalog(project_root())
CHOSEN = {"scale": "smoke", "platforms": ["lab_db1"], "sweeps": ["lookups"]}
Output = pytest.CaptureFixture[str]


def measured(connections: Connections, run_id: str) -> str:
    """The name of a whole run with this id."""
    assert asked_at(run_id)
    run = Run("smoke", run_id, connections)
    steps.open_run(run, CHOSEN, {"by": "test"})
    assert {record.outcome for record in measured_whole(run, "lab_db1")} == {"completed"}
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)
    steps.seal(run)
    return run.archive.name


@pytest.fixture(scope="module")
def two_runs(lab: Lab) -> Iterator[tuple[str, str]]:
    """The first generates the data, whatever other tests have left in this lab; the second finds them there."""
    lab.up(airflow=False)
    connections = from_file(lab.lab_dir / "connections.json")
    with on_testbed(new_run(connections)) as testbed:
        testbed.engine.execute(f"DROP TABLE IF EXISTS {dataset(rows=10000).table}")
    yield measured(connections, "20260101T000000Z-aaaaaa"), measured(connections, "20260108T000000Z-bbbbbb")


@pytest.fixture(autouse=True)
def _of_this_lab(lab: Lab, two_runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(lab.lab_dir))
    monkeypatch.delenv("CLUSTERBENCH_CONNECTIONS", raising=False)


def planned(capsys: Output, *arguments: str) -> dict[str, object]:
    assert main(["plan", "smoke", *arguments, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_times_are_those_of_the_newest_run_of_the_same_levels(
    two_runs: tuple[str, str], connections: Connections, capsys: Output
) -> None:
    (one,) = planned(capsys, "--sweep", "lookups")["estimates"]  # type: ignore[misc,attr-defined]
    assert one["runs"] == [two_runs[1], two_runs[0]]
    assert {cell["basis"] for cell in one["cells"]} == {"measured"}
    assert {cell["basis_says"] for cell in one["cells"]} == {f"measured in run {two_runs[1]}"}
    records = [r for r in archive_of(connections, *two_runs[1].split("/")).trials() if r.trial.cell.endswith("cold")]
    cold = [cell for cell in one["cells"] if cell["cell"].endswith("cold")]
    for cell in cold:
        wholes = [sum(r.phases_s.values()) for r in records if r.trial.cell == cell["cell"]]
        assert min(wholes) <= cell["estimate_s"] < max(wholes) + 60
    assert one["generation_basis"].endswith(f"as in run {two_runs[0]}")  # the second had its data
    assert one["validation_basis"].endswith(f"as in run {two_runs[1]}")


def test_another_scale_is_told_by_bytes(capsys: Output) -> None:
    (one,) = planned(capsys, "--sweep", "lookups", "--scale", "laptop")["estimates"]  # type: ignore[misc,attr-defined]
    assert {cell["basis"] for cell in one["cells"]} == {"scaled"}
    assert all(cell["basis_says"].startswith("by bytes, ") for cell in one["cells"])


def test_without_the_archive_all_are_guesses_and_it_says_so(capsys: Output) -> None:
    assert main(["plan", "smoke", "--guess"]) == 0
    assert "all are guesses: the archive was not asked (--guess)" in capsys.readouterr().out


def test_a_limit_that_a_run_has_read_back_refuses_what_is_beyond(capsys: Output) -> None:
    """The lab's servers take 300 sessions, which no file says; the facts of one experiment's run serve another here."""
    known = read_measured(store(), "smoke", "lab_db1")
    experiment, catalog = CATALOG.experiment("order_entry"), CATALOG
    plan = make_plan(experiment, read_choices(experiment, {"scale": "full", "platforms": ["lab_db1"]}), catalog)
    (one,) = estimate(plan, catalog, {"lab_db1": known})
    refused = {cell.levels["clients"] for _, cells in one.refused for cell in cells}
    assert refused == {512, 1024}
    assert "takes 297 (max_connections 300 as an earlier run found it" in one.refused[0][0]


def test_first_run_is_compared_with_guesses_and_the_second_with_the_first(
    two_runs: tuple[str, str], capsys: Output
) -> None:
    first = planned(capsys, "--compare-with", two_runs[0])
    second = planned(capsys, "--compare-with", two_runs[1])
    assert (first["known_runs"], second["known_runs"]) == ({"lab_db1": []}, {"lab_db1": [two_runs[0]]})
    for found, basis in ((first, {"guess"}), (second, {"measured"})):
        cells = [row for row in found["cells"] if row["sweep"]]  # type: ignore[attr-defined]
        assert {row["basis"] for row in cells} == basis
        assert [row["trials"] for row in cells] == [2] * 4
        for row in cells:
            assert row["ratio"] == pytest.approx(row["measured_s"] / row["estimated_s"])
    steps_of = [{row["cell"] for row in found["cells"] if not row["sweep"]} for found in (first, second)]  # type: ignore[attr-defined]
    assert steps_of == [{"generate_data", "validate_data"}, {"validate_data"}]


def test_comparison_is_a_table_by_sweep_or_by_cell(two_runs: tuple[str, str], capsys: Output) -> None:
    run = two_runs[1].split("/")[1]
    assert main(["plan", "smoke", "--compare-with", run]) == 0
    said = capsys.readouterr().out
    assert f"{two_runs[1]}: estimated beside measured" in said
    assert f"lab_db1: the estimate knew {two_runs[0]}" in said
    (row,) = (line for line in said.splitlines() if "lookups" in line)
    assert "measured 4" in row
    assert main(["plan", "smoke", "--compare-with", run, "--cells"]) == 0
    assert "lookups: 2 clients, cold" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["smoke", "--scale", "smoke"], "--compare-with takes the choices of the run itself; leave out scale"),
        (["key_value"], "is of experiment 'smoke', not of 'key_value'"),
    ],
)
def test_comparison_of_something_else_is_refused(
    two_runs: tuple[str, str], capsys: Output, arguments: list[str], said: str
) -> None:
    assert main(["plan", *arguments, "--compare-with", two_runs[0]]) == 1
    assert said in capsys.readouterr().err
